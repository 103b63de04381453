//! Why a tier is not there: it failed, or firstpass cannot see what it holds.

use std::fmt;

use firstpass_diagnostics::{Finding, Location, Severity, Verdict};
use firstpass_object::{ObjectId, TierName};

/// A tier that Flux refuses to apply, or something wrong with one that it applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierFailure {
    /// The rule, such as `build-failed`.
    pub rule: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The reason of the Ready condition, such as `BuildFailed`; empty if Flux does not notice.
    pub reason: &'static str,
    /// The message of the Ready condition, as close to Flux's words as firstpass can; empty if Flux does not notice.
    pub flux_message: String,
    /// The headline.
    pub message: String,
    /// Why it happens.
    pub why: String,
    /// What to do.
    pub help: String,
    /// Where to look.
    pub location: Option<Location>,
    /// The object at fault, if it is one.
    pub object: Option<ObjectId>,
    /// Further objects with the same cause.
    pub related: Vec<ObjectId>,
    /// The variable that is not defined, if that is the cause.
    pub variable: Option<String>,
}

/// What firstpass cannot see, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrendered {
    /// Why, for programs.
    pub reason: UnrenderedReason,
    /// Why, for a person: `its source GitRepository/apps/team is another repository (https://…)`.
    pub text: String,
    /// What would help, such as an entry of the configuration file.
    pub help: String,
}

/// Why a tier's content cannot be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnrenderedReason {
    /// The source is another repository, bucket or image.
    ForeignSource,
    /// The artifact is made in the cluster in a way that firstpass does not follow.
    GeneratedArtifact,
    /// No object in the repository defines the source.
    SourceNotFound,
    /// The Kustomization names no usable source.
    SourceMissing,
    /// `path` holds a variable whose value is known only in the cluster.
    UnknownPath,
    /// Nesting or number of tiers is beyond what firstpass follows.
    Limit,
}

impl TierFailure {
    /// A refusal by Flux: severity error, verdict invalid.
    pub fn refused(rule: &'static str, reason: &'static str, message: impl Into<String>) -> TierFailure {
        TierFailure {
            rule,
            severity: Severity::Error,
            reason,
            flux_message: String::new(),
            message: message.into(),
            why: String::new(),
            help: String::new(),
            location: None,
            object: None,
            related: Vec::new(),
            variable: None,
        }
    }

    /// The finding about a tier that this is.
    pub fn finding(&self, tier: &TierName) -> Finding {
        let verdict = match self.severity {
            Severity::Error => Some(Verdict::Invalid),
            Severity::Warning => Some(Verdict::Hazard),
            Severity::Info => None,
        };
        let mut finding = Finding::new(self.rule, self.severity, verdict, &self.message)
            .with_tier(tier)
            .with_why(&self.why)
            .with_help(&self.help)
            .with_related(self.related.iter().map(ObjectId::to_string));
        if let Some(object) = &self.object {
            finding = finding.with_object(object);
        }
        finding.location = self.location.clone();
        finding
    }
}

impl UnrenderedReason {
    /// A word for reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            UnrenderedReason::ForeignSource => "foreign-source",
            UnrenderedReason::GeneratedArtifact => "generated-artifact",
            UnrenderedReason::SourceNotFound => "source-not-found",
            UnrenderedReason::SourceMissing => "source-missing",
            UnrenderedReason::UnknownPath => "unknown-path",
            UnrenderedReason::Limit => "limit",
        }
    }
}

impl fmt::Display for UnrenderedReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
