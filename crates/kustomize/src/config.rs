//! Where each transformer acts: kustomize's defaults, and what the fields `configurations` and `crds` add to them.

mod crds;
mod defaults;

use firstpass_source::RepoPath;

use crate::Error;
use crate::file::FieldSpec;
use crate::file::read::{Fields, Mismatch, Read, Rules};
use crate::first;
use crate::resid::Gvk;

pub(crate) use crds::from_crds;
pub(crate) use defaults::defaults;

/// The fields in which each transformer acts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TransformerConfig {
    pub(crate) name_prefix: FieldSpecs,
    pub(crate) name_suffix: FieldSpecs,
    pub(crate) namespace: FieldSpecs,
    pub(crate) common_labels: FieldSpecs,
    pub(crate) labels: FieldSpecs,
    pub(crate) template_labels: FieldSpecs,
    pub(crate) common_annotations: FieldSpecs,
    pub(crate) name_reference: Vec<NameReference>,
    pub(crate) var_reference: FieldSpecs,
    pub(crate) images: FieldSpecs,
    pub(crate) replicas: FieldSpecs,
}

/// A list of field specs without needless repetition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSpecs(pub(crate) Vec<FieldSpec>);

/// The fields that hold the name of a kind's objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameReference {
    /// The kind that is referred to.
    pub(crate) referral: Gvk,
    /// Who refers to it, and where.
    pub(crate) referrers: FieldSpecs,
}

/// Two field specs that disagree on whether a missing field is made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) spec: FieldSpec,
}

impl FieldSpecs {
    /// Adds a spec unless one is there that it covers.
    pub(crate) fn merge(&mut self, spec: &FieldSpec) -> Result<(), Conflict> {
        let covered = |have: &&FieldSpec| have.path == spec.path && have.gvk.is_selected_by(&spec.gvk);
        match self.0.iter().find(covered) {
            None => self.0.push(spec.clone()),
            Some(have) if have.create == spec.create => {}
            Some(_) => return Err(Conflict { spec: spec.clone() }),
        }
        Ok(())
    }

    pub(crate) fn merge_all(&mut self, specs: &FieldSpecs) -> Result<(), Conflict> {
        specs.0.iter().try_for_each(|spec| self.merge(spec))
    }

    fn sort(&mut self) {
        self.0.sort_by(|a, b| crate::order::by_kind(&a.gvk, &b.gvk));
    }
}

impl TransformerConfig {
    /// Adds what another configuration says, and sorts all of it.
    pub(crate) fn merge(&mut self, other: &TransformerConfig) -> Result<(), Conflict> {
        let TransformerConfig {
            name_prefix,
            name_suffix,
            namespace,
            common_labels,
            labels,
            template_labels,
            common_annotations,
            name_reference,
            var_reference,
            images,
            replicas,
        } = self;
        name_prefix.merge_all(&other.name_prefix)?;
        name_suffix.merge_all(&other.name_suffix)?;
        namespace.merge_all(&other.namespace)?;
        common_annotations.merge_all(&other.common_annotations)?;
        common_labels.merge_all(&other.common_labels)?;
        labels.merge_all(&other.labels)?;
        template_labels.merge_all(&other.template_labels)?;
        var_reference.merge_all(&other.var_reference)?;
        for reference in &other.name_reference {
            merge_reference(name_reference, reference)?;
        }
        images.merge_all(&other.images)?;
        replicas.merge_all(&other.replicas)?;
        self.sort();
        Ok(())
    }

    /// Whether it says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        *self == TransformerConfig::default()
    }

    pub(crate) fn add_reference(&mut self, reference: &NameReference) -> Result<(), Conflict> {
        merge_reference(&mut self.name_reference, reference)
    }

    fn sort(&mut self) {
        for specs in [
            &mut self.name_prefix,
            &mut self.name_suffix,
            &mut self.namespace,
            &mut self.common_labels,
            &mut self.labels,
            &mut self.template_labels,
            &mut self.common_annotations,
            &mut self.var_reference,
            &mut self.images,
            &mut self.replicas,
        ] {
            specs.sort();
        }
        self.name_reference
            .sort_by(|a, b| crate::order::by_kind(&a.referral, &b.referral));
    }

    /// Reads a file of the `configurations` field.
    pub(crate) fn read(text: &str, file: &RepoPath) -> Result<TransformerConfig, Error> {
        let node = first::document(text, file)?;
        if node.is_null() {
            return Ok(TransformerConfig::default());
        }
        let mut config = TransformerConfig::from_node(&node).map_err(|error| error.in_file(file))?;
        config.sort();
        Ok(config)
    }

    fn from_node(node: &firstpass_yaml::Node) -> Result<TransformerConfig, Mismatch> {
        let mut fields = Fields::of(node, Rules::CONFIGURATION)?;
        let config = TransformerConfig {
            name_prefix: fields.take("namePrefix")?,
            name_suffix: fields.take("nameSuffix")?,
            namespace: fields.take("namespace")?,
            common_labels: fields.take("commonLabels")?,
            labels: fields.take("labels")?,
            template_labels: fields.take("templateLabels")?,
            common_annotations: fields.take("commonAnnotations")?,
            name_reference: fields.take("nameReference")?,
            var_reference: fields.take("varReference")?,
            images: fields.take("images")?,
            replicas: fields.take("replicas")?,
        };
        fields.finish()?;
        Ok(config)
    }
}

fn merge_reference(references: &mut Vec<NameReference>, new: &NameReference) -> Result<(), Conflict> {
    let mut found = false;
    for reference in references
        .iter_mut()
        .filter(|reference| reference.referral == new.referral)
    {
        reference.referrers.merge_all(&new.referrers)?;
        found = true;
    }
    if !found {
        references.push(new.clone());
    }
    Ok(())
}

impl Conflict {
    /// The same as an error of the build.
    pub(crate) fn into_error(self) -> Error {
        let FieldSpec { gvk, path, .. } = self.spec;
        Error::new(format!(
            "conflicting fieldspecs: two of them for `{path}` of {} disagree on `create`",
            if gvk.kind.is_empty() {
                "any kind"
            } else {
                &gvk.kind
            }
        ))
    }
}

impl Read for FieldSpecs {
    fn read(node: &firstpass_yaml::Node, rules: Rules) -> Result<FieldSpecs, Mismatch> {
        Vec::read(node, rules).map(FieldSpecs)
    }
}

impl Read for NameReference {
    fn read(node: &firstpass_yaml::Node, rules: Rules) -> Result<NameReference, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        let reference = NameReference {
            referral: Gvk {
                group: fields.take("group")?,
                version: fields.take("version")?,
                kind: fields.take("kind")?,
            },
            referrers: fields.take("fieldSpecs")?,
        };
        fields.finish()?;
        Ok(reference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(kind: &str, path: &str, create: bool) -> FieldSpec {
        FieldSpec {
            gvk: Gvk {
                kind: kind.to_owned(),
                ..Gvk::default()
            },
            path: path.to_owned(),
            create,
        }
    }

    #[test]
    fn a_general_spec_is_taken_for_known_if_a_special_one_is_there() {
        let mut specs = FieldSpecs(vec![spec("Deployment", "spec/replicas", true)]);
        specs.merge(&spec("", "spec/replicas", true)).unwrap();
        assert_eq!(specs.0.len(), 1);
        specs.merge(&spec("Scale", "spec/replicas", true)).unwrap();
        assert_eq!(specs.0.len(), 2);
        assert!(specs.merge(&spec("Scale", "spec/replicas", false)).is_err());
    }

    #[test]
    fn configuration_files_are_read_strictly() {
        let file = RepoPath::clamped("config.yaml");
        let config = TransformerConfig::read("images:\n- path: spec/image\n  kind: App\n", &file).unwrap();
        assert_eq!(config.images.0, [spec("App", "spec/image", false)]);
        let error = TransformerConfig::read("images:\n- pat: spec/image\n", &file).unwrap_err();
        assert_eq!(
            (error.line, error.help.as_deref()),
            (2, Some("did you mean `path`?"))
        );
    }
}
