//! Delays: how long things take as a rule, at least, at most.

use std::time::Duration;

use serde::Deserialize;

/// A delay with its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// What a run without a seed takes.
    pub nominal: Duration,
    /// The shortest that is plausible.
    pub least: Duration,
    /// The longest that is plausible while nothing is broken.
    pub most: Duration,
    /// Where the numbers come from.
    pub source: String,
    /// The data file that says so.
    pub file: String,
}

/// How many times the nominal delay an estimate takes at most in a sampled schedule. An estimate has no real upper bound: a
/// slow line makes an hour of a pull that takes seconds as a rule. How slow a thing may be is a question for faults; schedules
/// ask for the order of things at an ordinary pace.
const ESTIMATE_SPREAD: u32 = 3;

impl Timing {
    /// Whether no upstream constant stands behind the numbers. No verdict may hang on such a delay.
    pub fn is_estimate(&self) -> bool {
        self.source.starts_with("estimate")
    }

    /// The longest that a sampled schedule takes.
    pub fn drawn_most(&self) -> Duration {
        if self.is_estimate() {
            self.most.min(self.nominal * ESTIMATE_SPREAD)
        } else {
            self.most
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimingEntry {
    nominal: Span,
    least: Span,
    most: Span,
    source: String,
}

impl TimingEntry {
    pub(crate) fn into_timing(self, name: &str, file: &str) -> Result<Timing, String> {
        let TimingEntry {
            nominal: Span(nominal),
            least: Span(least),
            most: Span(most),
            source,
        } = self;
        if least > nominal || nominal > most {
            return Err(format!(
                "timing `{name}`: `least`, `nominal`, `most` must not fall"
            ));
        }
        Ok(Timing {
            nominal,
            least,
            most,
            source,
            file: file.to_owned(),
        })
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
struct Span(Duration);

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Span, String> {
        parse(&text)
            .map(Span)
            .ok_or_else(|| format!("`{text}` is not a duration such as `250ms`, `5s`, `2m` or `1h`"))
    }
}

/// One number with one unit; data files need no more.
fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let millis_per_unit = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    digits
        .parse::<u64>()
        .ok()?
        .checked_mul(millis_per_unit)
        .map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_drawn_from_an_ordinary_range() {
        let timing = |source: &str| Timing {
            nominal: Duration::from_secs(10),
            least: Duration::from_secs(1),
            most: Duration::from_secs(600),
            source: source.to_owned(),
            file: "test.yaml".to_owned(),
        };
        assert_eq!(timing("estimate: a guess").drawn_most(), Duration::from_secs(30));
        assert_eq!(timing("upstream constant").drawn_most(), Duration::from_secs(600));
    }

    #[test]
    fn reads_durations() {
        assert_eq!(parse("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(parse("2m"), Some(Duration::from_secs(120)));
        for text in [
            "",
            "5",
            "s",
            "1h30m",
            "5 s",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
