//! Sources: where artifacts come from (F-900 to F-912).

use std::fmt;
use std::str::FromStr;

use firstpass_object::{ObjectExt, ObjectId, group_of};
use serde_json::Value;

use crate::fields::read_object;
use crate::{Duration, Read, names};

/// Kinds of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceKind {
    /// A git repository.
    GitRepository,
    /// An OCI artifact.
    OciRepository,
    /// An object store.
    Bucket,
    /// An artifact that something else puts together.
    ExternalArtifact,
    /// An index of charts.
    HelmRepository,
    /// One chart.
    HelmChart,
}

/// A source by kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceName {
    /// Kind of the source.
    pub kind: SourceKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What of a source object matters to rendering and rehearsing.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Kind, namespace, name; the namespace is empty if the object states none.
    pub name: SourceName,
    /// The `apiVersion` that it is written in.
    pub api_version: String,
    /// `spec.url`, for the kinds that have one.
    pub url: Option<String>,
    /// Time between fetches.
    pub interval: Option<Duration>,
    /// Limit of one fetch.
    pub timeout: Option<Duration>,
    /// Not fetched.
    pub suspend: bool,
    /// Patterns of files that are left out, in the syntax of `.gitignore` (F-906).
    pub ignore: Option<String>,
    /// `spec.ref` as written: branch, tag, semver, name, commit, digest.
    pub reference: Vec<(String, String)>,
    /// `spec.type` of a HelmRepository is `oci`: it is never fetched and always ready.
    pub oci_index: bool,
    /// Other GitRepositories that are copied in, with their target paths (F-909).
    pub include: Vec<(String, Option<String>)>,
    /// Secret with credentials.
    pub secret_ref: Option<String>,
    /// Chart name and version of a HelmChart.
    pub chart: Option<(String, Option<String>)>,
    /// `spec.sourceRef` of a HelmChart, which lives in its own namespace.
    pub chart_source: Option<SourceName>,
}

impl SourceKind {
    /// The kinds that a Kustomization's `sourceRef` may name.
    pub(crate) const FOR_KUSTOMIZATIONS: &'static [(&'static str, SourceKind)] = &[
        ("GitRepository", SourceKind::GitRepository),
        ("OCIRepository", SourceKind::OciRepository),
        ("Bucket", SourceKind::Bucket),
        ("ExternalArtifact", SourceKind::ExternalArtifact),
    ];

    /// All kinds.
    pub const ALL: [SourceKind; 6] = [
        SourceKind::GitRepository,
        SourceKind::OciRepository,
        SourceKind::Bucket,
        SourceKind::ExternalArtifact,
        SourceKind::HelmRepository,
        SourceKind::HelmChart,
    ];

    /// The kind as the API spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            SourceKind::GitRepository => "GitRepository",
            SourceKind::OciRepository => "OCIRepository",
            SourceKind::Bucket => "Bucket",
            SourceKind::ExternalArtifact => "ExternalArtifact",
            SourceKind::HelmRepository => "HelmRepository",
            SourceKind::HelmChart => "HelmChart",
        }
    }
}

impl SourceName {
    /// The object's identity.
    pub fn id(&self) -> ObjectId {
        ObjectId::new(
            names::SOURCE_GROUP,
            self.kind.as_str(),
            Some(&self.namespace),
            &self.name,
        )
    }
}

impl Source {
    /// Reads the object; `None` if it is no source.
    pub fn read(object: &Value) -> Option<Read<Source>> {
        if group_of(object.api_version()) != names::SOURCE_GROUP {
            return None;
        }
        let kind: SourceKind = object.kind().parse().ok()?;
        Some(read_object(object, |fields| {
            let spec = fields.map("spec");
            let reference = spec.map("ref");
            let words = ["digest", "commit", "name", "semver", "tag", "branch"];
            let namespace = object.namespace().unwrap_or_default().to_owned();
            let chart_source = spec.map("sourceRef");
            Source {
                name: SourceName {
                    kind,
                    namespace: namespace.clone(),
                    name: object.name().to_owned(),
                },
                api_version: object.api_version().to_owned(),
                url: spec.text("url"),
                interval: spec.duration("interval"),
                timeout: spec.duration("timeout"),
                suspend: spec.flag("suspend").unwrap_or_default(),
                ignore: spec.text("ignore"),
                reference: words
                    .iter()
                    .filter_map(|word| Some(((*word).to_owned(), reference.text(word)?)))
                    .collect(),
                oci_index: spec.value("type").and_then(Value::as_str) == Some("oci"),
                include: spec
                    .list("include")
                    .iter()
                    .map(|include| {
                        (
                            include.map("repository").required_text("name"),
                            include.text("toPath"),
                        )
                    })
                    .collect(),
                secret_ref: spec.map("secretRef").text("name"),
                chart: (kind == SourceKind::HelmChart)
                    .then(|| (spec.required_text("chart"), spec.text("version"))),
                chart_source: chart_source
                    .text("kind")
                    .and_then(|kind| kind.parse().ok())
                    .map(|kind| SourceName {
                        kind,
                        namespace,
                        name: chart_source.required_text("name"),
                    }),
            }
        }))
    }
}

impl FromStr for SourceKind {
    type Err = String;

    fn from_str(text: &str) -> Result<SourceKind, String> {
        SourceKind::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| format!("`{text}` is no kind of source"))
    }
}

/// `GitRepository/flux-system/infra`, as configuration files write sources.
impl FromStr for SourceName {
    type Err = String;

    fn from_str(text: &str) -> Result<SourceName, String> {
        let mut parts = text.split('/');
        let (Some(kind), Some(namespace), Some(name), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(format!("`{text}` is no Kind/namespace/name of a source"));
        };
        Ok(SourceName {
            kind: kind.parse()?,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Display for SourceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}/{}", self.kind, self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sources_of_every_kind_are_read() {
        let object = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1beta2", "kind": "OCIRepository",
            "metadata": {"name": "app", "namespace": "flux-system"},
            "spec": {"url": "oci://example.com/app", "interval": "5m", "ref": {"tag": "1.0", "digest": "sha256:1"}},
        });
        let source = Source::read(&object).unwrap().value;
        assert_eq!(source.name.to_string(), "OCIRepository/flux-system/app");
        assert_eq!(source.reference[0], ("digest".to_owned(), "sha256:1".to_owned()));
        assert!(Source::read(&json!({"apiVersion": "v1", "kind": "Secret"})).is_none());
    }

    #[test]
    fn names_print_and_parse() {
        let name: SourceName = "GitRepository/flux-system/infra".parse().unwrap();
        assert_eq!(name.to_string().parse(), Ok(name));
        assert!("GitRepository/infra".parse::<SourceName>().is_err());
        assert!("Folder/a/b".parse::<SourceName>().is_err());
    }
}
