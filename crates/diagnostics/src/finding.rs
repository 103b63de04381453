//! One finding: the unit that every check and every rehearsal speaks in.

use std::fmt;

use firstpass_object::{ObjectId, TierName};
use serde::{Deserialize, Serialize};

use crate::Frequency;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing has to be done.
    Info,
    /// Comes up, but by luck, late, or with a window.
    Warning,
    /// Does not come up, or loses something.
    Error,
}

/// What a cluster comes to; the most severe one present wins, so the order of the variants is the order of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every tier comes up, in an order that is guaranteed.
    Converges,
    /// Every tier comes up, but by luck, by a failed attempt, with a loss or a window, or on an order that nothing
    /// guarantees.
    Hazard,
    /// The horizon was reached before the cluster was quiet: there is no answer, and no guess.
    Undecided,
    /// A tier waits for something that provably never comes or never becomes healthy.
    NeverReady,
    /// A tier waits, through any chain, for something that waits for that tier.
    Deadlock,
    /// A tier is refused whatever happens later.
    Invalid,
}

/// One diagnostic. There is one finding per rule, tier and cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule, such as `second-order-kind-in-same-pass`.
    pub rule: String,
    /// How much it matters.
    pub severity: Severity,
    /// The verdict that the finding implies; hygiene implies none.
    pub verdict: Option<Verdict>,
    /// The tier at fault.
    pub tier: Option<TierName>,
    /// The first affected object in build order, as `Kind/name` or `Kind/namespace/name`.
    pub object: Option<String>,
    /// The same object, taken apart.
    pub object_ref: Option<ObjectRef>,
    /// Further objects that the same cause affects, or that take part in it.
    #[serde(default)]
    pub related: Vec<String>,
    /// The tiers that can never apply because of it.
    #[serde(default)]
    pub blocks: Vec<TierName>,
    /// The headline; it makes sense alone.
    pub message: String,
    /// Why it happens.
    pub why: String,
    /// What to do.
    pub help: String,
    /// Where to look.
    pub location: Option<Location>,
    /// What findings of several tiers have in common when one change mends them all, such as the tier that lacks a wait.
    /// Reports for people show such findings as one; it means nothing outside this process and is not written.
    #[serde(skip)]
    pub cause: Option<String>,
    /// In how many of several schedules it was seen to happen; absent for one schedule, and for what only follows from the
    /// files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedules: Option<Frequency>,
}

/// An object taken apart, as in the JSON report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectRef {
    /// API group; empty for the core group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Namespace, if the object is namespaced.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

/// A place in a file of the repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Location {
    /// Path from the root of the repository.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// In a plan, which of the two revisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
}

/// The two revisions of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// What runs now.
    From,
    /// What the change brings.
    To,
}

impl Finding {
    /// A finding with the parts that every one has; the rest is set by the `with_…` methods.
    pub fn new(
        rule: &str,
        severity: Severity,
        verdict: Option<Verdict>,
        message: impl Into<String>,
    ) -> Finding {
        Finding {
            rule: rule.to_owned(),
            severity,
            verdict,
            tier: None,
            object: None,
            object_ref: None,
            related: Vec::new(),
            blocks: Vec::new(),
            message: message.into(),
            why: String::new(),
            help: String::new(),
            location: None,
            cause: None,
            schedules: None,
        }
    }

    /// Names the tier at fault.
    pub fn with_tier(mut self, tier: &TierName) -> Finding {
        self.tier = Some(tier.clone());
        self
    }

    /// Names the object at fault.
    pub fn with_object(mut self, object: &ObjectId) -> Finding {
        self.object = Some(object.to_string());
        self.object_ref = Some(ObjectRef {
            group: object.group.to_string(),
            kind: object.kind.to_string(),
            namespace: object.namespace.as_ref().map(ToString::to_string),
            name: object.name.to_string(),
        });
        self
    }

    /// Adds objects that take part.
    pub fn with_related(mut self, related: impl IntoIterator<Item = String>) -> Finding {
        self.related.extend(related);
        self
    }

    /// Says which tiers never apply because of it.
    pub fn with_blocks(mut self, blocks: impl IntoIterator<Item = TierName>) -> Finding {
        self.blocks.extend(blocks);
        self
    }

    /// Says why it happens.
    pub fn with_why(mut self, why: impl Into<String>) -> Finding {
        self.why = why.into();
        self
    }

    /// Says what to do.
    pub fn with_help(mut self, help: impl Into<String>) -> Finding {
        self.help = help.into();
        self
    }

    /// Says what it has in common with findings of other tiers.
    pub fn with_cause(mut self, cause: impl Into<String>) -> Finding {
        self.cause = Some(cause.into());
        self
    }

    /// Says where to look.
    pub fn with_location(mut self, location: Location) -> Finding {
        self.location = Some(location);
        self
    }
}

impl Location {
    /// A place in a file of the one revision at hand.
    pub fn new(file: impl Into<String>, line: u32, column: u32) -> Location {
        Location {
            file: file.into(),
            line,
            column,
            side: None,
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Verdict::Converges => "converges",
            Verdict::Hazard => "hazard",
            Verdict::Undecided => "undecided",
            Verdict::NeverReady => "never-ready",
            Verdict::Deadlock => "deadlock",
            Verdict::Invalid => "invalid",
        })
    }
}

impl Verdict {
    /// Whether the exit status is 1 whatever `--fail-on` says, `never` apart (DESIGN section 4).
    pub fn is_failure(self) -> bool {
        matches!(self, Verdict::Invalid | Verdict::Deadlock | Verdict::NeverReady)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_severe_verdict_is_the_greatest() {
        let verdicts = [
            Verdict::Hazard,
            Verdict::Deadlock,
            Verdict::Converges,
            Verdict::NeverReady,
        ];
        assert_eq!(verdicts.into_iter().max(), Some(Verdict::Deadlock));
        assert!(Verdict::Invalid > Verdict::Deadlock);
    }
}
