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

    /// The moment on the simulated calendar, in seconds since 1970.
    pub const fn unix_s(self) -> u64 {
        EPOCH_S.saturating_add(self.0 / 1_000_000)
    }

    /// The moment as Kubernetes writes it, to the second: `2026-01-01T00:00:05Z`.
    pub fn timestamp(self) -> String {
        firstpass_object::format_timestamp(self.unix_s())
    }

    /// Reads a timestamp as Kubernetes writes it (fractions of a second are dropped). Moments before the start, and
    /// texts that are no such timestamp, give `None`.
    pub fn parse_timestamp(text: &str) -> Option<Time> {
        firstpass_object::parse_timestamp(text)?
            .checked_sub(EPOCH_S)
            .map(Time::from_secs)
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
