//! The report for people.
//!
//! The order is the order of questions: what is the verdict, who came up when, what is wrong and what to do, and what
//! was taken for granted. Readable without colour and on a narrow terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use firstpass_diagnostics::{Assumption, ClusterReport, Finding, Report, Severity, SuppressedFinding};
use firstpass_source::Tree;

use crate::clean::clean;
use crate::wrap::wrap;
use crate::{coverage, findings, gates, group, headline, schedules, timeline};

/// Assumptions of one kind beyond this many are counted, unless all are asked for.
const ASSUMPTIONS_LISTED_MAX: usize = 6;

/// How to write text.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Whether to use terminal colours.
    pub color: bool,
    /// Width of the terminal in characters.
    pub width: usize,
    /// Whether to show everything: every information, every assumption.
    pub verbose: bool,
}

/// What a piece of text is painted for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Paint {
    Good,
    Warn,
    Bad,
    Dim,
    Bold,
}

impl Style {
    /// Text without colours and hints of hidden things, at the usual width.
    pub(crate) fn plain() -> Style {
        Style {
            color: false,
            width: 100,
            verbose: false,
        }
    }

    /// Wraps text in the escape codes of its paint, if there is colour at all.
    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        if !self.color {
            return text.to_owned();
        }
        let code = match paint {
            Paint::Good => "32",
            Paint::Warn => "33",
            Paint::Bad => "1;31",
            Paint::Dim => "2",
            Paint::Bold => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// The report as text. `tree` gives the lines that findings point at.
pub fn to_text(report: &Report, tree: &dyn Tree, style: Style) -> String {
    let parts: Vec<String> = report
        .clusters
        .iter()
        .map(|cluster| cluster_text(cluster, tree, style))
        .collect();
    parts.join("\n")
}

/// One finding as text, for verbs that print findings beside another result.
pub fn finding_to_text(finding: &Finding, tree: &dyn Tree, style: Style) -> String {
    findings::render(finding, tree, style)
}

fn cluster_text(cluster: &ClusterReport, tree: &dyn Tree, style: Style) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", headline::of(cluster, style));
    let _ = writeln!(text, "{}", style.paint(Paint::Dim, &clean(&stage(cluster))));
    if !cluster.tiers.is_empty() {
        text.push('\n');
        text.push_str(&timeline::render(cluster, style));
    }
    if style.verbose {
        let gates = gates::render(&cluster.tiers, style);
        if !gates.is_empty() {
            text.push('\n');
            text.push_str(&gates);
        }
    }
    let schedules = schedules::render(cluster, style);
    if !schedules.is_empty() {
        text.push('\n');
        text.push_str(&schedules);
    }
    let is_shown = |finding: &&Finding| style.verbose || finding.severity > Severity::Info;
    for group in group::by_cause(cluster.findings.iter().filter(is_shown)) {
        text.push('\n');
        text.push_str(&findings::render_group(&group, tree, style));
    }
    let hidden = cluster
        .findings
        .iter()
        .filter(|finding| !is_shown(finding))
        .count();
    if hidden > 0 {
        let _ = writeln!(
            text,
            "\n{}",
            style.paint(Paint::Dim, &format!("{hidden} for information; -v shows them"))
        );
    }
    if style.verbose && !cluster.suppressed.is_empty() {
        text.push('\n');
        text.push_str(&suppressed(&cluster.suppressed, style));
    }
    if !cluster.coverage.is_empty() {
        text.push('\n');
        text.push_str(&coverage::render(&cluster.coverage, style));
    }
    if !cluster.assumptions.is_empty() {
        text.push('\n');
        text.push_str(&assumptions(&cluster.assumptions, style));
    }
    text
}

fn stage(cluster: &ClusterReport) -> String {
    let baseline = &cluster.baseline;
    let mut parts = Vec::new();
    if !baseline.distribution.is_empty() {
        parts.push(baseline.distribution.clone());
    }
    if !baseline.kubernetes.is_empty() {
        parts.push(format!("Kubernetes {}", baseline.kubernetes));
    }
    if !baseline.flux.is_empty() {
        parts.push(format!("Flux {}", baseline.flux));
    }
    if cluster.schedules > 1 {
        parts.push(format!(
            "{} schedules from seed {1}, the table shows seed {1}",
            cluster.schedules, cluster.seed
        ));
    }
    if !cluster.faults.is_empty() {
        parts.push(format!("with {}", cluster.faults.join(" and ")));
    }
    if !baseline.seeded_by.is_empty() {
        parts.push(format!("seeded by {}", baseline.seeded_by.join(", ")));
    }
    format!("  on {}", parts.join(", "))
}

fn suppressed(suppressed: &[SuppressedFinding], style: Style) -> String {
    let mut text = format!("{}\n", style.paint(Paint::Bold, "suppressed:"));
    for SuppressedFinding {
        finding,
        reason,
        location,
        ..
    } in suppressed
    {
        let line = format!(
            "{}[{}] {} ({reason}; {}:{})",
            finding.severity, finding.rule, finding.message, location.file, location.line
        );
        let lines = wrap(&line, style.width.saturating_sub(4));
        let _ = writeln!(text, "  {}", lines.join("\n    "));
    }
    text
}

fn assumptions(assumptions: &[Assumption], style: Style) -> String {
    let mut by_kind: BTreeMap<&str, Vec<&Assumption>> = BTreeMap::new();
    for assumption in assumptions {
        by_kind.entry(&assumption.about).or_default().push(assumption);
    }
    let mut text = format!("{}\n", style.paint(Paint::Bold, "taken for granted:"));
    for (about, group) in by_kind {
        let shown = if style.verbose {
            group.len()
        } else {
            ASSUMPTIONS_LISTED_MAX.min(group.len())
        };
        for assumption in &group[..shown] {
            let Assumption {
                about,
                subject,
                assumed,
                source,
            } = assumption;
            let line = format!("{about} {subject}: {assumed} ({source})");
            let _ = writeln!(
                text,
                "  {}",
                wrap(&line, style.width.saturating_sub(4)).join("\n    ")
            );
        }
        if group.len() > shown {
            let _ = writeln!(text, "  {about}: {} more; -v shows them", group.len() - shown);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstpass_diagnostics::{Baseline, Location, Tier, TierState, Verdict, WaitingFor, WaitingOn};
    use firstpass_object::{ObjectId, TierName};
    use firstpass_source::MemoryTree;

    fn tier(name: &str, state: TierState, ready_at_s: Option<f64>, waits: &[(WaitingFor, &str)]) -> Tier {
        let wait = |(waiting_for, what): &(WaitingFor, &str)| WaitingOn {
            waiting_for: *waiting_for,
            what: (*what).to_owned(),
            tier: None,
        };
        Tier {
            name: TierName::new("flux-system", name),
            state,
            applied_at_s: ready_at_s,
            ready_at_s,
            attempts: 1,
            failed_attempts: u32::from(state == TierState::Failed),
            depends_on: Vec::new(),
            waiting_on: waits.iter().map(wait).collect(),
            proves: None,
            blast_radius: None,
        }
    }

    #[test]
    fn a_deadlock_reads_top_down() {
        let mut tree = MemoryTree::new();
        tree.insert(
            "platform/profiles.yaml",
            "apiVersion: cdi.kubevirt.io/v1beta1\nkind: StorageProfile\n",
        );
        let blocked = TierName::new("flux-system", "apps-vms");
        let finding = Finding::new(
            "second-order-kind-in-same-pass",
            Severity::Error,
            Some(Verdict::Deadlock),
            "`StorageProfile` is a kind that this pass would have to bring first",
        )
        .with_tier(&TierName::new("flux-system", "platform-config"))
        .with_object(&ObjectId::new(
            "cdi.kubevirt.io",
            "StorageProfile",
            None,
            "longhorn",
        ))
        .with_related(["CDI/cdi".to_owned()])
        .with_blocks([blocked])
        .with_why(
            "cdi-operator creates its CRD only after it has reconciled `CDI/cdi`, which is in the same pass",
        )
        .with_help("give the StorageProfiles a tier of their own")
        .with_location(Location::new("platform/profiles.yaml", 2, 7));
        let mut cluster = ClusterReport {
            entry: "clusters/prod".to_owned(),
            verdict: Verdict::Converges,
            seed: 0,
            schedules: 1,
            duration_s: None,
            baseline: Baseline {
                distribution: "k3s".to_owned(),
                kubernetes: "1.37".to_owned(),
                flux: "2.9.4".to_owned(),
                seeded_by: vec![],
            },
            assumptions: vec![Assumption {
                about: "chart".to_owned(),
                subject: "HelmRelease/longhorn-system/longhorn".to_owned(),
                assumed: "brings 22 kinds of longhorn.io".to_owned(),
                source: "knowledge/charts/longhorn.yaml".to_owned(),
            }],
            faults: Vec::new(),
            sampled: None,
            critical_path: Vec::new(),
            tiers: vec![
                tier("platform", TierState::Ready, Some(64.25), &[]),
                tier(
                    "platform-config",
                    TierState::Failed,
                    None,
                    &[(WaitingFor::Kind, "StorageProfile.cdi.kubevirt.io")],
                ),
                tier(
                    "apps-vms",
                    TierState::Waiting,
                    None,
                    &[(WaitingFor::Dependency, "flux-system/platform-config")],
                ),
            ],
            effects: vec![],
            coverage: Vec::new(),
            findings: vec![finding],
            suppressed: vec![],
        };
        cluster.conclude();
        let report = Report::new("rehearse", "0.1.0", vec![cluster]);
        let style = Style {
            color: false,
            width: 100,
            verbose: false,
        };
        insta::assert_snapshot!(to_text(&report, &tree, style));
    }
}
