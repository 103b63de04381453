//! What many schedules came to, how often each finding came up, and which chain of waits made the total.

use firstpass_object::TierName;
use serde::{Deserialize, Serialize};

use crate::Verdict;

/// In how many of the schedules something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frequency {
    /// In so many.
    pub count: u32,
    /// Of so many.
    pub of: u32,
    /// A schedule that shows it.
    pub seed: u64,
}

/// What many schedules came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// The distinct outcomes, the most frequent first.
    pub outcomes: Vec<ScheduleOutcome>,
    /// The schedule in which the last tier was Ready first; absent if none comes up.
    pub fastest: Option<ScheduleDuration>,
    /// The schedule in which the last tier was Ready last.
    pub slowest: Option<ScheduleDuration>,
    /// How many attempts of tiers failed in a schedule.
    pub failed_attempts: Span,
}

/// The least and the most of something over all schedules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// In the schedule with the fewest.
    pub least: u32,
    /// In the schedule with the most.
    pub most: u32,
}

impl Span {
    /// The span of some numbers; of none it is zero.
    pub fn of(numbers: impl IntoIterator<Item = u32>) -> Span {
        let mut numbers = numbers.into_iter();
        let first = numbers.next().unwrap_or(0);
        let all = |span: Span, number: u32| Span {
            least: span.least.min(number),
            most: span.most.max(number),
        };
        numbers.fold(
            Span {
                least: first,
                most: first,
            },
            all,
        )
    }
}

impl std::fmt::Display for Span {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Span { least, most } if least == most => write!(formatter, "{least}"),
            Span { least, most } => write!(formatter, "{least} to {most}"),
        }
    }
}

/// One way in which schedules ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleOutcome {
    /// In so many schedules.
    pub count: u32,
    /// The lowest seed that shows it.
    pub seed: u64,
    /// What it comes to.
    pub verdict: Verdict,
    /// The findings of severity warning or error, as `rule tier object`.
    pub findings: Vec<String>,
    /// The tiers that are not Ready at the end.
    pub not_ready: Vec<TierName>,
}

/// How long a schedule took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScheduleDuration {
    /// Its seed.
    pub seed: u64,
    /// Virtual seconds until the last tier was Ready.
    pub duration_s: f64,
    /// The chain of waits that made it.
    pub critical_path: Vec<Leg>,
}

/// A stretch of time on the way to the last tier's readiness, and what filled it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// The tier.
    pub tier: TierName,
    /// Virtual seconds at its begin.
    pub from_s: f64,
    /// Virtual seconds at its end.
    pub to_s: f64,
    /// What happened in it, in words.
    pub what: String,
}
