//! Go's durations: `1h30m`, `500ms`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const NS_PER_MS: i64 = 1_000_000;
const NS_PER_S: i64 = 1_000 * NS_PER_MS;
const NS_PER_MIN: i64 = 60 * NS_PER_S;
const NS_PER_H: i64 = 60 * NS_PER_MIN;

/// A span of time in nanoseconds, written and read as Go does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(i64);

/// A text that Go does not read as a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no duration; write it like `30s`, `10m` or `1h30m`")]
pub struct InvalidDuration(pub String);

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);

    /// Whole seconds.
    pub const fn from_secs(seconds: i64) -> Duration {
        Duration(seconds * NS_PER_S)
    }

    /// Whole milliseconds.
    pub const fn from_millis(milliseconds: i64) -> Duration {
        Duration(milliseconds * NS_PER_MS)
    }

    /// Nanoseconds.
    pub const fn from_nanos(nanoseconds: i64) -> Duration {
        Duration(nanoseconds)
    }

    /// In nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// In milliseconds, cut off.
    pub const fn as_millis(self) -> i64 {
        self.0 / NS_PER_MS
    }

    /// In seconds, with fractions.
    pub fn as_secs_f64(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "spans of at most days")]
        let nanoseconds = self.0 as f64;
        nanoseconds / 1e9
    }

    /// The difference; it may be negative.
    #[must_use]
    pub const fn minus(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}

impl FromStr for Duration {
    type Err = InvalidDuration;

    fn from_str(text: &str) -> Result<Duration, InvalidDuration> {
        parse(text)
            .map(Duration)
            .ok_or_else(|| InvalidDuration(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i64 = 0;
    while !rest.is_empty() {
        let number_end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(number_end);
        let unit_end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        total = total.checked_add(amount(number, unit_ns(unit)?)?)?;
        rest = after;
    }
    Some(if negative { -total } else { total })
}

fn unit_ns(unit: &str) -> Option<i64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => NS_PER_MS,
        "s" => NS_PER_S,
        "m" => NS_PER_MIN,
        "h" => NS_PER_H,
        _ => return None,
    })
}

fn amount(number: &str, unit: i64) -> Option<i64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole = if whole.is_empty() {
        0
    } else {
        whole.parse::<i64>().ok()?.checked_mul(unit)?
    };
    let mut part: i64 = 0;
    let mut scale = unit;
    for digit in fraction.bytes() {
        scale /= 10;
        part += i64::from(digit - b'0') * scale;
    }
    whole.checked_add(part)
}

/// As Go prints it: `1h30m0s`, `2m0s`, `1.5s`, `500ms`.
impl fmt::Display for Duration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            formatter.write_str("-")?;
        }
        let total = self.0.unsigned_abs();
        let (unit_s, unit_ms) = (NS_PER_S.unsigned_abs(), NS_PER_MS.unsigned_abs());
        if total == 0 {
            return formatter.write_str("0s");
        }
        if total < unit_s {
            let (unit, name) = match total {
                _ if total < 1_000 => (1, "ns"),
                _ if total < unit_ms => (1_000, "µs"),
                _ => (unit_ms, "ms"),
            };
            return write!(formatter, "{}{name}", Fraction(total, unit));
        }
        let hours = total / NS_PER_H.unsigned_abs();
        let minutes = total / NS_PER_MIN.unsigned_abs() % 60;
        if hours > 0 {
            write!(formatter, "{hours}h")?;
        }
        if hours > 0 || minutes > 0 {
            write!(formatter, "{minutes}m")?;
        }
        write!(
            formatter,
            "{}s",
            Fraction(total % NS_PER_MIN.unsigned_abs(), unit_s)
        )
    }
}

/// `value / unit` in decimal without trailing zeros.
struct Fraction(u64, u64);

impl fmt::Display for Fraction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fraction(value, unit) = *self;
        write!(formatter, "{}", value / unit)?;
        let mut rest = value % unit;
        if rest > 0 {
            formatter.write_str(".")?;
            let mut scale = unit;
            while rest > 0 && scale > 1 {
                scale /= 10;
                write!(formatter, "{}", rest / scale)?;
                rest %= scale;
            }
        }
        Ok(())
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_and_print_as_go_does() {
        let table = [
            ("1h30m", "1h30m0s"),
            ("10m", "10m0s"),
            ("90s", "1m30s"),
            ("500ms", "500ms"),
            ("1.5h", "1h30m0s"),
            ("1500ms", "1.5s"),
            ("0", "0s"),
            ("-2s", "-2s"),
            ("100us", "100µs"),
            (".5s", "500ms"),
        ];
        for (text, printed) in table {
            assert_eq!(text.parse::<Duration>().unwrap().to_string(), printed, "{text}");
        }
        for text in ["", "5", "1d", "s", "1h 2m", "..5s", "99999999999h", "-", "1.2.3s"] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
    }
}
