//! A report that holds what goes wrong in formats: two clusters that share a finding, a finding without a place, a Secret,
//! and text that somebody wrote to break out of its place.

use firstpass_diagnostics::{
    Baseline, ClusterReport, Finding, Location, Report, Severity, Tier, TierState, Verdict, WaitingFor,
    WaitingOn,
};
use firstpass_object::{ObjectId, TierName};
use firstpass_report::{Context, Places, RuleInfo};
use firstpass_source::MemoryTree;

/// A text that tries to be something else in every format.
pub(crate) const HOSTILE: &str = "`x` </code></details><script>alert(1)</script> ![i](http://evil.example/a.png) \
     [l](http://evil.example) @everyone #1 GH-2 www.evil.example |cell| ##[error]no\n::error::no%0A]]> \u{1b}[31m\u{202e}";

pub(crate) const RULES: &[RuleInfo] = &[
    RuleInfo {
        name: "kind-without-barrier",
        summary: "a kind from an earlier tier that is Ready before the kind is there",
        severity: Severity::Warning,
        verdict: Some(Verdict::Hazard),
        page: "# kind-without-barrier\n\nA page.\n\n## Why it hurts\n\nIt comes up\nby luck.\n\n## Bad\n",
    },
    RuleInfo {
        name: "second-order-kind-in-same-pass",
        summary: "a kind that a controller creates only after this very pass",
        severity: Severity::Error,
        verdict: Some(Verdict::Deadlock),
        page: "# second-order-kind-in-same-pass\n",
    },
    RuleInfo {
        name: "suspended",
        summary: "a tier with `spec.suspend: true`",
        severity: Severity::Info,
        verdict: None,
        page: "# suspended\n",
    },
];

pub(crate) struct World {
    pub(crate) report: Report,
    tree: MemoryTree,
    places: Places,
}

impl World {
    pub(crate) fn context(&self) -> Context<'_> {
        Context {
            tree: &self.tree,
            rules: RULES,
            places: &self.places,
            prefix: "infra/flux",
            threshold: Some(Severity::Error),
            verbose: false,
        }
    }
}

pub(crate) fn tier_name(name: &str) -> TierName {
    TierName::new("flux-system", name)
}

fn deadlock() -> Finding {
    Finding::new(
        "second-order-kind-in-same-pass",
        Severity::Error,
        Some(Verdict::Deadlock),
        "`StorageProfile` is a kind that this pass would have to bring first",
    )
    .with_tier(&tier_name("platform-config"))
    .with_object(&ObjectId::new(
        "cdi.kubevirt.io",
        "StorageProfile",
        None,
        "longhorn",
    ))
    .with_related(["CDI/cdi".to_owned()])
    .with_blocks([tier_name("apps")])
    .with_why("the operator creates it only after it has reconciled `CDI/cdi`")
    .with_help("give the StorageProfiles a tier of their own:\n  dependsOn:\n    - name: platform-config")
    .with_location(Location::new("platform/the profiles.yaml", 2, 7))
}

fn barrier(tier: &str) -> Finding {
    Finding::new(
        "kind-without-barrier",
        Severity::Warning,
        Some(Verdict::Hazard),
        format!(
            "`flux-system/{tier}` needs `Widget` from `flux-system/platform`, whose Ready proves nothing"
        ),
    )
    .with_tier(&tier_name(tier))
    .with_why("a wait is missing")
    .with_help("add `wait: true`")
    .with_cause("platform")
    .with_location(Location::new(format!("{tier}/widget.yaml"), 1, 1))
}

fn hostile() -> Finding {
    Finding::new("not-listed", Severity::Error, None, HOSTILE)
        .with_tier(&tier_name("apps"))
        .with_object(&ObjectId::new("", "Secret", Some("default"), "token"))
        .with_why(format!("{HOSTILE}\n````\n</details>"))
        .with_help(HOSTILE)
        .with_location(Location::new("a,b:c|`@me`%.yaml", 1, 1))
}

fn placeless() -> Finding {
    Finding::new(
        "suspended",
        Severity::Info,
        None,
        "`flux-system/media` is suspended",
    )
}

fn tier(name: &str, state: TierState, ready_at_s: Option<f64>) -> Tier {
    Tier {
        name: tier_name(name),
        state,
        applied_at_s: ready_at_s,
        ready_at_s,
        attempts: 1,
        failed_attempts: u32::from(state == TierState::Failed),
        depends_on: Vec::new(),
        waiting_on: match state {
            TierState::Failed => vec![WaitingOn {
                waiting_for: WaitingFor::Kind,
                what: "StorageProfile.cdi.kubevirt.io".to_owned(),
                tier: None,
            }],
            _ => Vec::new(),
        },
        proves: None,
        blast_radius: None,
    }
}

pub(crate) fn cluster(entry: &str, tiers: Vec<Tier>, findings: Vec<Finding>) -> ClusterReport {
    let mut cluster = ClusterReport {
        entry: entry.to_owned(),
        verdict: Verdict::Converges,
        seed: 0,
        schedules: 1,
        duration_s: None,
        baseline: Baseline {
            distribution: "k3s".to_owned(),
            kubernetes: "1.36".to_owned(),
            flux: "2.9.4".to_owned(),
            seeded_by: Vec::new(),
        },
        assumptions: Vec::new(),
        faults: Vec::new(),
        sampled: None,
        critical_path: Vec::new(),
        tiers,
        effects: Vec::new(),
        coverage: Vec::new(),
        findings,
        suppressed: Vec::new(),
    };
    cluster.conclude();
    cluster
}

/// A rehearsal of two clusters.
pub(crate) fn world() -> World {
    let prod = cluster(
        "clusters/prod",
        vec![
            tier("platform", TierState::Ready, Some(64.25)),
            tier("platform-config", TierState::Failed, None),
            tier("apps", TierState::Waiting, None),
            tier("media", TierState::Suspended, None),
        ],
        vec![
            deadlock(),
            barrier("apps"),
            barrier("web"),
            hostile(),
            placeless(),
        ],
    );
    let dev = cluster(
        "clusters/dev",
        vec![tier("platform", TierState::Ready, Some(64.25))],
        vec![barrier("apps")],
    );
    let mut tree = MemoryTree::new();
    tree.insert(
        "platform/the profiles.yaml",
        "apiVersion: cdi.kubevirt.io/v1beta1\nkind: StorageProfile\n",
    );
    tree.insert("a,b:c|`@me`%.yaml", "token: hunter2\n");
    let mut places = Places::default();
    places.insert(
        "clusters/prod",
        "CDI/cdi".to_owned(),
        Location::new("platform/cdi.yaml", 4, 1),
    );
    places.insert(
        "clusters/prod",
        "flux-system/apps".to_owned(),
        Location::new("clusters/base/apps.yaml", 1, 1),
    );
    World {
        report: Report::new("rehearse", "0.1.0", vec![prod, dev]),
        tree,
        places,
    }
}

#[test]
fn concise_as_it_is_seen() {
    let world = world();
    let style = firstpass_report::Style {
        color: false,
        width: 100,
        verbose: true,
    };
    insta::assert_snapshot!(firstpass_report::to_concise(&world.report, style));
}

#[test]
fn one_cause_is_one_block() {
    let world = world();
    let text = firstpass_report::to_text(
        &world.report,
        world.context().tree,
        firstpass_report::Style {
            color: false,
            width: 100,
            verbose: false,
        },
    );
    assert_eq!(
        text.matches("warning[kind-without-barrier]").count(),
        2,
        "one for each cluster\n{text}"
    );
    assert!(
        text.contains("= also: flux-system/web (web/widget.yaml:1)"),
        "{text}"
    );
}
