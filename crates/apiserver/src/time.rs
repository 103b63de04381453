//! Virtual time: moments and spans in whole microseconds, and how Kubernetes writes a moment.
//!
//! Nothing here reads a clock. The harness owns the time and hands it in.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A moment of a rehearsal, counted from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A span of virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

/// What a rehearsal's start reads on the simulated calendar: 2026-01-01T00:00:00Z, in seconds since 1970. Any fixed day
/// would do; objects only need timestamps that grow and parse.
const EPOCH_S: u64 = 1_767_225_600;

impl Time {
    /// The start of the rehearsal.
    pub const START: Time = Time(0);
    /// Later than any moment of a rehearsal.
    pub const NEVER: Time = Time(u64::MAX);

    /// A moment by its microseconds since the start.
    pub const fn from_micros(micros: u64) -> Time {
        Time(micros)
    }

    /// A moment by its seconds since the start.
    pub const fn from_secs(seconds: u64) -> Time {
        Time(seconds * 1_000_000)
    }

    /// Microseconds since the start.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Seconds since the start, with fractions.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The span since an earlier moment; zero if that moment is later.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// The moment as Kubernetes writes it, to the second: `2026-01-01T00:00:05Z`.
    pub fn timestamp(self) -> String {
        let seconds = EPOCH_S.saturating_add(self.0 / 1_000_000);
        let (year, month, day) = date_of(seconds / 86_400);
        let second_of_day = seconds % 86_400;
        format!(
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
            second_of_day / 3600,
            second_of_day / 60 % 60,
            second_of_day % 60
        )
    }

    /// Reads a timestamp as Kubernetes writes it (fractions of a second are dropped). Moments before the start, and
    /// texts that are no such timestamp, give `None`.
    pub fn parse_timestamp(text: &str) -> Option<Time> {
        let (date, time) = text.split_once('T')?;
        let time = time.strip_suffix('Z')?;
        let time = time.split_once('.').map_or(time, |(whole, _)| whole);
        let mut date = date.splitn(3, '-').map(|part| part.parse::<u64>().ok());
        let days = days_of(date.next()??, date.next()??, date.next()??)?;
        let mut time = time.splitn(3, ':').map(|part| part.parse::<u64>().ok());
        let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
        seconds.checked_sub(EPOCH_S).map(Time::from_secs)
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);

    /// A span by its microseconds.
    pub const fn from_micros(micros: u64) -> Duration {
        Duration(micros)
    }

    /// A span by its milliseconds.
    pub const fn from_millis(millis: u64) -> Duration {
        Duration(millis * 1000)
    }

    /// A span by its seconds.
    pub const fn from_secs(seconds: u64) -> Duration {
        Duration(seconds * 1_000_000)
    }

    /// A span by its seconds with fractions; negative and absurd values saturate.
    pub fn from_secs_f64(seconds: f64) -> Duration {
        Duration((seconds * 1e6).round() as u64)
    }

    /// The span in microseconds.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The span in seconds, with fractions.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
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

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Time> for Time {
    type Output = Duration;
    fn sub(self, earlier: Time) -> Duration {
        self.since(earlier)
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }
}

/// Seconds with three decimals, the way traces print times: `64.250s`.
impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Duration(self.0), formatter)
    }
}

/// Seconds with three decimals: `0.750s`. (Flux's own spelling of durations is `firstpass-flux`'s business.)
impl fmt::Display for Duration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{}.{:03}s", self.0 / 1_000_000, self.0 / 1000 % 1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_follow_the_calendar() {
        for (seconds, text) in [
            (0, "2026-01-01T00:00:00Z"),
            (65, "2026-01-01T00:01:05Z"),
            (58 * 86_400, "2026-02-28T00:00:00Z"),
            (59 * 86_400, "2026-03-01T00:00:00Z"),
            ((365 + 365 + 59) * 86_400, "2028-02-29T00:00:00Z"),
        ] {
            let time = Time::from_secs(seconds);
            assert_eq!(time.timestamp(), text);
            assert_eq!(Time::parse_timestamp(text), Some(time));
        }
        assert_eq!(
            Time::parse_timestamp("2026-01-01T00:00:01.500000Z"),
            Some(Time::from_secs(1))
        );
        assert_eq!(Time::parse_timestamp("2019-01-01T00:00:00Z"), None);
        assert_eq!(Time::parse_timestamp("soon"), None);
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Time::NEVER + Duration::from_secs(1), Time::NEVER);
        assert_eq!(Time::START - Time::from_secs(1), Duration::ZERO);
        assert_eq!(
            (Time::from_secs(64) + Duration::from_millis(250)).to_string(),
            "64.250s"
        );
    }
}
