//! Findings that somebody has accepted, with a reason: a comment where the finding is, or an entry of `firstpass.yaml`.
//!
//! ```text
//! repository ──► Suppressions ──► apply to the report of each cluster ──► leftovers: invalid and unused ones
//! ```
//!
//! A suppressed finding does not count, and stays visible. What a rehearsal has seen is no matter of opinion: where a
//! tier did not come up, neither the verdict nor the findings that explain it give way to a suppression.

mod comment;
mod scope;

use std::collections::BTreeSet;

use firstpass_diagnostics::{
    ClusterReport, Finding, Location, SuppressedBy, SuppressedFinding, TierState, Verdict,
};
use firstpass_render::{Repository, SuppressConfig};
use firstpass_source::RepoPath;

use self::comment::{Comment, Problem};
use self::scope::Scope;
use crate::Rule;
use crate::rules::{suppression_invalid, suppression_unused};

/// The suppressions of a repository, and which of them were of use so far.
pub struct Suppressions {
    entries: Vec<Suppression>,
    /// What is wrong with suppressions that do not count.
    problems: Vec<Finding>,
    /// Files whose comments were read.
    read: BTreeSet<String>,
    /// The names of all rules.
    known: BTreeSet<String>,
}

/// One accepted kind of finding at one place.
struct Suppression {
    rules: Vec<String>,
    scope: Scope,
    by: SuppressedBy,
    reason: String,
    /// Where the suppression stands.
    location: Location,
    /// The rules of it that a finding was suppressed of.
    used: BTreeSet<String>,
}

/// What was looked for when the reports were made.
#[derive(Clone, Copy, Debug)]
pub struct Looked<'r> {
    /// The rules that were looked at.
    pub rules: &'r [&'r str],
    /// Whether all clusters of the repository were: a suppression may be there for another one.
    pub all_clusters: bool,
}

impl Suppressions {
    /// Reads the comments of all YAML files and the entries of `firstpass.yaml`. `known` are the names of all rules.
    pub fn read<'k>(repository: &Repository, known: impl IntoIterator<Item = &'k str>) -> Suppressions {
        let mut suppressions = Suppressions {
            entries: Vec::new(),
            problems: Vec::new(),
            read: BTreeSet::new(),
            known: known.into_iter().map(str::to_owned).collect(),
        };
        for file in repository.files() {
            let name = file.file_name();
            if name.ends_with(".yaml") || name.ends_with(".yml") {
                suppressions.read_file(repository, file);
            }
        }
        for entry in &repository.config().suppress {
            suppressions.add_configured(repository, entry);
        }
        suppressions
    }

    /// Parts the findings of a concluded report into those that count and those that are suppressed, and draws the
    /// verdict anew.
    pub fn apply(&mut self, repository: &Repository, cluster: Option<&str>, report: &mut ClusterReport) {
        let files: BTreeSet<RepoPath> = report
            .findings
            .iter()
            .filter_map(|finding| finding.location.as_ref())
            .map(|location| RepoPath::clamped(&location.file))
            .collect();
        files.iter().for_each(|file| self.read_file(repository, file));
        let failed = has_failed(report);
        let names = [Some(report.entry.as_str()), cluster];
        let findings = std::mem::take(&mut report.findings);
        for mut finding in findings {
            let Some(index) = self
                .entries
                .iter()
                .position(|entry| entry.suppresses(&finding, &names))
            else {
                report.findings.push(finding);
                continue;
            };
            let entry = &mut self.entries[index];
            entry.used.insert(finding.rule.clone());
            if failed && finding.verdict.is_some_and(Verdict::is_failure) {
                let Location { file, line, .. } = &entry.location;
                finding.why.push_str(&format!(
                    " {file}:{line} would suppress this, but the rehearsal has seen it happen, and a suppression brings no \
                     tier up."
                ));
                report.findings.push(finding);
                continue;
            }
            report.suppressed.push(SuppressedFinding {
                finding,
                by: entry.by,
                reason: entry.reason.clone(),
                location: entry.location.clone(),
            });
        }
        let floor = if failed || report.verdict == Verdict::Undecided {
            report.verdict
        } else {
            Verdict::Converges
        };
        let implied = report.findings.iter().filter_map(|finding| finding.verdict).max();
        report.verdict = floor.max(implied.unwrap_or(Verdict::Converges));
    }

    /// What is wrong with the suppressions themselves, once every report was made: those that do not count, and those that
    /// suppress nothing.
    pub fn leftovers(&self, looked: Looked<'_>) -> Vec<Finding> {
        let mut findings = self.problems.clone();
        if looked.all_clusters {
            for entry in &self.entries {
                let unused = entry
                    .rules
                    .iter()
                    .filter(|rule| !entry.used.contains(*rule) && looked.rules.contains(&rule.as_str()));
                findings.extend(unused.map(|rule| unused_finding(rule, &entry.location)));
            }
        }
        findings.sort_by(|a, b| (&a.location, &a.message).cmp(&(&b.location, &b.message)));
        findings
    }

    fn read_file(&mut self, repository: &Repository, file: &RepoPath) {
        if !self.read.insert(file.to_string()) {
            return;
        }
        let Ok(bytes) = repository.tree().read(file) else {
            return;
        };
        for comment in comment::read(&bytes, file.as_str()) {
            match comment {
                Ok(comment) => self.add_comment(comment),
                Err(problem) => self.problems.push(invalid(&problem)),
            }
        }
    }

    fn add_comment(&mut self, comment: Comment) {
        let Comment {
            rules,
            scope,
            reason,
            location,
        } = comment;
        let Some(rules) = self.only_known(rules, &location) else {
            return;
        };
        if reason.is_empty() {
            self.problems.push(without_reason(&location));
            return;
        }
        self.entries.push(Suppression {
            rules,
            scope,
            by: SuppressedBy::Comment,
            reason,
            location,
            used: BTreeSet::new(),
        });
    }

    fn add_configured(&mut self, repository: &Repository, entry: &SuppressConfig) {
        let location = entry.location.clone();
        let Some(rules) = self.only_known(vec![entry.rule.clone()], &location) else {
            return;
        };
        if entry.reason.trim().is_empty() {
            self.problems.push(without_reason(&location));
            return;
        }
        let files = entry.file.as_ref().map(|pattern| {
            // `apps/**` means all that is below, here as in other tools.
            let pattern = pattern
                .strip_suffix("**")
                .map_or(pattern.clone(), |above| format!("{above}**/*"));
            let files = firstpass_source::glob(&**repository.tree(), &pattern);
            files.iter().map(ToString::to_string).collect()
        });
        let scope = Scope::Configured {
            files,
            tier: entry.tier.clone(),
            object: entry.object.clone(),
            cluster: entry.cluster.clone(),
        };
        self.entries.push(Suppression {
            rules,
            scope,
            by: SuppressedBy::Configuration,
            reason: entry.reason.trim().to_owned(),
            location,
            used: BTreeSet::new(),
        });
    }

    /// The rules that there are; what is wrong with the others is noted. Nothing if none is left.
    fn only_known(&mut self, rules: Vec<String>, location: &Location) -> Option<Vec<String>> {
        let (known, unknown): (Vec<String>, Vec<String>) =
            rules.into_iter().partition(|rule| self.known.contains(rule));
        for rule in unknown {
            let near = firstpass_yaml::nearest(&rule, self.known.iter().map(String::as_str));
            let problem = Problem {
                message: format!("there is no rule `{rule}`, so nothing is suppressed"),
                help: match near {
                    Some(near) => {
                        format!("write `{near}`, if that is meant; `firstpass explain` lists the rules")
                    }
                    None => "`firstpass explain` lists the rules".to_owned(),
                },
                location: location.clone(),
            };
            self.problems.push(invalid(&problem));
        }
        (!known.is_empty()).then_some(known)
    }
}

impl Suppression {
    fn suppresses(&self, finding: &Finding, cluster: &[Option<&str>]) -> bool {
        self.rules.contains(&finding.rule) && self.scope.holds(finding, cluster)
    }
}

/// Whether a rehearsal has seen that a cluster does not come up.
fn has_failed(report: &ClusterReport) -> bool {
    let was_played = report.schedules > 0;
    let is_down = report
        .tiers
        .iter()
        .any(|tier| matches!(tier.state, TierState::Waiting | TierState::Failed));
    // Of several schedules, the one that is shown need not be the one that failed.
    was_played && report.verdict.is_failure() && (is_down || report.schedules > 1)
}

fn of_rule(rule: &Rule, message: String, why: &str, help: String, location: &Location) -> Finding {
    rule.finding(message)
        .with_why(why)
        .with_help(help)
        .with_location(location.clone())
}

fn invalid(problem: &Problem) -> Finding {
    of_rule(
        &suppression_invalid::RULE,
        problem.message.clone(),
        "A suppression that is not understood suppresses nothing, and whoever wrote it believes that it does.",
        problem.help.clone(),
        &problem.location,
    )
}

fn without_reason(location: &Location) -> Finding {
    of_rule(
        &suppression_invalid::RULE,
        "the suppression gives no reason, so nothing is suppressed".to_owned(),
        "In a year nobody knows any more whether the finding may still be passed over.",
        "say why the finding can be lived with, behind the bracket or as `reason`".to_owned(),
        location,
    )
}

fn unused_finding(rule: &str, location: &Location) -> Finding {
    of_rule(
        &suppression_unused::RULE,
        format!("nothing here is `{rule}`, so nothing is suppressed"),
        "What it was written for is gone, or is found at another place. It would pass over the next finding of the kind.",
        "remove it, or move it to the line that the finding shows".to_owned(),
        location,
    )
}
