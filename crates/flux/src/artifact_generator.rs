//! source-watcher's ArtifactGenerator: artifacts put together from parts of other sources (F-904).

use firstpass_object::{ObjectExt, group_of};
use serde_json::Value;

use crate::fields::{Fields, read_object};
use crate::{Read, SourceKind, SourceName, names};

/// An ArtifactGenerator: each of its artifacts becomes an ExternalArtifact of the same namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactGenerator {
    /// Namespace of the generator and its artifacts.
    pub namespace: String,
    /// Name of the generator.
    pub name: String,
    /// What is copied from.
    pub sources: Vec<GeneratorSource>,
    /// What is put together.
    pub artifacts: Vec<Artifact>,
}

/// One entry of `sources`; the namespace is filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratorSource {
    /// The word after `@` that copy rules use.
    pub alias: String,
    /// The source; `None` if the kind is unknown.
    pub source: Option<SourceName>,
}

/// One entry of `artifacts`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Name of the ExternalArtifact.
    pub name: String,
    /// `@alias` whose revision the artifact takes over.
    pub revision: Option<String>,
    /// Copy rules, in order.
    pub copy: Vec<Copy>,
}

/// One copy rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// `@alias/glob`.
    pub from: String,
    /// `@artifact/path`.
    pub to: String,
    /// Globs that are left out.
    pub exclude: Vec<String>,
    /// `Overwrite` (default), `Merge` or `Extract`.
    pub strategy: Option<String>,
}

impl ArtifactGenerator {
    /// Whether an object is an ArtifactGenerator.
    pub fn is(object: &Value) -> bool {
        object.kind() == names::ARTIFACT_GENERATOR
            && group_of(object.api_version()) == names::SOURCE_EXTENSIONS_GROUP
    }

    /// Reads the object.
    pub fn read(object: &Value) -> Read<ArtifactGenerator> {
        let namespace = object.namespace().unwrap_or_default();
        read_object(object, |fields| {
            let spec = fields.map("spec");
            ArtifactGenerator {
                namespace: namespace.to_owned(),
                name: object.name().to_owned(),
                sources: spec
                    .list("sources")
                    .iter()
                    .map(|fields| generator_source(fields, namespace))
                    .collect(),
                artifacts: spec.list("artifacts").iter().map(artifact).collect(),
            }
        })
    }
}

fn generator_source(fields: &Fields<'_>, namespace: &str) -> GeneratorSource {
    let kind = fields.required_text("kind").parse::<SourceKind>().ok();
    let name = fields.required_text("name");
    let namespace = fields.text("namespace").unwrap_or_else(|| namespace.to_owned());
    GeneratorSource {
        alias: fields.required_text("alias"),
        source: kind.map(|kind| SourceName {
            kind,
            namespace,
            name,
        }),
    }
}

fn artifact(fields: &Fields<'_>) -> Artifact {
    Artifact {
        name: fields.required_text("name"),
        revision: fields.text("revision"),
        copy: fields.list("copy").iter().map(copy).collect(),
    }
}

fn copy(fields: &Fields<'_>) -> Copy {
    Copy {
        from: fields.required_text("from"),
        to: fields.required_text("to"),
        exclude: fields.texts("exclude"),
        strategy: fields.text("strategy"),
    }
}
