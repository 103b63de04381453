//! Kubernetes' quantities: `500m`, `10Gi`, `1e3`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// An exact amount, as a count of 10^-9 (Kubernetes keeps nothing smaller). Amounts beyond ±1.7 · 10^29 saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    nanos: i128,
}

/// The text is no quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuantityError;

const NANOS: i128 = 1_000_000_000;

impl Quantity {
    /// What Kubernetes says to a text that is none.
    pub const FORM: &'static str =
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

    /// Reads a quantity.
    ///
    /// ```
    /// use firstpass_object::quantity::Quantity;
    /// assert!(Quantity::parse("1Gi").unwrap() > Quantity::parse("1G").unwrap());
    /// assert!(Quantity::parse("ten").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Quantity, QuantityError> {
        let (sign, rest) = match text.as_bytes().first() {
            Some(b'-') => (-1, &text[1..]),
            Some(b'+') => (1, &text[1..]),
            _ => (1, text),
        };
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(QuantityError);
        }
        let scale = Scale::parse(suffix)?;
        Ok(Quantity {
            nanos: scale.apply(whole, fraction).saturating_mul(sign),
        })
    }

    /// Reads a quantity from a field, which may hold text or a number.
    pub fn from_value(value: &Value) -> Result<Quantity, QuantityError> {
        match value {
            Value::String(text) => Quantity::parse(text),
            Value::Number(number) => Quantity::parse(&number.to_string()),
            _ => Err(QuantityError),
        }
    }

    /// The amount, rounded up to a whole number.
    pub fn ceil(self) -> i128 {
        self.nanos.div_euclid(NANOS) + i128::from(self.nanos.rem_euclid(NANOS) != 0)
    }

    /// The amount in thousandths, rounded up.
    pub fn ceil_millis(self) -> i128 {
        let unit = NANOS / 1000;
        self.nanos.div_euclid(unit) + i128::from(self.nanos.rem_euclid(unit) != 0)
    }

    /// The sum; saturates like [`Quantity`] itself.
    pub fn plus(self, other: Quantity) -> Quantity {
        Quantity {
            nanos: self.nanos.saturating_add(other.nanos),
        }
    }

    /// The difference; saturates like [`Quantity`] itself.
    pub fn minus(self, other: Quantity) -> Quantity {
        Quantity {
            nanos: self.nanos.saturating_sub(other.nanos),
        }
    }

    /// The amount as a number that may be inexact.
    #[expect(clippy::cast_precision_loss, reason = "it is asked for as an approximation")]
    pub fn to_f64(self) -> f64 {
        self.nanos as f64 / NANOS as f64
    }

    /// Whether the amount is below, at or above nothing.
    pub fn sign(self) -> Ordering {
        self.nanos.cmp(&0)
    }

    /// Whether the amount is a whole number.
    pub fn is_whole(self) -> bool {
        self.nanos % NANOS == 0
    }
}

impl From<i64> for Quantity {
    fn from(whole: i64) -> Quantity {
        Quantity {
            nanos: i128::from(whole).saturating_mul(NANOS),
        }
    }
}

/// What a suffix multiplies with: a power of ten or of 1024.
enum Scale {
    Ten(i32),
    Binary(u32),
}

impl Scale {
    fn parse(suffix: &str) -> Result<Scale, QuantityError> {
        Ok(match suffix {
            "n" => Scale::Ten(-9),
            "u" => Scale::Ten(-6),
            "m" => Scale::Ten(-3),
            "" => Scale::Ten(0),
            "k" => Scale::Ten(3),
            "M" => Scale::Ten(6),
            "G" => Scale::Ten(9),
            "T" => Scale::Ten(12),
            "P" => Scale::Ten(15),
            "E" => Scale::Ten(18),
            "Ki" => Scale::Binary(1),
            "Mi" => Scale::Binary(2),
            "Gi" => Scale::Binary(3),
            "Ti" => Scale::Binary(4),
            "Pi" => Scale::Binary(5),
            "Ei" => Scale::Binary(6),
            _ => {
                let exponent = suffix.strip_prefix(['e', 'E']).ok_or(QuantityError)?;
                let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
                if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_digit()) {
                    return Err(QuantityError);
                }
                Scale::Ten(exponent.parse().map_err(|_| QuantityError)?)
            }
        })
    }

    /// The number in nanos, rounded up as Kubernetes does.
    fn apply(&self, whole: &str, fraction: &str) -> i128 {
        let digits: String = whole.chars().chain(fraction.chars()).collect();
        let digits = digits.trim_start_matches('0');
        // The value is `digits` · 10^exponent · factor nanos.
        let (shift, factor) = match self {
            Scale::Ten(exponent) => (*exponent, 1),
            Scale::Binary(power) => (0, 1024_i128.pow(*power)),
        };
        let exponent = i64::from(shift) + 9 - fraction.len() as i64;
        if digits.is_empty() {
            return 0;
        }
        let Ok(mantissa) = digits.parse::<i128>() else {
            return if exponent < 0 && digits.len() as i64 + exponent < 30 {
                1
            } else {
                i128::MAX
            };
        };
        let scaled = mantissa.saturating_mul(factor);
        if exponent >= 0 {
            let power = u32::try_from(exponent)
                .ok()
                .and_then(|exponent| 10_i128.checked_pow(exponent));
            power.map_or(i128::MAX, |power| scaled.saturating_mul(power))
        } else {
            match u32::try_from(-exponent)
                .ok()
                .and_then(|exponent| 10_i128.checked_pow(exponent))
            {
                Some(power) => scaled.div_euclid(power) + i128::from(scaled.rem_euclid(power) != 0),
                None => 1,
            }
        }
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Quantity, QuantityError> {
        Quantity::parse(text)
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(Quantity::FORM)
    }
}

impl std::error::Error for QuantityError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn quantity(text: &str) -> Quantity {
        Quantity::parse(text).expect("a quantity")
    }

    #[test]
    fn the_same_amount_in_many_ways() {
        for same in [
            ["1", "1000m", "1e0", "+1", "1.", "0.001k"],
            ["1Ki", "1024", "1.024k", "1024000m", "1024e0", "1.024e3"],
            [
                "10Gi",
                "10240Mi",
                "10737418240",
                "10485760Ki",
                "10737418240000m",
                "0.009765625Ti",
            ],
            ["1n", "0.1n", "0.0000000001", "1e-9", "1e-30", "0.001u"],
        ] {
            for text in same {
                assert_eq!(quantity(text), quantity(same[0]), "{text}");
            }
        }
        assert_eq!(quantity("100m").ceil(), 1);
        assert_eq!(quantity("1.5").ceil_millis(), 1500);
        assert_eq!(quantity("-1").sign(), Ordering::Less);
        assert!(quantity("1Gi") > quantity("1G"));
        assert!(quantity(&"9".repeat(60)) > quantity("1E"));
    }

    #[test]
    fn what_is_none() {
        for text in [
            "", "Gi", "1gi", "1 Gi", "10GB", "1.2.3", ".", "1e", "1Kib", "0x1", "${SIZE}", "1mi", "--1",
        ] {
            assert_eq!(Quantity::parse(text), Err(QuantityError), "{text}");
        }
    }
}
