//! The report: what `check`, `rehearse` and `plan` give, in the shape that scripts read.

use firstpass_object::TierName;
use serde::{Deserialize, Serialize};

use crate::{BlastRadius, Finding, Leg, Location, Proof, Sampled, Severity, Verdict};

/// Version of the report's shape. It grows when a field changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;

/// The whole report of one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Who made the report.
    pub tool: Tool,
    /// The verb.
    pub command: String,
    /// One part per cluster entry, in the order asked for.
    pub clusters: Vec<ClusterReport>,
}

/// Who made the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// `firstpass`.
    pub name: String,
    /// Version of the program.
    pub version: String,
}

/// What was found about one cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterReport {
    /// The cluster entry, relative to the root.
    pub entry: String,
    /// What the cluster comes to.
    pub verdict: Verdict,
    /// Seed of the schedule shown.
    pub seed: u64,
    /// How many schedules were played.
    pub schedules: u32,
    /// Virtual seconds until the last tier was Ready; null if one never is.
    pub duration_s: Option<f64>,
    /// What was there before Flux's first pass.
    pub baseline: Baseline,
    /// What had to be taken for granted.
    pub assumptions: Vec<Assumption>,
    /// What was made to go wrong, in words; empty if nothing was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// What the schedules came to, if there was more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
    /// The chain of waits that made the duration of the schedule shown, first to last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub critical_path: Vec<Leg>,
    /// The tiers in the order in which they come up.
    pub tiers: Vec<Tier>,
    /// What happens to objects (plan).
    pub effects: Vec<Effect>,
    /// How far substitution reaches, one entry per path (check).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<Coverage>,
    /// The findings, most severe first.
    pub findings: Vec<Finding>,
    /// Findings that somebody has accepted: they count neither for the verdict nor for the exit status.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suppressed: Vec<SuppressedFinding>,
}

/// A finding that somebody has accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuppressedFinding {
    /// The finding.
    pub finding: Finding,
    /// In which way.
    pub by: SuppressedBy,
    /// Why it was accepted.
    pub reason: String,
    /// Where that is written.
    pub location: Location,
}

/// The ways to suppress a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SuppressedBy {
    /// A comment in the file.
    Comment,
    /// An entry of `firstpass.yaml`.
    Configuration,
}

/// What was there before Flux's first pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// The distribution, such as `k3s`.
    pub distribution: String,
    /// Kubernetes minor version, such as `1.36`.
    pub kubernetes: String,
    /// Flux version, such as `2.9.4`.
    pub flux: String,
    /// Files of the repository that seed something before Flux starts.
    pub seeded_by: Vec<String>,
}

/// Something taken for granted because the repository does not say it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Assumption {
    /// What kind of thing it is about: `chart`, `source`, `variable`, `distribution`, …
    pub about: String,
    /// The object or file.
    pub subject: String,
    /// What was assumed.
    pub assumed: String,
    /// Where the assumption comes from: a knowledge file, the configuration, a default.
    pub source: String,
}

/// One Flux Kustomization as a step of the bring-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tier {
    /// `namespace/name`.
    pub name: TierName,
    /// Where it ended.
    pub state: TierState,
    /// Virtual seconds until its objects were first applied in full; null if they never were.
    #[serde(default)]
    pub applied_at_s: Option<f64>,
    /// Virtual seconds until it was first Ready; null if it never was.
    pub ready_at_s: Option<f64>,
    /// Attempts that got past the dependency check.
    pub attempts: u32,
    /// Attempts among them that failed.
    #[serde(default)]
    pub failed_attempts: u32,
    /// The names of its `dependsOn`, as the cluster sees them.
    #[serde(default)]
    pub depends_on: Vec<TierName>,
    /// What it waits for at the end, or waited for on the way.
    pub waiting_on: Vec<WaitingOn>,
    /// What its being Ready proves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proves: Option<Proof>,
    /// What stays blocked for as long as it is not Ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blast_radius: Option<BlastRadius>,
}

/// Where a tier ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TierState {
    /// Ready at this revision.
    Ready,
    /// Waits for something.
    Waiting,
    /// Its last attempt failed.
    Failed,
    /// `spec.suspend` is true.
    Suspended,
    /// Its contents could not be seen.
    Unrendered,
    /// It is no longer there (plan).
    Removed,
}

/// One thing that a tier waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WaitingOn {
    /// What sort of thing.
    #[serde(rename = "for")]
    pub waiting_for: WaitingFor,
    /// The thing itself: a kind, an object, a namespace, a variable.
    pub what: String,
    /// The tier that brings it, if one does.
    pub tier: Option<TierName>,
}

/// The sorts of things that a tier waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitingFor {
    /// A kind that is not served yet.
    Kind,
    /// Another tier.
    Dependency,
    /// An object that is not healthy yet.
    Health,
    /// A namespace.
    Namespace,
    /// An admission webhook that does not serve yet.
    Webhook,
    /// A source without an artifact.
    Source,
    /// A variable, or the ConfigMap or Secret that brings it.
    Variable,
    /// Any other object.
    Object,
}

/// One path that a tier builds, as substitution sees it. The page of the rule `uncovered-path` defines the numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// The directory from the root of the repository, beginning with `./`.
    pub path: String,
    /// The tier that builds it.
    pub tier: TierName,
    /// Whether the tier substitutes anything.
    pub covered: bool,
    /// Files of the repository that the build reads.
    pub files: usize,
    /// `${…}` in them whose variable the tier defines.
    pub defined: usize,
    /// `${…}` in them that are undefined, not parsable, rewritten although a shell was meant, or applied as written.
    pub hazards: usize,
}

impl std::fmt::Display for Coverage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Coverage {
            path,
            files,
            defined,
            hazards,
            ..
        } = self;
        write!(
            formatter,
            "path={path} files={files} defined={defined} hazards={hazards}"
        )
    }
}

/// What a change does to one object (plan).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// `Kind/name` or `Kind/namespace/name`.
    pub object: String,
    /// created, configured, recreated, pruned, adopted, orphaned, kept or unchanged.
    pub effect: String,
    /// The tier that holds it afterwards.
    pub tier: Option<TierName>,
    /// The tier that held it before.
    pub from_tier: Option<TierName>,
    /// Virtual seconds after the source moved.
    pub at_s: Option<f64>,
    /// Virtual seconds during which it is missing.
    pub window_s: Option<f64>,
    /// What brings it about.
    pub cause: Option<String>,
    /// What has to hold for it.
    pub precondition: Option<String>,
}

impl Report {
    /// A report of this program.
    pub fn new(command: &str, version: &str, clusters: Vec<ClusterReport>) -> Report {
        Report {
            schema_version: SCHEMA_VERSION,
            tool: Tool {
                name: "firstpass".to_owned(),
                version: version.to_owned(),
            },
            command: command.to_owned(),
            clusters,
        }
    }
}

impl ClusterReport {
    /// A report about a cluster of which nothing is known yet.
    pub fn new(entry: impl Into<String>) -> ClusterReport {
        ClusterReport {
            entry: entry.into(),
            verdict: Verdict::Converges,
            seed: 0,
            schedules: 0,
            duration_s: None,
            baseline: Baseline::default(),
            assumptions: Vec::new(),
            faults: Vec::new(),
            sampled: None,
            critical_path: Vec::new(),
            tiers: Vec::new(),
            effects: Vec::new(),
            coverage: Vec::new(),
            findings: Vec::new(),
            suppressed: Vec::new(),
        }
    }

    /// Puts findings and assumptions in their final order and draws the verdict from the findings: the most severe one
    /// that a finding implies, never less than `self.verdict`.
    pub fn conclude(&mut self) {
        let rank = |finding: &Finding| {
            (
                std::cmp::Reverse(finding.severity),
                std::cmp::Reverse(finding.verdict),
                finding.tier.clone(),
                finding.rule.clone(),
                finding.object.clone(),
                finding.location.clone(),
            )
        };
        self.findings.sort_by_key(rank);
        self.assumptions.sort();
        self.assumptions.dedup();
        let implied = self.findings.iter().filter_map(|finding| finding.verdict).max();
        self.verdict = self.verdict.max(implied.unwrap_or(Verdict::Converges));
    }

    /// The highest severity among the findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}
