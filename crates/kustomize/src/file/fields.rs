//! Which fields each part of a kustomization file has.

use firstpass_source::RepoPath;
use firstpass_yaml::{Mark, Node};

use super::read::{Fields, Mismatch, Read, Rules, mismatch};
use super::{
    FieldOptions, FieldSpec, GeneratorArgs, GeneratorOptions, Image, KustomizationFile, Label,
    LegacySortOptions, Located, Metadata, Patch, PatchOptions, Replacement, ReplacementField,
    ReplacementSource, ReplacementTarget, Replica, Selector, SortOptions, Var,
};
use crate::Error;
use crate::first;
use crate::resid::{Gvk, ResId};

/// The kinds of kustomization files and the one version that each of them has.
pub(crate) const API_VERSIONS: [(&str, &str); 2] = [
    ("Kustomization", "kustomize.config.k8s.io/v1beta1"),
    ("Component", "kustomize.config.k8s.io/v1alpha1"),
];

/// Reads a whole kustomization file.
pub(super) fn kustomization(text: &str, file: &RepoPath, rules: Rules) -> Result<KustomizationFile, Error> {
    let node = first::document(text, file)?;
    if node.is_null() {
        return Ok(KustomizationFile::default());
    }
    KustomizationFile::read_fields(&node, rules).map_err(|error| error.in_file(file))
}

impl Mismatch {
    /// The same as an error of the build.
    pub(crate) fn in_file(self, file: &RepoPath) -> Error {
        let error = Error::new(self.what).at(file, self.mark);
        match self.help {
            Some(help) => error.help(help),
            None => error,
        }
    }
}

impl KustomizationFile {
    fn read_fields(node: &Node, rules: Rules) -> Result<KustomizationFile, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        let api_version = fields.take("apiVersion")?;
        let kind = fields.take("kind")?;

        let mut images: Vec<Image> = fields.take("images")?;
        images.extend(fields.take::<Vec<Image>>("imageTags")?);
        let mut resources: Vec<Located<String>> = fields.take("resources")?;
        resources.extend(fields.take::<Vec<Located<String>>>("bases")?);
        let mut helm_charts = marks(fields.node("helmCharts"))?;
        helm_charts.extend(marks(fields.node("helmChartInflationGenerator"))?);
        fields.take::<HelmGlobals>("helmGlobals")?;

        let file = KustomizationFile {
            api_version,
            kind,
            metadata: fields.take_if_set("metadata")?,
            openapi: fields.take("openapi")?,
            name_prefix: fields.take("namePrefix")?,
            name_suffix: fields.take("nameSuffix")?,
            namespace: fields.take("namespace")?,
            common_labels: fields.take("commonLabels")?,
            labels: fields.take("labels")?,
            common_annotations: fields.take("commonAnnotations")?,
            patches_strategic_merge: fields.take("patchesStrategicMerge")?,
            patches_json6902: fields.take("patchesJson6902")?,
            patches: fields.take("patches")?,
            images,
            replacements: fields.take("replacements")?,
            replicas: fields.take("replicas")?,
            vars: fields.take("vars")?,
            sort_options: fields.take_if_set("sortOptions")?,
            resources,
            components: fields.take("components")?,
            crds: fields.take("crds")?,
            config_map_generator: config_map_generator(&mut fields)?,
            secret_generator: fields.take("secretGenerator")?,
            helm_charts,
            generator_options: fields.take_if_set("generatorOptions")?,
            configurations: fields.take("configurations")?,
            generators: fields.take("generators")?,
            transformers: fields.take("transformers")?,
            validators: fields.take("validators")?,
            build_metadata: fields.take("buildMetadata")?,
            deprecated: deprecated(&fields),
            declares_something: fields.declares_beside(&["apiVersion", "kind"]),
        };
        fields.finish()?;
        Ok(file)
    }
}

/// Deprecated fields that kustomize warns of.
fn deprecated(fields: &Fields<'_>) -> Vec<(&'static str, Mark)> {
    [
        "bases",
        "commonLabels",
        "imageTags",
        "patchesJson6902",
        "patchesStrategicMerge",
        "vars",
    ]
    .into_iter()
    .map(|name| (name, fields.mark(name)))
    .filter(|(_, mark)| *mark != Mark::NONE)
    .collect()
}

/// The places of a list's entries.
fn marks(list: Option<&Node>) -> Result<Vec<Mark>, Mismatch> {
    match list {
        None => Ok(Vec::new()),
        Some(node) => {
            let items = node.as_seq().ok_or_else(|| mismatch(node, "a list"))?;
            Ok(items.iter().map(|item| item.mark).collect())
        }
    }
}

/// The entries of `configMapGenerator`, which unlike those of `secretGenerator` have no type.
fn config_map_generator(fields: &mut Fields<'_>) -> Result<Vec<Located<GeneratorArgs>>, Mismatch> {
    let entries: Vec<Located<ConfigMapArgs>> = fields.take("configMapGenerator")?;
    let args = |entry: Located<ConfigMapArgs>| Located {
        mark: entry.mark,
        value: entry.value.0,
    };
    Ok(entries.into_iter().map(args).collect())
}

#[derive(Default)]
struct ConfigMapArgs(GeneratorArgs);

impl Read for ConfigMapArgs {
    fn read(node: &Node, rules: Rules) -> Result<ConfigMapArgs, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        let args = config_map_args(&mut fields)?;
        fields.finish()?;
        Ok(ConfigMapArgs(args))
    }
}

/// `helmGlobals`: checked, and of no further use without Helm.
#[derive(Default)]
struct HelmGlobals;

impl Read for HelmGlobals {
    fn read(node: &Node, rules: Rules) -> Result<HelmGlobals, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        fields.take::<String>("chartHome")?;
        fields.take::<String>("configHome")?;
        fields.finish()?;
        Ok(HelmGlobals)
    }
}

/// Says how a struct is read: `Struct { field: "nameInTheFile", … }`.
macro_rules! reads {
    ($($type:ident { $($field:ident : $name:literal),* $(,)? })*) => {$(
        impl Read for $type {
            fn read(node: &Node, rules: Rules) -> Result<$type, Mismatch> {
                let mut fields = Fields::of(node, rules)?;
                let value = $type { $($field: fields.take($name)?),* };
                fields.finish()?;
                Ok(value)
            }
        }
    )*};
}

reads! {
    Metadata { name: "name", namespace: "namespace", labels: "labels", annotations: "annotations" }
    Label {
        pairs: "pairs", include_selectors: "includeSelectors", include_templates: "includeTemplates", fields: "fields",
    }
    Image { name: "name", new_name: "newName", tag_suffix: "tagSuffix", new_tag: "newTag", digest: "digest" }
    Replica { name: "name", count: "count" }
    PatchOptions { allow_name_change: "allowNameChange", allow_kind_change: "allowKindChange" }
    FieldOptions { delimiter: "delimiter", index: "index", encoding: "encoding", create: "create" }
    GeneratorOptions {
        labels: "labels", annotations: "annotations", disable_name_suffix_hash: "disableNameSuffixHash",
        immutable: "immutable",
    }
    LegacySortOptions { order_first: "orderFirst", order_last: "orderLast" }
}

impl Read for FieldSpec {
    fn read(node: &Node, rules: Rules) -> Result<FieldSpec, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        let spec = FieldSpec {
            gvk: gvk(&mut fields)?,
            path: fields.take("path")?,
            create: fields.take("create")?,
        };
        fields.finish()?;
        Ok(spec)
    }
}

impl Read for Patch {
    fn read(node: &Node, rules: Rules) -> Result<Patch, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        let patch = Patch {
            path: fields.take("path")?,
            patch: fields.take("patch")?,
            target: fields.take_if_set("target")?,
            options: fields.take_if_set("options")?,
        };
        fields.finish()?;
        Ok(patch)
    }
}

impl Read for Selector {
    fn read(node: &Node, rules: Rules) -> Result<Selector, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        let selector = Selector {
            id: res_id(&mut fields)?,
            annotation_selector: fields.take("annotationSelector")?,
            label_selector: fields.take("labelSelector")?,
        };
        fields.finish()?;
        Ok(selector)
    }
}

impl Read for ReplacementField {
    fn read(node: &Node, rules: Rules) -> Result<ReplacementField, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        let field = ReplacementField {
            path: fields.take("path")?,
            replacement: replacement(&mut fields)?,
        };
        fields.finish()?;
        Ok(field)
    }
}

impl Read for Replacement {
    fn read(node: &Node, rules: Rules) -> Result<Replacement, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        let read = replacement(&mut fields)?;
        fields.finish()?;
        Ok(read)
    }
}

fn replacement(fields: &mut Fields<'_>) -> Result<Replacement, Mismatch> {
    Ok(Replacement {
        source: fields.take_if_set("source")?,
        targets: fields.take_if_set("targets")?,
        source_value: fields.take_if_set("sourceValue")?,
    })
}

impl Read for ReplacementSource {
    fn read(node: &Node, rules: Rules) -> Result<ReplacementSource, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        let source = ReplacementSource {
            id: res_id(&mut fields)?,
            field_path: fields.take("fieldPath")?,
            options: fields.take_if_set("options")?,
        };
        fields.finish()?;
        Ok(source)
    }
}

impl Read for ReplacementTarget {
    fn read(node: &Node, rules: Rules) -> Result<ReplacementTarget, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        let target = ReplacementTarget {
            select: fields.take_if_set("select")?,
            reject: fields.take("reject")?,
            field_paths: fields.take("fieldPaths")?,
            options: fields.take_if_set("options")?,
        };
        fields.finish()?;
        Ok(target)
    }
}

impl Read for Var {
    fn read(node: &Node, rules: Rules) -> Result<Var, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        let var = Var {
            name: fields.take("name")?,
            object: fields.take::<VarObject>("objref")?.0,
            field_path: fields.take::<VarField>("fieldref")?.0,
        };
        fields.finish()?;
        Ok(var)
    }
}

/// `objref` of a var: an id whose version may be written as an `apiVersion`.
#[derive(Default)]
struct VarObject(ResId);

impl Read for VarObject {
    fn read(node: &Node, rules: Rules) -> Result<VarObject, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        let mut id = res_id(&mut fields)?;
        let api_version: String = fields.take("apiVersion")?;
        fields.finish()?;
        match *api_version.split('/').collect::<Vec<_>>() {
            [group, version] => {
                group.clone_into(&mut id.gvk.group);
                version.clone_into(&mut id.gvk.version);
            }
            [version] if !version.is_empty() => version.clone_into(&mut id.gvk.version),
            _ => {}
        }
        Ok(VarObject(id))
    }
}

/// `fieldref` of a var; the name of the resource if nothing else is said.
struct VarField(String);

impl Default for VarField {
    fn default() -> VarField {
        VarField("metadata.name".to_owned())
    }
}

impl Read for VarField {
    fn read(node: &Node, rules: Rules) -> Result<VarField, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        let path: String = fields.take("fieldPath")?;
        fields.finish()?;
        Ok(if path.is_empty() {
            VarField::default()
        } else {
            VarField(path)
        })
    }
}

impl Read for GeneratorArgs {
    fn read(node: &Node, rules: Rules) -> Result<GeneratorArgs, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        let args = secret_args(&mut fields)?;
        fields.finish()?;
        Ok(args)
    }
}

/// The fields that both generators have, which the configuration of a generator object has among others.
pub(crate) fn config_map_args(fields: &mut Fields<'_>) -> Result<GeneratorArgs, Mismatch> {
    let mut envs: Vec<String> = fields.take("envs")?;
    let env: String = fields.take("env")?;
    if !env.is_empty() {
        envs.push(env);
    }
    Ok(GeneratorArgs {
        namespace: fields.take("namespace")?,
        name: fields.take("name")?,
        behavior: fields.take("behavior")?,
        literals: fields.take("literals")?,
        files: fields.take("files")?,
        envs,
        options: fields.take_if_set("options")?,
        secret_type: String::new(),
    })
}

/// The fields of a Secret generator.
pub(crate) fn secret_args(fields: &mut Fields<'_>) -> Result<GeneratorArgs, Mismatch> {
    Ok(GeneratorArgs {
        secret_type: fields.take("type")?,
        ..config_map_args(fields)?
    })
}

impl Read for SortOptions {
    fn read(node: &Node, rules: Rules) -> Result<SortOptions, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        let options = SortOptions {
            order: fields.take("order")?,
            legacy: fields.take_if_set("legacySortOptions")?,
        };
        fields.finish()?;
        Ok(options)
    }
}

fn gvk(fields: &mut Fields<'_>) -> Result<Gvk, Mismatch> {
    Ok(Gvk {
        group: fields.take("group")?,
        version: fields.take("version")?,
        kind: fields.take("kind")?,
    })
}

fn res_id(fields: &mut Fields<'_>) -> Result<ResId, Mismatch> {
    Ok(ResId {
        gvk: gvk(fields)?,
        name: fields.take("name")?,
        namespace: fields.take("namespace")?,
    })
}
