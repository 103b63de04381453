//! Points in time as go-yaml recognises them and as Go's JSON encoder writes them.

use std::fmt::Write as _;

/// A point in time with the offset that it was written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timestamp {
    date: (u32, u32, u32),
    time: (u32, u32, u32),
    nanos: u32,
    /// East of UTC, in minutes.
    offset_min: i32,
}

impl Timestamp {
    /// Reads one of the forms that go-yaml knows: `2006-1-2T15:4:5.9Z`, the same with `t` or with an offset
    /// (`+07:00`), `2006-1-2 15:4:5.9`, and a date alone.
    pub(crate) fn parse(text: &str) -> Option<Timestamp> {
        let mut rest = Cursor(text.as_bytes());
        let year = rest.digits(4, 4)?;
        rest.expect(b'-')?;
        let month = rest.digits(1, 2)?;
        rest.expect(b'-')?;
        let day = rest.digits(1, 2)?;
        if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
            return None;
        }
        let mut stamp = Timestamp {
            date: (year, month, day),
            time: (0, 0, 0),
            nanos: 0,
            offset_min: 0,
        };
        let zoned = match rest.0 {
            [] => return Some(stamp),
            [b'T' | b't', ..] => true,
            [b' ', ..] => false,
            _ => return None,
        };
        rest.0 = &rest.0[1..];
        if !zoned {
            rest.spaces();
        }
        let hour = rest.digits(1, 2)?;
        rest.expect(b':')?;
        let minute = rest.digits(1, 2)?;
        rest.expect(b':')?;
        let second = rest.digits(1, 2)?;
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        stamp.time = (hour, minute, second);
        stamp.nanos = rest.fraction();
        if zoned {
            stamp.offset_min = rest.offset()?;
        }
        rest.0.is_empty().then_some(stamp)
    }

    /// RFC 3339 with as many digits of the fraction as needed; nothing for an offset that RFC 3339 has no words for.
    pub(crate) fn to_rfc3339(self) -> Option<String> {
        let Timestamp {
            date: (year, month, day),
            time: (hour, minute, second),
            nanos,
            offset_min,
        } = self;
        let mut out = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        if nanos != 0 {
            let digits = format!("{nanos:09}");
            let _ = write!(out, ".{}", digits.trim_end_matches('0'));
        }
        if offset_min == 0 {
            out.push('Z');
        } else {
            let sign = if offset_min < 0 { '-' } else { '+' };
            let (hours, minutes) = (offset_min.abs() / 60, offset_min.abs() % 60);
            if hours > 23 {
                return None;
            }
            let _ = write!(out, "{sign}{hours:02}:{minutes:02}");
        }
        Some(out)
    }
}

/// What is left of the text.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn digits(&mut self, least: usize, most: usize) -> Option<u32> {
        let length = self
            .0
            .iter()
            .take(most)
            .take_while(|b| b.is_ascii_digit())
            .count();
        if length < least {
            return None;
        }
        let (digits, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(digits.iter().fold(0, |n, b| n * 10 + u32::from(b - b'0')))
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        (first == byte).then_some(())
    }

    fn spaces(&mut self) {
        let length = self.0.iter().take_while(|&&b| b == b' ').count();
        self.0 = &self.0[length..];
    }

    /// A fraction of a second in nanoseconds, zero if there is none; digits beyond the ninth are dropped.
    fn fraction(&mut self) -> u32 {
        let [b'.' | b',', digits @ ..] = self.0 else {
            return 0;
        };
        let length = digits.iter().take_while(|b| b.is_ascii_digit()).count();
        if length == 0 {
            return 0;
        }
        let nanos = (0..9).fold(0, |n, i| {
            let digit = digits[..length].get(i).map_or(0, |b| u32::from(b - b'0'));
            n * 10 + digit
        });
        self.0 = &digits[length..];
        nanos
    }

    /// `Z` or `±hh:mm`, in minutes.
    fn offset(&mut self) -> Option<i32> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        let sign = match first {
            b'Z' => return Some(0),
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let hours = self.digits(2, 2)?;
        self.expect(b':')?;
        let minutes = self.digits(2, 2)?;
        if hours > 24 || minutes > 60 {
            return None;
        }
        i32::try_from(hours * 60 + minutes)
            .ok()
            .map(|minutes| sign * minutes)
    }
}

fn days_in(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
