//! The rules of both levels, as reports list them.

use firstpass_checks::{RULES, Rule};
use firstpass_rehearse::{RUN_RULES, RunRule};
use firstpass_report::RuleInfo;

/// Every rule that the files alone are held against.
pub(crate) fn of_files() -> Vec<RuleInfo> {
    let info = |rule: &&'static Rule| RuleInfo {
        name: rule.name,
        summary: rule.summary,
        severity: rule.severity,
        verdict: rule.verdict,
        page: rule.page,
    };
    RULES.iter().map(info).collect()
}

/// Those, and the rules that only a run finds.
pub(crate) fn all() -> Vec<RuleInfo> {
    let info = |rule: &'static RunRule| RuleInfo {
        name: rule.name,
        summary: rule.summary,
        severity: rule.severity,
        verdict: Some(rule.verdict),
        page: rule.page,
    };
    let mut rules = of_files();
    rules.extend(RUN_RULES.iter().map(info));
    rules
}
