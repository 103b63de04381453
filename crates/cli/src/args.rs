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
    /// Plain `kustomize build` of one directory
    Kustomize(KustomizeArgs),
}

/// Options of every verb that looks at clusters.
#[derive(Debug, Args)]
pub(crate) struct Common {
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
    pub(crate) output: OutputArgs,
}

/// Where and how results are written.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For scripts
    Json,
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
