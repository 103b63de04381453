//! What can be typed. The names and meanings are a contract (DESIGN section 4).

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Prove, before you merge, that a Flux cluster converges on its first pass.
#[derive(Debug, Parser)]
#[command(name = "firstpass", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Print what Flux would apply
    Build(BuildArgs),
    /// Look for broken rules, from the files alone
    Check(CheckArgs),
    /// Play the cold start of a cluster: does it converge, in what order, and what does each tier wait for
    Rehearse(RehearseArgs),
    /// Draw the order graph: tiers, edges, and what guarantees each
    Graph(GraphArgs),
    /// Say who brings each kind: git, a chart, or a controller at runtime
    Audit(AuditArgs),
    /// Print the order in which the tiers come up; compare a hand-written list with it; un-wedge a stuck cluster
    Order(OrderArgs),
    /// Everything that CI asks: every level for every cluster, and the requirements that they hold
    Gate(GateArgs),
    /// Explain a rule, with a bad and a good example
    Explain(ExplainArgs),
    /// Plain `kustomize build` of one directory
    Kustomize(KustomizeArgs),
    /// Print the completions of a shell: `source <(firstpass completion bash)`
    Completion(CompletionArgs),
    /// Print the manual page, or write one for each verb
    Man(ManArgs),
}

/// Options of every verb that looks at clusters.
#[derive(Clone, Debug, Args)]
pub(crate) struct Common<F: Choice = Format> {
    /// Cluster entries: the directories that a cluster's Flux starts from
    #[arg(value_name = "CLUSTER_ENTRY")]
    pub(crate) entries: Vec<String>,
    /// Root of the repository; default: the nearest directory above with `firstpass.yaml` or `.git`
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Configuration; default: `firstpass.yaml` at the root
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Look at the repository as if the files below DIR were in it; paths listed in DIR/.removed are gone
    #[arg(long, value_name = "DIR")]
    pub(crate) overlay: Option<PathBuf>,
    /// Flux version, such as 2.9; default: what the repository pins, else the newest known
    #[arg(long, value_name = "VERSION")]
    pub(crate) flux_version: Option<String>,
    /// Kubernetes version, such as 1.36; default: what the configuration says, else the newest known
    #[arg(long, value_name = "VERSION")]
    pub(crate) kubernetes_version: Option<String>,
    /// More knowledge about charts and operators
    #[arg(long, value_name = "FILE", num_args = 1)]
    pub(crate) knowledge: Vec<PathBuf>,
    /// Refuse files of more than this many bytes
    #[arg(long, value_name = "BYTES")]
    pub(crate) file_limit: Option<u64>,
    #[command(flatten)]
    pub(crate) output: OutputArgs<F>,
}

#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Only this tier: namespace/name, or the name alone
    #[arg(long, value_name = "TIER")]
    pub(crate) tier: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) common: Common<ReportFormat>,
    #[command(flatten)]
    pub(crate) fail: FailArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RehearseArgs {
    #[command(flatten)]
    pub(crate) common: Common<ReportFormat>,
    #[command(flatten)]
    pub(crate) fail: FailArgs,
    #[command(flatten)]
    pub(crate) schedules: ScheduleArgs,
    /// Let something go wrong: `NAME[=TARGET][@BEGIN][+LASTS]`, several divided by commas
    ///
    /// source-down[=SOURCE]      a source, or all of them, cannot be fetched
    /// source-slow[=SOURCE]      fetches take longer than their timeout (`spec.timeout`, 60s)
    /// artifact-gone[=SOURCE]    what a source has stored cannot be downloaded
    /// crash-loop=WORKLOAD       its pods crash as soon as they run
    /// slow-image[=WORKLOAD]     its images, or all, are not there before the fault is over
    /// slow-operator[=NAME]      an operator, or all of them, does nothing
    /// stuck=OBJECT              whoever controls it never reports it well
    /// webhook-dies=WEBHOOK      what serves it crashes
    /// remote-base-slow          remote bases are not fetched within kustomize's 27 s
    /// restart-controller=NAME   kustomize-, helm- or source-controller restarts at BEGIN
    /// random[=N]                N faults of these sorts, drawn by the seed of each schedule
    ///
    /// Objects are written Kind/namespace/name. BEGIN counts from the start of Flux (0s; restarts and dying webhooks 5m),
    /// LASTS is 10m (crash-loop 30m, stuck for ever), or `never` for a fault that does not heal. `source-down=10m` is short
    /// for `source-down+10m`.
    #[arg(long, value_name = "FAULTS", verbatim_doc_comment)]
    pub(crate) faults: Vec<String>,
    /// Write what happened, line by line, to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Print why this tier is where it is: namespace/name, or the name alone
    #[arg(long, value_name = "TIER")]
    pub(crate) why: Option<String>,
    /// Stop at this virtual time, such as 30m or 12h
    #[arg(long, value_name = "TIME", default_value = "24h")]
    pub(crate) until: String,
    /// Suppose that these CRDs exist before Flux starts, as on a warm cluster: Kind.group
    #[arg(long, value_name = "KIND.GROUP")]
    pub(crate) with_kind: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    #[command(flatten)]
    pub(crate) common: Common<ReportFormat>,
    #[command(flatten)]
    pub(crate) fail: FailArgs,
    #[command(flatten)]
    pub(crate) schedules: ScheduleArgs,
    /// Which tests hold which requirement; default: `conformance/requirements.yaml` in the repository, if it is there
    #[arg(long, value_name = "FILE")]
    pub(crate) conformance: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) from: FromArgs,
}

/// The revision before, from which a running cluster comes.
#[derive(Clone, Debug, Args)]
#[group(multiple = false)]
pub(crate) struct FromArgs {
    /// The revision before: a checkout of its own, whose root DIR is
    #[arg(long, value_name = "DIR")]
    pub(crate) from_dir: Option<PathBuf>,
    /// The revision before: this repository with the files below DIR laid over it
    #[arg(long, value_name = "DIR")]
    pub(crate) from_overlay: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write `firstpass.1` and a page for each verb into DIR
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) common: Common<GraphFormat>,
    /// Rehearse as well, and show what became of each tier
    #[arg(long)]
    pub(crate) rehearse: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Rehearse as well, and say who owns each object
    #[arg(long)]
    pub(crate) objects: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OrderArgs {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Compare with the list of tiers in FILE: an array in a shell script, a YAML list, one name per line
    #[arg(long, value_name = "FILE", conflicts_with = "pre_apply")]
    pub(crate) check: Option<PathBuf>,
    /// Print the smallest set of objects that un-wedges a cluster that is stuck at this revision
    #[arg(long)]
    pub(crate) pre_apply: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// For people on a terminal
    Text,
    /// For scripts: the same bytes for clusters that share a graph
    Json,
    /// For Graphviz
    Dot,
    /// For Markdown pages
    Mermaid,
    /// A picture
    Svg,
}

/// Which schedules are played.
#[derive(Clone, Debug, Args)]
pub(crate) struct ScheduleArgs {
    /// Seed of the first schedule
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// How many schedules to play: seeded interleavings and delays within each model's bounds
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) schedules: u32,
}

/// When findings make the exit status 1.
#[derive(Debug, Args)]
pub(crate) struct FailArgs {
    /// Exit with 1 if there is a finding of this severity or above
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    pub(crate) fail_on: FailOn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Error,
    Warning,
    Info,
    Never,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The rule; without one, all rules are listed
    pub(crate) rule: Option<String>,
}

/// Where and how results are written.
#[derive(Clone, Debug, Args)]
pub(crate) struct OutputArgs<F: Choice = Format> {
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: F,
    /// Write the result to FILE instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Colours
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Show everything: informations and all assumptions
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// The formats that a verb can print.
pub(crate) trait Choice: ValueEnum + Clone + Send + Sync + 'static {}

impl<F: ValueEnum + Clone + Send + Sync + 'static> Choice for F {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For scripts
    Json,
}

/// The formats of verbs that give findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    Text,
    /// For people and editors: a line per finding
    Concise,
    /// For scripts
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, for test reports
    Junit,
    /// Workflow commands that become annotations on GitHub
    Github,
    /// Markdown for a comment on a pull request
    Markdown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    Auto,
    Always,
    Never,
}

#[derive(Debug, Args)]
pub(crate) struct KustomizeArgs {
    /// The directory that holds the kustomization file
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,
    /// Build as Flux calls the library: no final sort, files from anywhere below the root
    #[arg(long)]
    pub(crate) flux: bool,
    /// Nothing above this directory is read; default: the nearest directory above DIR with `firstpass.yaml` or
    /// `.git`, else the whole file system as kustomize does
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Write the result to FILE instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
