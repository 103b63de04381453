//! Moments as Kubernetes writes them: RFC 3339 in UTC, to the second.

/// The text of a moment given in seconds since 1970: `2026-01-01T00:00:05Z`.
pub fn format_timestamp(unix_s: u64) -> String {
    let (year, month, day) = date_of(unix_s / 86_400);
    let second_of_day = unix_s % 86_400;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        second_of_day / 3600,
        second_of_day / 60 % 60,
        second_of_day % 60
    )
}

/// Reads such a text into seconds since 1970; fractions of a second are dropped. `None` for anything else.
pub fn parse_timestamp(text: &str) -> Option<u64> {
    let (date, time) = text.split_once('T')?;
    let time = time.strip_suffix('Z')?;
    let time = time.split_once('.').map_or(time, |(whole, _)| whole);
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(days_of(year, month, day)? * 86_400 + hour * 3600 + minute * 60 + second)
}

fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let mut parts = text.splitn(3, separator).map(|part| part.parse::<u64>().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

/// The proleptic Gregorian date of a day counted from 1970-01-01 (Howard Hinnant's public-domain algorithm).
fn date_of(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// The inverse of [`date_of`], for dates from 1970 on.
fn days_of(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let year_of_era = year % 400;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(year / 400 * 146_097 + day_of_era - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_follow_the_calendar() {
        for (unix_s, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_767_225_665, "2026-01-01T00:01:05Z"),
            (1_835_395_200, "2028-02-29T00:00:00Z"),
        ] {
            assert_eq!(format_timestamp(unix_s), text);
            assert_eq!(parse_timestamp(text), Some(unix_s));
        }
        assert_eq!(parse_timestamp("1970-01-01T00:00:01.999Z"), Some(1));
        for text in [
            "soon",
            "2026-13-01T00:00:00Z",
            "2026-01-01T25:00:00Z",
            "2026-01-01",
        ] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
    }
}
