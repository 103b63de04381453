//! `firstpass.yaml`: what the repository cannot say by itself (DESIGN section 4). Everything in it is optional; a key
//! that is unknown is an error that names the nearest known one.

use std::collections::BTreeMap;

use firstpass_diagnostics::{Location, Severity};
use firstpass_flux::{FluxVersion, SourceName};
use firstpass_source::{ReadError, RepoPath, Tree};
use firstpass_yaml::{Mark, Node, NodeKind};
use regex::Regex;
use serde::Deserialize;

/// The file at the root of a repository.
pub const CONFIG_FILE: &str = "firstpass.yaml";

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The clusters by name.
    #[serde(default)]
    pub clusters: BTreeMap<String, ClusterConfig>,
    /// How the clusters share a base.
    #[serde(default)]
    pub overlays: Option<Overlays>,
    /// Facts that must hold.
    #[serde(default)]
    pub invariants: Vec<Invariant>,
    /// Things whose version is written in several files.
    #[serde(default)]
    pub pins: Vec<Pin>,
    /// More knowledge files, as glob patterns from the root.
    #[serde(default)]
    pub knowledge: Vec<String>,
    /// Levels of rules.
    #[serde(default)]
    pub rules: BTreeMap<String, RuleLevel>,
    /// Findings that are accepted.
    #[serde(default)]
    pub suppress: Vec<SuppressConfig>,
    /// Where each of `rules` is written.
    #[serde(skip)]
    pub rule_places: BTreeMap<String, Location>,
}

/// Findings of one rule that are accepted where everything that is given fits.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuppressConfig {
    /// The rule.
    pub rule: String,
    /// The files in which they are shown, as a glob pattern from the root.
    #[serde(default)]
    pub file: Option<String>,
    /// Their tier, as `namespace/name`.
    #[serde(default)]
    pub tier: Option<String>,
    /// Their object, as `Kind/name` or `Kind/namespace/name`.
    #[serde(default)]
    pub object: Option<String>,
    /// Their cluster: its entry, or its name under `clusters`.
    #[serde(default)]
    pub cluster: Option<String>,
    /// Why they are accepted.
    pub reason: String,
    /// Where this is written.
    #[serde(skip, default = "nowhere")]
    pub location: Location,
}

fn nowhere() -> Location {
    Location::new(CONFIG_FILE, 0, 0)
}

/// One cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterConfig {
    /// The cluster entry, from the root.
    pub path: String,
    /// Minor version of Kubernetes.
    #[serde(default)]
    pub kubernetes: Option<String>,
    /// Version of Flux.
    #[serde(default)]
    pub flux: Option<String>,
    /// Placeholders are information, not errors.
    #[serde(default)]
    pub design_only: bool,
    /// What is there before Flux.
    #[serde(default)]
    pub baseline: BaselineConfig,
    /// Other sources at hand, by `Kind/namespace/name`.
    #[serde(default)]
    pub sources: BTreeMap<String, LocalSource>,
}

/// What is there before Flux's first pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineConfig {
    /// The distribution of Kubernetes.
    #[serde(default)]
    pub distribution: Option<Distribution>,
    /// Files read as what is seeded before Flux.
    #[serde(default)]
    pub bootstrap: Vec<String>,
    /// Files of objects that exist before Flux, as glob patterns.
    #[serde(default)]
    pub manifests: Vec<String>,
    /// Secrets and ConfigMaps that exist only in the cluster, by `namespace/name`: their keys.
    #[serde(default)]
    pub secrets: BTreeMap<String, Vec<String>>,
    /// The nodes, by name. Without any nobody knows what they are like.
    #[serde(default)]
    pub nodes: BTreeMap<String, NodeConfig>,
}

/// A node of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeConfig {
    /// Its labels. `kubernetes.io/os` is `linux` and `kubernetes.io/hostname` its name unless they say otherwise.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Its taints, as `kubectl taint` writes them: `key=value:NoSchedule` or `key:NoExecute`.
    #[serde(default)]
    pub taints: Vec<Taint>,
}

/// What keeps pods off a node that do not tolerate it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value; empty for none.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

impl TryFrom<String> for Taint {
    type Error = String;

    fn try_from(text: String) -> Result<Taint, String> {
        let (head, effect) = text.rsplit_once(':').unwrap_or((&text, ""));
        let (key, value) = head.split_once('=').unwrap_or((head, ""));
        if key.is_empty() || !["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect) {
            return Err(format!(
                "`{text}` is no taint; write it like `key=value:NoSchedule` or `key:NoExecute`"
            ));
        }
        Ok(Taint {
            key: key.to_owned(),
            value: value.to_owned(),
            effect: effect.to_owned(),
        })
    }
}

/// Distributions of Kubernetes that differ in what they bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "they are names")]
pub enum Distribution {
    K3s,
    Talos,
    Kind,
    Kubeadm,
    Eks,
    Gke,
    Aks,
    None,
}

/// A source that is at hand as a directory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalSource {
    /// The directory, from the root; it may lie outside.
    pub path: String,
}

/// How the clusters share a base.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlays {
    /// The directory that authors the graph once.
    pub base: String,
    /// The object that holds the values, as `Kind/namespace/name`.
    #[serde(default)]
    pub vars: Option<String>,
    /// Fields of Flux Kustomizations that an overlay may patch.
    #[serde(default)]
    pub may_patch: Vec<String>,
}

/// A fact that must hold.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invariant {
    /// Its name.
    pub name: String,
    /// A CEL expression.
    pub expr: String,
    /// What is wrong when it does not hold.
    pub message: String,
    /// How bad that is.
    #[serde(default)]
    pub severity: Option<Severity>,
    /// Where the expression is written.
    #[serde(skip)]
    pub location: Option<Location>,
}

/// One thing, such as the version of Kubernetes, that several files state and that has to be the same in all of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// What it is, for people.
    pub name: String,
    /// Where it is written.
    pub places: Vec<PinPlace>,
}

/// One place of a pin.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinPlace {
    /// The file from the root, or a glob pattern.
    pub file: String,
    /// A regular expression; its first group is the value, without a group the whole match.
    pub pattern: String,
    /// Where the pattern is written.
    #[serde(skip)]
    pub location: Option<Location>,
}

/// Level of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleLevel {
    /// Not looked at.
    Off,
    /// Information.
    Info,
    /// Warning.
    Warning,
    /// Error.
    Error,
}

/// Why the configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", self.prefix())]
pub struct ConfigError {
    /// Where; none if the file could not be read at all.
    pub location: Option<Location>,
    /// What is wrong.
    pub message: String,
}

impl Config {
    /// Reads [`CONFIG_FILE`] at the root of a tree; without the file, everything is at its default.
    ///
    /// # Errors
    /// If the file is there and cannot be used.
    pub fn read(tree: &dyn Tree) -> Result<Config, ConfigError> {
        let path = RepoPath::clamped(CONFIG_FILE);
        match tree.read(&path) {
            Ok(bytes) => Config::parse(&bytes, path.as_str()),
            Err(ReadError::NotFound(_)) => Ok(Config::default()),
            Err(error) => Err(ConfigError {
                location: None,
                message: error.to_string(),
            }),
        }
    }

    /// Reads the text of a configuration file. `file` is what the file is called in errors.
    ///
    /// # Errors
    /// The first thing in it that cannot be used, with its place.
    pub fn parse(bytes: &[u8], file: &str) -> Result<Config, ConfigError> {
        let error = |mark: Mark, message: String| ConfigError {
            location: Some(Location::new(file, mark.line.max(1), mark.column.max(1))),
            message,
        };
        let text = firstpass_yaml::decode(bytes).map_err(|e| error(e.mark, e.message))?;
        let root = firstpass_yaml::parse_one(&text).map_err(|e| error(e.mark, e.message))?;
        let mut config: Config = firstpass_yaml::from_node(&root).map_err(|e| {
            let at = if e.path.is_empty() {
                String::new()
            } else {
                format!("`{}`: ", e.path)
            };
            error(e.mark, format!("{at}{}", e.message))
        })?;
        for (name, cluster) in &config.clusters {
            let place = |keys: &[&str]| root.at(keys).map_or(Mark::NONE, |node| node.mark);
            if let Some(flux) = &cluster.flux {
                flux.parse::<FluxVersion>()
                    .map_err(|e| error(place(&["clusters", name, "flux"]), e.to_string()))?;
            }
            for source in cluster.sources.keys() {
                source
                    .parse::<SourceName>()
                    .map_err(|e| error(place(&["clusters", name, "sources", source]), e))?;
            }
            for secret in cluster.baseline.secrets.keys() {
                if secret.split('/').filter(|part| !part.is_empty()).count() != 2 {
                    let place = place(&["clusters", name, "baseline", "secrets", secret]);
                    return Err(error(place, format!("`{secret}` is no namespace/name")));
                }
            }
        }
        config.place(&root, file)?;
        config.place_rules_and_suppressions(&root, file)?;
        Ok(config)
    }

    /// Remembers where levels and suppressions are written, and checks that the latter are about something.
    fn place_rules_and_suppressions(&mut self, root: &Node, file: &str) -> Result<(), ConfigError> {
        let at = |mark: Mark| Location::new(file, mark.line.max(1), mark.column.max(1));
        for name in self.rules.keys() {
            let rules = root.at(&["rules"]).and_then(Node::as_map);
            let mark = rules.and_then(|rules| Some(rules.key(name)?.mark));
            self.rule_places
                .insert(name.clone(), at(mark.unwrap_or(Mark::NONE)));
        }
        let entries = root.at(&["suppress"]).and_then(Node::as_seq);
        for (entry, node) in self.suppress.iter_mut().zip(entries.into_iter().flatten()) {
            entry.location = at(node.mark);
            if entry.file.is_none() && entry.tier.is_none() && entry.object.is_none() {
                return Err(ConfigError {
                    location: Some(at(node.mark)),
                    message: format!(
                        "the suppression of `{rule}` says nowhere what it is about: give `file`, `tier` or `object`, or \
                         turn the rule off with `rules: {{{rule}: off}}`",
                        rule = entry.rule
                    ),
                });
            }
        }
        Ok(())
    }

    /// Remembers where expressions and patterns are written, for findings about them.
    fn place(&mut self, root: &Node, file: &str) -> Result<(), ConfigError> {
        let at = |keys: &[&str]| {
            let step = |node: &Node, key: &&str| match &node.kind {
                NodeKind::Seq(items) => items.get(key.parse::<usize>().ok()?).cloned(),
                _ => node.get(key).cloned(),
            };
            let found = keys.iter().try_fold(root.clone(), |node, key| step(&node, key));
            let mark = found.map_or(Mark::NONE, |node| node.mark);
            Location::new(file, mark.line.max(1), mark.column.max(1))
        };
        for (index, invariant) in self.invariants.iter_mut().enumerate() {
            invariant.location = Some(at(&["invariants", &index.to_string(), "expr"]));
        }
        for (index, pin) in self.pins.iter_mut().enumerate() {
            for (place, of_pin) in pin.places.iter_mut().enumerate() {
                let location = at(&[
                    "pins",
                    &index.to_string(),
                    "places",
                    &place.to_string(),
                    "pattern",
                ]);
                if let Err(error) = Regex::new(&of_pin.pattern) {
                    let text = error.to_string();
                    let last = text.lines().last().unwrap_or_default();
                    return Err(ConfigError {
                        location: Some(location),
                        message: format!("`{}` is no regular expression: {last}", of_pin.pattern),
                    });
                }
                of_pin.location = Some(location);
            }
        }
        Ok(())
    }
}

impl ConfigError {
    fn prefix(&self) -> String {
        match &self.location {
            Some(location) => format!("{}:{}:{}: ", location.file, location.line, location.column),
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text.as_bytes(), CONFIG_FILE).map_err(|error| error.to_string())
    }

    #[test]
    fn the_whole_format_is_read() {
        let config = parse(
            r#"
clusters:
  dev: {path: clusters/dev}
  prod:
    path: clusters/prod
    kubernetes: "1.36"
    flux: "2.9"
    baseline:
      distribution: k3s
      bootstrap: [bootstrap/helmfile.yaml]
      secrets: {flux-system/cluster-secrets: [SECRET_DOMAIN]}
    sources: {GitRepository/flux-system/infra: {path: ../infra}}
overlays: {base: clusters/base, vars: ConfigMap/flux-system/cluster-vars, may_patch: [spec.decryption]}
invariants:
  - {name: vip, expr: "true", message: no}
pins:
  - {name: Kubernetes, places: [{file: a.yaml, pattern: "v1[.]([0-9]+)"}]}
knowledge: [knowledge/*.yaml]
rules: {remote-base: warning}
"#,
        )
        .unwrap();
        assert_eq!(
            config.clusters["prod"].baseline.distribution,
            Some(Distribution::K3s)
        );
        assert_eq!(config.rules["remote-base"], RuleLevel::Warning);
        assert_eq!(parse(""), Ok(Config::default()));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let table = [
            (
                "rules: {remote-base: warning}\nrules: {}",
                "firstpass.yaml:2:1: the key `rules` is there twice, first in line 1",
            ),
            (
                "cluster: {}",
                "firstpass.yaml:1:1: unknown key `cluster`; did you mean `clusters`?",
            ),
            (
                "clusters:\n  prod: {path: a, flux: latest}",
                "firstpass.yaml:2:25: `latest` is no version of Flux 2; write it like `2.9` or `2.9.4`",
            ),
            (
                "suppress:\n  - {rule: remote-base, reason: so}",
                "firstpass.yaml:2:5: the suppression of `remote-base` says nowhere what it is about: give `file`, `tier` or \
                 `object`, or turn the rule off with `rules: {remote-base: off}`",
            ),
            (
                "clusters: {prod: {path: a, sources: {GitRepository/infra: {path: b}}}}",
                "firstpass.yaml:1:59: `GitRepository/infra` is no Kind/namespace/name of a source",
            ),
        ];
        let broken = parse("pins: [{name: a, places: [{file: b, pattern: '(x'}]}]").unwrap_err();
        assert!(
            broken.starts_with("firstpass.yaml:1:46: `(x` is no regular expression"),
            "{broken}"
        );
        for (text, message) in table {
            assert_eq!(parse(text).unwrap_err(), message);
        }
    }
}
