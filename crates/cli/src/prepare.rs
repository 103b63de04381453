//! From arguments to clusters that are rendered, staged and ordered: what every verb about clusters begins with.

use std::cell::OnceCell;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use firstpass_baseline::{Stage, StageOptions};
use firstpass_checks::{CheckInput, Fleet, Looked, Suppressions};
use firstpass_diagnostics::{ClusterReport, Coverage, Finding, Location, Severity};
use firstpass_flux::FluxVersion;
use firstpass_knowledge::Knowledge;
use firstpass_object::GroupKind;
use firstpass_order::OrderGraph;
use firstpass_rehearse::Script;
use firstpass_render::{Config, Entry, Options, RenderedCluster, Repository, RuleLevel, render_cluster};
use firstpass_report::RuleInfo;
use firstpass_source::{FILE_LIMIT_BYTES, RepoPath, Tree, WorkTree};

use crate::args::{Choice, Common};
use crate::configured::{self, Names};
use crate::exit::Failure;
use crate::repository as paths;
use crate::rules;

/// A repository, opened, with the clusters that were asked for.
pub(crate) struct Session {
    pub(crate) repository: Repository,
    pub(crate) knowledge: Arc<Knowledge>,
    pub(crate) entries: Vec<Entry>,
    /// Whether these are all clusters of the repository.
    pub(crate) all_clusters: bool,
    /// The root of the repository, as given or found.
    pub(crate) root: PathBuf,
    /// The clusters that share a base, rendered when the rules ask for them.
    fleet: OnceCell<Option<Fleet>>,
    flux: Option<FluxVersion>,
    kubernetes: Option<String>,
    /// What the clusters that were looked at consist of.
    names: Mutex<Names>,
}

/// One cluster, ready to be looked at.
pub(crate) struct Prepared {
    pub(crate) cluster: Arc<RenderedCluster>,
    pub(crate) stage: Arc<Stage>,
    pub(crate) graph: Arc<OrderGraph>,
    /// What the rules say, at the levels that the configuration gives them.
    pub(crate) findings: Vec<Finding>,
    /// How far substitution reaches; empty unless it was asked for.
    pub(crate) coverage: Vec<Coverage>,
}

impl Session {
    /// Opens the repository and finds the entries.
    ///
    /// # Errors
    /// If something that was asked for cannot be read.
    pub(crate) fn open<F: Choice>(common: &Common<F>) -> Result<Session, Failure> {
        let root = paths::root(common.root.as_deref())?;
        let tree: Arc<dyn Tree> =
            Arc::from(paths::open(&root, common.overlay.as_deref(), common.file_limit)?);
        let mut repository = open_repository(tree, common.config.as_deref(), common.file_limit)?;
        let outside: Vec<String> = repository
            .outside_sources()
            .into_iter()
            .map(str::to_owned)
            .collect();
        for outside in outside {
            let directory = root.join(&outside);
            let tree = WorkTree::open(&directory).map_err(|error| {
                Failure::input_with_help(
                    format!("cannot open `{}`: {error}", directory.display()),
                    "`sources` of `firstpass.yaml` names it; check the path, or leave the source out",
                )
            })?;
            repository.add_outside_source(&outside, Arc::new(tree));
        }
        let knowledge = knowledge(&repository, &common.knowledge, common.file_limit)?;
        let entries = entries(&root, &repository, &common.entries)?;
        entries
            .iter()
            .try_for_each(|entry| configured_files_exist(&repository, entry))?;
        let flux = common
            .flux_version
            .as_deref()
            .map(str::parse::<FluxVersion>)
            .transpose();
        let flux = flux.map_err(|error| Failure::input(format!("`--flux-version`: {error}")))?;
        if let Some(unknown) = flux.filter(|flux| !flux.is_known()) {
            return Err(Failure::input_with_help(
                format!("`--flux-version`: nothing is known of Flux `2.{}`", unknown.minor),
                format!(
                    "name a release between 2.{} and 2.{}",
                    FluxVersion::OLDEST.minor,
                    FluxVersion::NEWEST.minor
                ),
            ));
        }
        if let Some(version) = &common.kubernetes_version
            && let Err(problem) = configured::kubernetes_version(version)
        {
            return Err(Failure::input_with_help(
                format!("`--kubernetes-version`: {problem}"),
                configured::nearest_version(version),
            ));
        }
        let all_clusters = repository.entries().iter().all(|entry| {
            let mut asked = entries.iter();
            asked.any(|asked| asked.directory == entry.directory)
        });
        levels_are_of_rules(repository.config())?;
        configured::check(&repository)?;
        Ok(Session {
            repository,
            knowledge,
            entries,
            all_clusters,
            root,
            fleet: OnceCell::new(),
            names: Mutex::default(),
            flux,
            kubernetes: common.kubernetes_version.clone(),
        })
    }

    /// Renders one cluster.
    pub(crate) fn render(&self, entry: &Entry) -> RenderedCluster {
        let options = Options { flux: self.flux };
        render_cluster(&self.repository, entry, &options)
    }

    /// Renders, stages and orders one cluster. `warm` are kinds that exist before Flux starts as well.
    pub(crate) fn prepare(&self, entry: &Entry, warm: &[GroupKind]) -> Prepared {
        self.prepare_in(entry, warm, false)
    }

    /// The same with the lines about coverage.
    pub(crate) fn prepare_with_coverage(&self, entry: &Entry) -> Prepared {
        self.prepare_in(entry, &[], true)
    }

    fn prepare_in(&self, entry: &Entry, warm: &[GroupKind], with_coverage: bool) -> Prepared {
        let options = Options { flux: self.flux };
        let fleet = self.fleet.get_or_init(|| Fleet::of(&self.repository, &options));
        let rendered = fleet.as_ref().and_then(|fleet| fleet.cluster(entry));
        let cluster = rendered.cloned().unwrap_or_else(|| Arc::new(self.render(entry)));
        self.names().see(&cluster);
        let helmfiles = self.repository.helmfiles(entry);
        let options = StageOptions {
            kubernetes: self.kubernetes.clone(),
            kinds: warm.to_vec(),
        };
        let stage = Stage::set(
            &cluster,
            &**self.repository.tree(),
            &helmfiles,
            &self.knowledge,
            &options,
        );
        let graph = OrderGraph::build(&cluster, &stage, &self.knowledge);
        let input = CheckInput {
            repository: &self.repository,
            cluster: &cluster,
            stage: &stage,
            graph: &graph,
            knowledge: &self.knowledge,
            fleet: fleet.as_ref(),
        };
        let coverage = if with_coverage {
            firstpass_checks::coverage(&input)
        } else {
            Vec::new()
        };
        let findings = self.at_their_levels(firstpass_checks::check(&input));
        Prepared {
            findings,
            coverage,
            cluster,
            stage: Arc::new(stage),
            graph: Arc::new(graph),
        }
    }

    fn names(&self) -> std::sync::MutexGuard<'_, Names> {
        // Names are whole at any time, whoever panicked while holding the lock.
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A script for rehearsing a cluster.
    pub(crate) fn script(&self, prepared: Prepared) -> Script {
        Script {
            cluster: prepared.cluster,
            stage: prepared.stage,
            graph: prepared.graph,
            knowledge: Arc::clone(&self.knowledge),
            findings: prepared.findings.into(),
        }
    }

    /// Takes suppressed findings out of the concluded reports of these entries, and adds what is wrong with suppressions
    /// to the first. `looked_at` are the rules that had their say.
    pub(crate) fn suppress(&self, reports: &mut [ClusterReport], looked_at: &[RuleInfo]) {
        let known = rules::all();
        let mut suppressions = Suppressions::read(&self.repository, known.iter().map(|rule| rule.name));
        for (report, entry) in reports.iter_mut().zip(&self.entries) {
            self.names().see_findings(report);
            suppressions.apply(&self.repository, entry.cluster.as_deref(), report);
        }
        let off = |rule: &&str| self.repository.config().rules.get(*rule) == Some(&RuleLevel::Off);
        let looked: Vec<&str> = looked_at
            .iter()
            .map(|rule| rule.name)
            .filter(|rule| !off(rule))
            .collect();
        let leftovers = suppressions.leftovers(Looked {
            rules: &looked,
            all_clusters: self.all_clusters,
        });
        let unknown = if self.all_clusters {
            self.names().unknown(self.repository.config())
        } else {
            Vec::new()
        };
        if let Some(report) = reports.first_mut() {
            report.findings.extend(self.at_their_levels(leftovers));
            report.findings.extend(unknown);
            report.conclude();
        }
    }

    /// Findings at the levels of the configuration. What somebody has turned down to information implies nothing.
    pub(crate) fn at_their_levels(&self, findings: Vec<Finding>) -> Vec<Finding> {
        let levels = &self.repository.config().rules;
        let level = |mut finding: Finding| {
            match levels.get(&finding.rule) {
                None => {}
                Some(RuleLevel::Off) => return None,
                Some(RuleLevel::Info) => {
                    finding.severity = Severity::Info;
                    finding.verdict = None;
                }
                Some(RuleLevel::Warning) => finding.severity = Severity::Warning,
                Some(RuleLevel::Error) => finding.severity = Severity::Error,
            }
            Some(finding)
        };
        findings.into_iter().filter_map(level).collect()
    }
}

fn open_repository(
    tree: Arc<dyn Tree>,
    config: Option<&Path>,
    file_limit: Option<u64>,
) -> Result<Repository, Failure> {
    let Some(path) = config else {
        return Repository::open(tree).map_err(|error| Failure::input(error.to_string()));
    };
    let bytes = read(path, file_limit)?;
    let config = Config::parse(&bytes, &path.display().to_string())
        .map_err(|error| Failure::input(error.to_string()))?;
    Ok(Repository::with_config(tree, config))
}

/// A level for a rule that does not exist would change nothing without a word.
fn levels_are_of_rules(config: &Config) -> Result<(), Failure> {
    let names: Vec<&str> = rules::all().iter().map(|rule| rule.name).collect();
    let Some((unknown, place)) = config
        .rule_places
        .iter()
        .find(|(name, _)| !names.contains(&name.as_str()))
    else {
        return Ok(());
    };
    let help = match firstpass_yaml::nearest(unknown, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`firstpass explain` lists the rules".to_owned(),
    };
    let Location {
        file, line, column, ..
    } = place;
    let message = format!("{file}:{line}:{column}: `rules`: there is no rule `{unknown}`");
    Err(Failure::input_with_help(message, help))
}

/// The built-in knowledge, then the files that the configuration names, then those of the command line.
fn knowledge(
    repository: &Repository,
    files: &[PathBuf],
    file_limit: Option<u64>,
) -> Result<Arc<Knowledge>, Failure> {
    let mut knowledge = Knowledge::builtin();
    let tree = repository.tree();
    for pattern in &repository.config().knowledge {
        let files = firstpass_source::glob(&**tree, pattern);
        if files.is_empty() && !pattern.contains('*') {
            return Err(Failure::input_with_help(
                format!("the knowledge file `{pattern}` does not exist in the repository"),
                "correct `knowledge` in `firstpass.yaml`",
            ));
        }
        for path in files {
            let bytes = tree
                .read(&path)
                .map_err(|error| Failure::input(error.to_string()))?;
            let text = String::from_utf8_lossy(&bytes);
            knowledge = Arc::new(
                knowledge
                    .with_file(&text, path.as_str())
                    .map_err(|error| Failure::input(error.to_string()))?,
            );
        }
    }
    for path in files {
        let bytes = read(path, file_limit)?;
        let text = String::from_utf8_lossy(&bytes);
        let name = path.display().to_string();
        knowledge = Arc::new(
            knowledge
                .with_file(&text, &name)
                .map_err(|error| Failure::input(error.to_string()))?,
        );
    }
    Ok(knowledge)
}

fn entries(root: &Path, repository: &Repository, typed: &[String]) -> Result<Vec<Entry>, Failure> {
    if typed.is_empty() {
        let found = repository.entries();
        if found.is_empty() {
            return Err(Failure::input_with_help(
                "no cluster found in this repository",
                "name the directory that Flux syncs, such as `clusters/prod`, or list clusters in `firstpass.yaml`",
            ));
        }
        return Ok(found);
    }
    let entry = |typed: &String| {
        let path = paths::entry_path(root, typed)?;
        repository.entry(&path).map_err(|error| {
            let known: Vec<String> = repository
                .entries()
                .iter()
                .map(|entry| format!("`{}`", entry.path()))
                .collect();
            let help = if known.is_empty() {
                "name the directory that Flux syncs, from here or from the root of the repository".to_owned()
            } else {
                format!("clusters found here: {}", known.join(", "))
            };
            Failure::input_with_help(error.to_string(), help)
        })
    };
    typed.iter().map(entry).collect()
}

/// The files that the configuration names have to be there: a bootstrap that is not read would change the verdict
/// without a word.
fn configured_files_exist(repository: &Repository, entry: &Entry) -> Result<(), Failure> {
    let tree = repository.tree();
    if entry.cluster.is_some() && !tree.is_directory(&entry.directory) {
        return Err(Failure::input_with_help(
            format!("the entry `{}` does not exist in the repository", entry.path()),
            "correct `path` of the cluster in `firstpass.yaml`",
        ));
    }
    match entry
        .config
        .baseline
        .bootstrap
        .iter()
        .find(|path| !tree.is_file(&RepoPath::clamped(path)))
    {
        Some(missing) => Err(Failure::input_with_help(
            format!("the bootstrap file `{missing}` does not exist in the repository"),
            "correct `baseline.bootstrap` of the cluster in `firstpass.yaml`",
        )),
        None => Ok(()),
    }
}

/// Reads a file that need not lie in the repository, a pipe included, up to the limit for files.
#[expect(
    clippy::disallowed_methods,
    reason = "files named on the command line need not lie in the repository"
)]
pub(crate) fn read(path: &Path, file_limit: Option<u64>) -> Result<Vec<u8>, Failure> {
    let limit = file_limit.unwrap_or(FILE_LIMIT_BYTES);
    let refused =
        |error: std::io::Error| Failure::input(format!("cannot read `{}`: {error}", path.display()));
    let file = std::fs::File::open(path).map_err(refused)?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(refused)?;
    if bytes.len() as u64 > limit {
        return Err(Failure::input_with_help(
            format!("`{}` has more bytes than the limit of {limit}", path.display()),
            "if that is meant, allow more with `--file-limit`",
        ));
    }
    Ok(bytes)
}
