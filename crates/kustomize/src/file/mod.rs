//! The kustomization file: what it may say, and reading it.
//!
//! [`KustomizationFile::read`] holds a text to kustomize's own rules. [`KustomizationFile::read_leniently`] does what
//! Flux does with the root of a build before it hands it on, rewritten, to kustomize (F-805).

mod fields;
pub(crate) mod read;

use std::collections::BTreeMap;

use firstpass_source::{RepoPath, Tree};
use firstpass_yaml::Mark;

use crate::Error;
use crate::resid::ResId;

pub use crate::fieldspec::FieldSpec;
pub(crate) use fields::{API_VERSIONS, config_map_args, secret_args};
pub use read::Located;

/// The names under which a directory may hold its kustomization file (F-800).
pub const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// What a kustomization file says, deprecated spellings already moved to where they belong today.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KustomizationFile {
    /// `apiVersion`; empty if the file does not say.
    pub api_version: String,
    /// `kind`: `Kustomization` or `Component`; empty means the former.
    pub kind: String,
    /// `metadata`, which only plugins look at.
    pub metadata: Option<Metadata>,
    /// `openapi`: `path` or `version` of the schema to merge by.
    pub openapi: BTreeMap<String, String>,
    /// `namePrefix`.
    pub name_prefix: String,
    /// `nameSuffix`.
    pub name_suffix: String,
    /// `namespace`.
    pub namespace: String,
    /// `commonLabels`: labels that also go into selectors.
    pub common_labels: BTreeMap<String, String>,
    /// `labels`.
    pub labels: Vec<Label>,
    /// `commonAnnotations`.
    pub common_annotations: BTreeMap<String, String>,
    /// `patchesStrategicMerge`: paths or patches.
    pub patches_strategic_merge: Vec<Located<String>>,
    /// `patchesJson6902`.
    pub patches_json6902: Vec<Located<Patch>>,
    /// `patches`.
    pub patches: Vec<Located<Patch>>,
    /// `images`, then `imageTags`.
    pub images: Vec<Image>,
    /// `replacements`.
    pub replacements: Vec<Located<ReplacementField>>,
    /// `replicas`.
    pub replicas: Vec<Located<Replica>>,
    /// `vars`.
    pub vars: Vec<Located<Var>>,
    /// `sortOptions`.
    pub sort_options: Option<SortOptions>,
    /// `resources`, then `bases`.
    pub resources: Vec<Located<String>>,
    /// `components`.
    pub components: Vec<Located<String>>,
    /// `crds`.
    pub crds: Vec<Located<String>>,
    /// `configMapGenerator`.
    pub config_map_generator: Vec<Located<GeneratorArgs>>,
    /// `secretGenerator`.
    pub secret_generator: Vec<Located<GeneratorArgs>>,
    /// Where Helm charts are asked for, which neither Flux nor plain kustomize inflates (F-813).
    pub helm_charts: Vec<Mark>,
    /// `generatorOptions`.
    pub generator_options: Option<GeneratorOptions>,
    /// `configurations`.
    pub configurations: Vec<Located<String>>,
    /// `generators`: paths or objects.
    pub generators: Vec<Located<String>>,
    /// `transformers`: paths or objects.
    pub transformers: Vec<Located<String>>,
    /// `validators`: paths or objects.
    pub validators: Vec<Located<String>>,
    /// `buildMetadata`.
    pub build_metadata: Vec<String>,
    /// Deprecated fields that the file uses, and where.
    pub deprecated: Vec<(&'static str, Mark)>,
    /// Whether the text sets a field, be it to an empty list: kustomize only refuses files that set none.
    declares_something: bool,
}

/// `metadata` of a kustomization file or of a transformer's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Name.
    pub name: String,
    /// Namespace.
    pub namespace: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

/// An entry of `labels`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// The labels.
    pub pairs: BTreeMap<String, String>,
    /// Whether they go into selectors, and so into templates.
    pub include_selectors: bool,
    /// Whether they go into pod templates.
    pub include_templates: bool,
    /// More fields that they go into.
    pub fields: Vec<FieldSpec>,
}

/// An entry of `patches` or `patchesJson6902`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The file that holds the patch.
    pub path: String,
    /// The patch itself.
    pub patch: String,
    /// Which resources it is for; a strategic merge patch may say that itself.
    pub target: Option<Selector>,
    /// What a strategic merge patch may change beyond its usual reach.
    pub options: Option<PatchOptions>,
}

/// `options` of a patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatchOptions {
    /// The patch may change the resource's name.
    pub allow_name_change: bool,
    /// The patch may change the resource's kind.
    pub allow_kind_change: bool,
}

/// Which resources are meant. The parts of the id are regular expressions; empty parts match anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Group, version, kind, name and namespace.
    pub id: ResId,
    /// A label selector that is held against the annotations.
    pub annotation_selector: String,
    /// A label selector.
    pub label_selector: String,
}

/// An entry of `images`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// The name to look for, without tag; a regular expression.
    pub name: String,
    /// The name to put there.
    pub new_name: String,
    /// What to append to the tag.
    pub tag_suffix: String,
    /// The tag to put there.
    pub new_tag: String,
    /// The digest to put there.
    pub digest: String,
}

/// An entry of `replacements`: itself, or the file that holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplacementField {
    /// The file that holds one replacement or a list of them.
    pub path: String,
    /// The replacement, if it is written in place.
    pub replacement: Replacement,
}

/// A value that is copied from one field to others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replacement {
    /// Where the value comes from.
    pub source: Option<ReplacementSource>,
    /// The value itself, instead of a source.
    pub source_value: Option<String>,
    /// Where it goes; missing targets are an error, an empty list is none.
    pub targets: Option<Vec<ReplacementTarget>>,
}

/// The field that a replacement copies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplacementSource {
    /// The resource.
    pub id: ResId,
    /// The field; `metadata.name` if empty.
    pub field_path: String,
    /// Which part of the field.
    pub options: Option<FieldOptions>,
}

/// The fields that a replacement writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplacementTarget {
    /// The resources.
    pub select: Option<Selector>,
    /// Those among them that are left alone.
    pub reject: Vec<Selector>,
    /// The fields; `metadata.name` if empty.
    pub field_paths: Vec<String>,
    /// Which part of the fields, and whether to make them.
    pub options: Option<FieldOptions>,
}

/// How a replacement reads or writes a part of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldOptions {
    /// What separates the parts.
    pub delimiter: String,
    /// Which part.
    pub index: i64,
    /// Reserved by kustomize.
    pub encoding: String,
    /// Whether a missing field is made.
    pub create: bool,
}

/// An entry of `replicas`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replica {
    /// The name of the workload.
    pub name: String,
    /// How many replicas it gets.
    pub count: i64,
}

/// An entry of `vars`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Var {
    /// The name, written `$(NAME)` where it is used.
    pub name: String,
    /// The resource that holds the value. An empty namespace matches any.
    pub object: ResId,
    /// The field that holds the value.
    pub field_path: String,
}

/// An entry of `configMapGenerator` or `secretGenerator`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratorArgs {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object, before prefixes and the hash.
    pub name: String,
    /// `create`, `replace` or `merge`; empty means create.
    pub behavior: String,
    /// `KEY=VALUE` entries.
    pub literals: Vec<String>,
    /// `[KEY=]PATH` entries.
    pub files: Vec<String>,
    /// Files of `KEY=VALUE` lines.
    pub envs: Vec<String>,
    /// Options of this object.
    pub options: Option<GeneratorOptions>,
    /// The type of a Secret; empty means `Opaque`.
    pub secret_type: String,
}

/// `generatorOptions`, and `options` of a generator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratorOptions {
    /// Labels for the generated objects.
    pub labels: BTreeMap<String, String>,
    /// Annotations for the generated objects.
    pub annotations: BTreeMap<String, String>,
    /// Whether names stay without a hash of the contents.
    pub disable_name_suffix_hash: bool,
    /// Whether the objects are immutable.
    pub immutable: bool,
}

/// `sortOptions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SortOptions {
    /// `legacy` or `fifo`.
    pub order: String,
    /// Which kinds come first and last in the legacy order.
    pub legacy: Option<LegacySortOptions>,
}

/// `sortOptions.legacySortOptions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LegacySortOptions {
    /// Kinds that come first.
    pub order_first: Vec<String>,
    /// Kinds that come last.
    pub order_last: Vec<String>,
}

/// The kustomization files in a directory. More than one is an error for kustomize.
pub fn find(tree: &dyn Tree, directory: &RepoPath) -> Vec<RepoPath> {
    NAMES
        .iter()
        .filter_map(|name| directory.join(name).ok())
        .filter(|path| tree.is_file(path))
        .collect()
}

impl KustomizationFile {
    /// Reads a text as kustomize does.
    ///
    /// # Errors
    /// Text that is no YAML, unknown fields, values of the wrong type.
    pub fn read(text: &str, file: &RepoPath) -> Result<KustomizationFile, Error> {
        fields::kustomization(text, file, read::Rules::KUSTOMIZATION)
    }

    /// Reads a text as Flux reads the root of a build: unknown fields vanish, numbers become text where text is wanted,
    /// and a field that is set to nothing is as good as missing (F-805).
    ///
    /// # Errors
    /// Text that is no YAML, values of the wrong type.
    pub fn read_leniently(text: &str, file: &RepoPath) -> Result<KustomizationFile, Error> {
        let mut read = fields::kustomization(text, file, read::Rules::LENIENT)?;
        read.declares_something = false;
        Ok(read)
    }

    /// Whether kustomize refuses the file as empty.
    pub fn is_empty(&self) -> bool {
        let bare = KustomizationFile {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            ..KustomizationFile::default()
        };
        *self == bare
    }

    /// Whether this is a component rather than a kustomization.
    pub fn is_component(&self) -> bool {
        self.kind == "Component"
    }
}
