//! The rules that only a run finds. Those that follow from the files alone are crate `checks`' business.

use firstpass_diagnostics::{Severity, Verdict};

/// A rule of rehearsals.
#[derive(Clone, Copy, Debug)]
pub struct RunRule {
    /// Its name, as findings carry it.
    pub name: &'static str,
    /// What it finds, in one line.
    pub summary: &'static str,
    /// The severity of its findings.
    pub severity: Severity,
    /// The verdict that its findings imply.
    pub verdict: Verdict,
    /// Its page, in Markdown, for `explain`.
    pub page: &'static str,
}

/// Every rule that only a run finds, the most severe first.
pub static RUN_RULES: &[RunRule] = &[
    RunRule {
        name: "never-healthy",
        summary: "a tier waits for an object that never becomes healthy",
        severity: Severity::Error,
        verdict: Verdict::NeverReady,
        page: include_str!("../../../docs/rules/runs/never-healthy.md"),
    },
    RunRule {
        name: "livelock",
        summary: "a cluster that changes all the time and never comes to rest",
        severity: Severity::Error,
        verdict: Verdict::NeverReady,
        page: include_str!("../../../docs/rules/runs/livelock.md"),
    },
    RunRule {
        name: "declared-object-deleted",
        summary: "kustomize-controller deletes an object that the repository declares",
        severity: Severity::Error,
        verdict: Verdict::Hazard,
        page: include_str!("../../../docs/rules/runs/declared-object-deleted.md"),
    },
    RunRule {
        name: "health-timeout",
        summary: "a tier gives up waiting before its objects are healthy",
        severity: Severity::Warning,
        verdict: Verdict::Hazard,
        page: include_str!("../../../docs/rules/runs/health-timeout.md"),
    },
    RunRule {
        name: "attempt-failed",
        summary: "an attempt failed on the way, for a reason that passed",
        severity: Severity::Warning,
        verdict: Verdict::Hazard,
        page: include_str!("../../../docs/rules/runs/attempt-failed.md"),
    },
    RunRule {
        name: "address-not-pinned",
        summary: "a load-balancer address that somebody counts on and nobody pins",
        severity: Severity::Warning,
        verdict: Verdict::Hazard,
        page: include_str!("../../../docs/rules/runs/address-not-pinned.md"),
    },
    RunRule {
        name: "workers-starved",
        summary: "as many tiers wait for health that never comes as there are workers",
        severity: Severity::Warning,
        verdict: Verdict::Hazard,
        page: include_str!("../../../docs/rules/runs/workers-starved.md"),
    },
    RunRule {
        name: "release-never-ready",
        summary: "a HelmRelease that never becomes Ready and that nothing waits for",
        severity: Severity::Warning,
        verdict: Verdict::Hazard,
        page: include_str!("../../../docs/rules/runs/release-never-ready.md"),
    },
];

/// The rule of that name.
pub fn run_rule(name: &str) -> Option<&'static RunRule> {
    RUN_RULES.iter().find(|rule| rule.name == name)
}
