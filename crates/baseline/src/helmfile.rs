//! Helmfiles: what a bootstrap stage installs before Flux.
//!
//! Only the state file is read, never run. Parts in Go templates stay unknown, and the release says so: a chart that
//! only a template names is looked up under the HelmRelease of the same name, which is where such templates take it
//! from.

use firstpass_source::{RepoPath, Tree};
use firstpass_yaml::{Node, decode, parse_all};
use serde_json::{Map, Value};

use crate::values::merge;

/// How many files one helmfile may draw in.
const FILES_MAX: usize = 50;

/// One state file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Helmfile {
    /// The file, relative to the root.
    pub file: String,
    /// Its releases in the order in which they are installed: `needs` first.
    pub releases: Vec<HelmfileRelease>,
}

/// One release of a helmfile.
#[derive(Clone, Debug, PartialEq)]
pub struct HelmfileRelease {
    /// Its name.
    pub name: String,
    /// Its namespace; `default` if nothing says it.
    pub namespace: String,
    /// The chart with repository aliases resolved; `None` if only a template names it.
    pub chart: Option<String>,
    /// The version, if it is written out.
    pub version: Option<String>,
    /// Its values, as far as they are written out.
    pub values: Value,
    /// Whether `values` is all there is.
    pub values_complete: bool,
    /// Only its CRDs are applied.
    pub crds_only: bool,
    /// The line of its entry.
    pub line: u32,
    needs: Vec<String>,
}

impl Helmfile {
    /// Reads a state file, with the `bases` that it draws in. A file that is no helmfile at all gives no release.
    pub fn read(tree: &dyn Tree, file: &RepoPath) -> Helmfile {
        let mut reader = Reader {
            tree,
            files_left: FILES_MAX,
        };
        let state = reader.state(file);
        let directory = file.parent().unwrap_or_default();
        let mut releases: Vec<HelmfileRelease> = state
            .releases
            .iter()
            .filter(|(entry, _)| entry.get("installed") != Some(&Value::Bool(false)))
            .filter_map(|(entry, line)| state.release(tree, &directory, entry, *line))
            .collect();
        order_by_needs(&mut releases);
        Helmfile {
            file: file.as_str().to_owned(),
            releases,
        }
    }
}

/// What a state file and its bases say, merged.
#[derive(Default)]
struct State {
    releases: Vec<(Value, u32)>,
    repositories: Vec<(String, String)>,
    templates: Map<String, Value>,
    default_inherit: Vec<String>,
    crds_only: bool,
}

struct Reader<'t> {
    tree: &'t dyn Tree,
    files_left: usize,
}

impl Reader<'_> {
    fn state(&mut self, file: &RepoPath) -> State {
        let mut state = State::default();
        let Some(left) = self.files_left.checked_sub(1) else {
            return state;
        };
        self.files_left = left;
        let Ok(bytes) = self.tree.read(file) else {
            return state;
        };
        let Ok(text) = decode(&bytes) else { return state };
        for document in documents(&text) {
            self.document(&mut state, file, &document);
        }
        state
    }

    fn document(&mut self, state: &mut State, file: &RepoPath, root: &Node) {
        let directory = file.parent().unwrap_or_default();
        for base in texts(root, "bases") {
            if let Ok(path) = directory.join(&base) {
                let base = self.state(&path);
                state.repositories.extend(base.repositories);
                state.templates.extend(base.templates);
                state.default_inherit.extend(base.default_inherit);
                state.crds_only |= base.crds_only;
                state.releases.extend(base.releases);
            }
        }
        for entry in root.get("helmfiles").and_then(Node::as_seq).into_iter().flatten() {
            let path = entry
                .as_str()
                .or_else(|| entry.get("path").and_then(Node::as_str));
            if let Some(path) = path.and_then(|path| directory.join(path).ok()) {
                state.releases.extend(self.state(&path).releases);
            }
        }
        for entry in root
            .get("repositories")
            .and_then(Node::as_seq)
            .into_iter()
            .flatten()
        {
            let text = |key| entry.get(key).and_then(Node::as_str);
            if let (Some(name), Some(url)) = (text("name"), text("url")) {
                let oci = entry.get("oci").and_then(Node::as_text) == Some("true");
                let url = if oci && !url.contains("://") {
                    format!("oci://{url}")
                } else {
                    url.to_owned()
                };
                state.repositories.push((name.to_owned(), url));
            }
        }
        if let Some(Ok(Value::Object(templates))) = root.get("templates").map(Node::to_json) {
            state.templates.extend(templates);
        }
        let arguments = root
            .get("helmDefaults")
            .map(|defaults| texts(defaults, "args"))
            .unwrap_or_default();
        state.crds_only |= arguments.iter().any(|argument| argument == "--include-crds");
        state.default_inherit.extend(
            root.get("defaultInherit")
                .and_then(Node::as_str)
                .map(str::to_owned),
        );
        state.default_inherit.extend(texts(root, "defaultInherit"));
        for entry in root.get("releases").and_then(Node::as_seq).into_iter().flatten() {
            if let Ok(value) = entry.to_json() {
                state.releases.push((value, entry.mark.line));
            }
        }
        for entry in root
            .get("helmCharts")
            .and_then(Node::as_seq)
            .into_iter()
            .flatten()
        {
            if let Some(release) = entry.to_json().ok().and_then(|chart| inflated(&chart)) {
                state.releases.push((release, entry.mark.line));
            }
        }
    }
}

/// A chart that a kustomization file inflates, in the words of a helmfile. Some bootstraps render charts in this way and
/// apply the result by hand.
fn inflated(chart: &Value) -> Option<Value> {
    let text = |key: &str| chart.get(key).and_then(Value::as_str);
    let name = text("name")?;
    let reference = match text("repo") {
        Some(repository) => format!("{}/{name}", repository.trim_end_matches('/')),
        None => name.to_owned(),
    };
    let values = ["valuesFile", "valuesInline"]
        .iter()
        .filter_map(|key| chart.get(*key))
        .chain(list(chart, "additionalValuesFiles"));
    let values: Vec<&Value> = values.collect();
    Some(serde_json::json!({
        "name": text("releaseName").unwrap_or(name),
        "namespace": text("namespace").unwrap_or("default"),
        "chart": reference,
        "version": text("version"),
        "values": values,
    }))
}

impl State {
    fn release(
        &self,
        tree: &dyn Tree,
        directory: &RepoPath,
        entry: &Value,
        line: u32,
    ) -> Option<HelmfileRelease> {
        let mut merged = Value::Object(Map::new());
        let own = entry
            .get("inherit")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        let own = own.iter().filter_map(|inherit| inherit.get("template")?.as_str());
        for template in self.default_inherit.iter().map(String::as_str).chain(own) {
            if let Some(template) = self.templates.get(template) {
                merge(&mut merged, template.clone(), 0);
            }
        }
        merge(&mut merged, entry.clone(), 0);

        let text = |key: &str| {
            merged
                .get(key)
                .and_then(Value::as_str)
                .filter(|text| !is_templated(text))
        };
        let (values, values_complete) = values_of(tree, directory, &merged);
        Some(HelmfileRelease {
            name: text("name")?.to_owned(),
            namespace: text("namespace").unwrap_or("default").to_owned(),
            chart: text("chart").map(|chart| self.resolve(chart)),
            version: text("version").map(str::to_owned),
            values,
            values_complete,
            crds_only: self.crds_only,
            line,
            needs: list(&merged, "needs")
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        })
    }

    /// `alias/chart` with the alias replaced by the URL of the repository.
    fn resolve(&self, chart: &str) -> String {
        let aliased = chart.split_once('/').and_then(|(alias, name)| {
            let (_, url) = self.repositories.iter().find(|(known, _)| known == alias)?;
            Some(format!("{}/{name}", url.trim_end_matches('/')))
        });
        aliased.unwrap_or_else(|| chart.to_owned())
    }
}

/// The documents of a state file. One whose templates make it unreadable is read without its template lines.
fn documents(text: &str) -> Vec<Node> {
    let parsed = parse_all(text).or_else(|_| parse_all(&without_templates(text)));
    parsed
        .unwrap_or_default()
        .into_iter()
        .map(|document| document.root)
        .collect()
}

/// Lines that are nothing but template actions become empty, actions inside a line become a plain word that counts as
/// templated. Line numbers stay.
fn without_templates(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for line in text.lines() {
        let trimmed = line.trim();
        let only_template = trimmed.starts_with("{{") && trimmed.ends_with("}}");
        let mut rest = if only_template { "" } else { line };
        while let Some((head, tail)) = rest.split_once("{{") {
            result.push_str(head);
            result.push_str(TEMPLATED);
            rest = tail.split_once("}}").map_or("", |(_, tail)| tail);
        }
        result.push_str(rest);
        result.push('\n');
    }
    result
}

/// Stands for a template action in a text whose actions were cut out.
const TEMPLATED: &str = "__templated__";

fn is_templated(text: &str) -> bool {
    text.contains("{{") || text.contains(TEMPLATED)
}

fn values_of(tree: &dyn Tree, directory: &RepoPath, entry: &Value) -> (Value, bool) {
    let mut values = Value::Object(Map::new());
    let mut complete = list(entry, "secrets").next().is_none();
    for item in list(entry, "values") {
        match item {
            Value::String(path) if !is_templated(path) && !path.ends_with(".gotmpl") => {
                let read = directory.join(path).ok().and_then(|path| tree.read(&path).ok());
                let parsed = read.and_then(|bytes| {
                    let text = decode(&bytes).ok()?;
                    firstpass_yaml::parse_one(&text).ok()?.to_json().ok()
                });
                match parsed {
                    Some(more) => merge(&mut values, more, 0),
                    None => complete = false,
                }
            }
            Value::Object(_) => merge(&mut values, item.clone(), 0),
            _ => complete = false,
        }
    }
    for item in list(entry, "set") {
        let path = item.get("name").and_then(Value::as_str);
        if let (Some(path), Some(value)) = (path, item.get("value")) {
            let nested = path.rsplit('.').fold(value.clone(), |inner, key| {
                Value::Object(Map::from_iter([(key.to_owned(), inner)]))
            });
            merge(&mut values, nested, 0);
        }
    }
    (values, complete)
}

/// Puts a release after those that it needs, otherwise keeps the order of the file. A cycle, which helmfile refuses, is
/// broken where it is met.
fn order_by_needs(releases: &mut Vec<HelmfileRelease>) {
    let mut placed: Vec<HelmfileRelease> = Vec::with_capacity(releases.len());
    while !releases.is_empty() {
        let ready = releases.iter().position(|release| {
            release
                .needs
                .iter()
                .all(|need| releases.iter().all(|other| !is_needed(other, need)))
        });
        placed.push(releases.remove(ready.unwrap_or(0)));
    }
    *releases = placed;
}

/// `needs` names a release as `name`, `namespace/name` or `context/namespace/name`.
fn is_needed(release: &HelmfileRelease, need: &str) -> bool {
    let mut parts = need.rsplit('/');
    parts.next() == Some(&release.name)
        && parts
            .next()
            .is_none_or(|namespace| namespace == release.namespace)
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn texts(node: &Node, key: &str) -> Vec<String> {
    let items = node.get(key).and_then(Node::as_seq).into_iter().flatten();
    items.filter_map(Node::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(fixture: &str) -> Helmfile {
        Helmfile::read(
            &firstpass_testing::tree(fixture),
            &RepoPath::clamped("bootstrap/helmfile.yaml"),
        )
    }

    #[test]
    fn charts_that_a_kustomization_file_inflates_count_as_releases() {
        let tree = firstpass_testing::tree(
            r"
--- bootstrap/cilium/kustomization.yaml
helmCharts:
  - name: cilium
    namespace: kube-system
    releaseName: cilium
    repo: https://helm.cilium.io/
    valuesFile: values.yaml
    version: 1.20.1
--- bootstrap/cilium/values.yaml
l2announcements: {enabled: true}
",
        );
        let helmfile = Helmfile::read(&tree, &RepoPath::clamped("bootstrap/cilium/kustomization.yaml"));
        let release = &helmfile.releases[0];
        assert_eq!(release.chart.as_deref(), Some("https://helm.cilium.io/cilium"));
        assert_eq!(release.namespace, "kube-system");
        assert_eq!(release.values, json!({"l2announcements": {"enabled": true}}));
    }

    #[test]
    fn releases_come_in_the_order_of_their_needs() {
        let helmfile = read(
            "
--- bootstrap/helmfile.yaml
repositories:
  - {name: jetstack, url: https://charts.example.com}
releases:
  - name: flux
    namespace: flux-system
    chart: oci://registry.example.com/flux
    needs: [kube-system/cni, dns]
  - {name: dns, namespace: kube-system, chart: jetstack/coredns, version: 1.2.3, needs: [kube-system/cni]}
  - {name: cni, namespace: kube-system, chart: ./charts/cni}
  - {name: old, chart: x/y, installed: false}
",
        );
        let names: Vec<_> = helmfile
            .releases
            .iter()
            .map(|release| release.name.as_str())
            .collect();
        assert_eq!(names, ["cni", "dns", "flux"]);
        assert_eq!(
            helmfile.releases[1].chart.as_deref(),
            Some("https://charts.example.com/coredns")
        );
        assert_eq!(helmfile.releases[1].line, 8);
    }

    #[test]
    fn templates_leave_gaps_not_errors() {
        let helmfile = read(
            "
--- bootstrap/helmfile.yaml
bases: [default.yaml]
defaultInherit: default
helmDefaults: {args: [--include-crds]}
releases:
{{ range .Values.releases }}
  - name: monitoring
    namespace: {{ .Namespace }}
{{ end }}
--- bootstrap/default.yaml
templates:
  default:
    chart: '{{ fromYaml (readFile \"x\") }}'
    values: [./values.yaml.gotmpl]
",
        );
        let [release] = helmfile.releases.as_slice() else {
            panic!("{helmfile:?}")
        };
        assert_eq!(
            (release.name.as_str(), release.chart.as_deref()),
            ("monitoring", None)
        );
        assert!(release.crds_only && !release.values_complete);
    }

    #[test]
    fn values_come_from_files_maps_and_sets() {
        let helmfile = read(
            "
--- bootstrap/helmfile.yaml
releases:
  - name: a
    chart: r/a
    values: [values/a.yaml, {b: {c: 2}}]
    set: [{name: b.d, value: true}]
--- bootstrap/values/a.yaml
b: {c: 1}
e: 5
",
        );
        assert_eq!(
            helmfile.releases[0].values,
            json!({"b": {"c": 2, "d": true}, "e": 5})
        );
        assert!(helmfile.releases[0].values_complete);
    }

    #[test]
    fn a_helmfile_that_draws_in_itself_ends() {
        let helmfile = read(
            "
--- bootstrap/helmfile.yaml
helmfiles: [helmfile.yaml]
releases: [{name: a, chart: r/a}]
",
        );
        assert!(!helmfile.releases.is_empty());
    }
}
