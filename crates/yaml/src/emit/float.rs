//! Floats as Go's `%g` writes them.

/// A float as Go writes it by `%g`: the shortest text that reads back as the same float, with an exponent below 0.0001
/// and from 1,000,000 on.
pub fn go_float(value: f64) -> String {
    // Where two shortest texts are equally near, Go and serde_json take the even one; the standard library does not.
    let shortest =
        serde_json::Number::from_f64(value).map_or_else(|| value.to_string(), |number| number.to_string());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let point: i32 = exponent.parse::<i32>().unwrap_or(0) + length(whole);
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let point = point - (length(&all) - length(digits));
    let digits = digits.trim_end_matches('0');
    let (Some(first), rest) = (digits.get(..1), digits.get(1..).unwrap_or_default()) else {
        return format!("{sign}0");
    };
    let exponent = point - 1;
    if !(-4..6).contains(&exponent) {
        let dot = if rest.is_empty() { "" } else { "." };
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}{dot}{rest}e{exponent_sign}{:02}", exponent.abs());
    }
    match usize::try_from(point) {
        Ok(point) if point >= digits.len() => format!("{sign}{digits:0<point$}"),
        Ok(point) if point > 0 => format!("{sign}{}.{}", &digits[..point], &digits[point..]),
        _ => format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize)),
    }
}

fn length(text: &str) -> i32 {
    i32::try_from(text.len()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::go_float;

    #[test]
    fn floats_are_written_like_go_writes_them() {
        let cases = [
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123_456.789, "123456.789"),
            (1_234_567.5, "1.2345675e+06"),
            (1e21, "1e+21"),
            (-2.5e300, "-2.5e+300"),
            (5e-324, "5e-324"),
            (1_741_207_177_466_789.2, "1.7412071774667892e+15"),
        ];
        for (value, expected) in cases {
            assert_eq!(go_float(value), expected);
        }
    }
}
