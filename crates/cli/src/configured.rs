//! Names in `firstpass.yaml` that have to be names of something: a mistake in one would change nothing without a word.

use std::collections::BTreeSet;

use firstpass_diagnostics::{ClusterReport, Finding, Location, Severity};
use firstpass_object::ObjectExt;
use firstpass_render::{Config, RenderedCluster, Repository};
use firstpass_schema::KUBERNETES_MINORS;
use firstpass_source::RepoPath;

use crate::exit::Failure;
use crate::rules;

/// What clusters consist of, by name, as suppressions name it.
#[derive(Debug, Default)]
pub(crate) struct Names {
    tiers: BTreeSet<String>,
    objects: BTreeSet<String>,
}

impl Names {
    /// Takes in a cluster.
    pub(crate) fn see(&mut self, cluster: &RenderedCluster) {
        self.tiers
            .extend(cluster.tiers.iter().map(|tier| tier.name.to_string()));
        let objects = cluster
            .objects()
            .map(|(_, object)| object.object.id().to_string());
        self.objects.extend(objects);
    }

    /// Takes in what findings speak of: not everything is an object of git.
    pub(crate) fn see_findings(&mut self, report: &ClusterReport) {
        for finding in &report.findings {
            self.tiers.extend(finding.tier.iter().map(ToString::to_string));
            self.objects
                .extend(finding.object.iter().chain(&finding.related).cloned());
        }
    }

    /// Suppressions of a tier or an object that no cluster has.
    pub(crate) fn unknown(&self, config: &Config) -> Vec<Finding> {
        let mut findings = Vec::new();
        for entry in &config.suppress {
            let named = [
                ("a tier", &entry.tier, &self.tiers),
                ("an object", &entry.object, &self.objects),
            ];
            for (what, name, known) in named {
                if let Some(name) = name.as_ref().filter(|name| !known.contains(*name)) {
                    findings.extend(unknown(what, name, known, &entry.location));
                }
            }
        }
        findings
    }
}

fn unknown(what: &str, name: &str, known: &BTreeSet<String>, location: &Location) -> Option<Finding> {
    let rule = rules::all()
        .into_iter()
        .find(|rule| rule.name == "suppression-invalid")?;
    let message = format!("no cluster has {what} `{name}`, so nothing is suppressed");
    let help = match firstpass_yaml::nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("write `{near}`, if that is meant"),
        None => match what {
            "a tier" => "tiers are written `namespace/name`".to_owned(),
            _ => "objects are written `Kind/name`, or `Kind/namespace/name` where they live in a namespace"
                .to_owned(),
        },
    };
    Some(
        Finding::new(rule.name, Severity::Error, None, message)
            .with_why("A suppression that is not understood suppresses nothing, and whoever wrote it believes that it does.")
            .with_help(help)
            .with_location(location.clone()),
    )
}

/// Whether everything that the configuration names is there.
///
/// # Errors
/// The first name that means nothing, with the nearest that does.
pub(crate) fn check(repository: &Repository) -> Result<(), Failure> {
    let config = repository.config();
    for (name, cluster) in &config.clusters {
        if let Some(version) = &cluster.kubernetes {
            kubernetes_version(version).map_err(|problem| {
                Failure::input_with_help(
                    format!("firstpass.yaml: `kubernetes` of cluster `{name}`: {problem}"),
                    nearest_version(version),
                )
            })?;
        }
    }
    base_exists(repository)?;
    suppressions_fit(repository)
}

/// Whether a text is a version of Kubernetes that is known, or the one after.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn kubernetes_version(version: &str) -> Result<(), String> {
    let mut parts = version.trim_start_matches('v').split('.');
    let minor = (parts.next() == Some("1"))
        .then(|| parts.next()?.parse::<u16>().ok())
        .flatten();
    match minor {
        None => Err(format!("`{version}` is no version of Kubernetes")),
        // A release comes every four months; somebody may be one ahead of us.
        Some(minor) if minor > KUBERNETES_MINORS.end() + 1 => {
            Err(format!("there is no Kubernetes `{version}` yet"))
        }
        Some(minor) if minor < *KUBERNETES_MINORS.start() => {
            Err(format!("nothing is known of Kubernetes `{version}`"))
        }
        Some(_) => Ok(()),
    }
}

/// What to write instead of a version that is none.
pub(crate) fn nearest_version(version: &str) -> String {
    let (oldest, newest) = KUBERNETES_MINORS.into_inner();
    let minor = version
        .trim_start_matches('v')
        .strip_prefix("1.")
        .and_then(|rest| rest.split('.').next()?.parse::<u16>().ok());
    let near = minor.map_or(newest, |minor| minor.clamp(oldest, newest));
    format!("write it like `1.{near}`; 1.{oldest} to 1.{newest} are known")
}

fn base_exists(repository: &Repository) -> Result<(), Failure> {
    let Some(overlays) = &repository.config().overlays else {
        return Ok(());
    };
    let tree = repository.tree();
    let base = RepoPath::clamped(&overlays.base);
    if tree.is_directory(&base) {
        return Ok(());
    }
    let directories: BTreeSet<String> = repository
        .files()
        .iter()
        .filter_map(|file| Some(file.parent()?.to_string()))
        .collect();
    let help = match firstpass_yaml::nearest(base.as_str(), directories.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`base` is the directory, from the root, that the clusters share".to_owned(),
    };
    Err(Failure::input_with_help(
        format!(
            "firstpass.yaml: `overlays.base`: there is no directory `{}`",
            overlays.base
        ),
        help,
    ))
}

fn suppressions_fit(repository: &Repository) -> Result<(), Failure> {
    let mut clusters: BTreeSet<String> = repository.config().clusters.keys().cloned().collect();
    clusters.extend(repository.entries().iter().map(|entry| entry.path().to_owned()));
    for entry in &repository.config().suppress {
        let Location {
            file, line, column, ..
        } = &entry.location;
        let at = format!("{file}:{line}:{column}: `suppress`");
        let cluster = entry
            .cluster
            .as_ref()
            .map(|cluster| cluster.trim_end_matches('/'));
        if let Some(unknown) = cluster.filter(|cluster| !clusters.contains(*cluster)) {
            let help = match firstpass_yaml::nearest(unknown, clusters.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "the clusters are {}",
                    clusters.iter().cloned().collect::<Vec<_>>().join(", ")
                ),
            };
            return Err(Failure::input_with_help(
                format!("{at}: there is no cluster `{unknown}`"),
                help,
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_kubernetes_are_known_or_the_next() {
        for version in ["1.25", "v1.36", "1.37.2", "1.38"] {
            assert_eq!(kubernetes_version(version), Ok(()), "{version}");
        }
        let table = [
            (
                "1.99",
                "there is no Kubernetes `1.99` yet",
                "write it like `1.37`; 1.25 to 1.37 are known",
            ),
            (
                "1.9",
                "nothing is known of Kubernetes `1.9`",
                "write it like `1.25`; 1.25 to 1.37 are known",
            ),
            (
                "latest",
                "`latest` is no version of Kubernetes",
                "write it like `1.37`; 1.25 to 1.37 are known",
            ),
        ];
        for (version, problem, help) in table {
            assert_eq!(kubernetes_version(version).unwrap_err(), problem);
            assert_eq!(nearest_version(version), help);
        }
    }
}
