//! The transformers that the fields of a kustomization file ask for, in their order.

use firstpass_yaml::Mark;

use super::Target;
use crate::Error;
use crate::accumulator::Accumulator;
use crate::config::{Conflict, FieldSpecs, TransformerConfig};
use crate::file::FieldSpec;
use crate::provenance::{Provenance, note_transformer};
use crate::resmap::ResMap;
use crate::transformer::{
    Affix, Annotations, ImageTag, Labels, NameAffix, Namespace, PatchEntry, PatchJson6902,
    PatchStrategicMerge, Replacements, ReplicaCount, Subjects, Transform,
};

/// A transformer, and who asked for it.
pub(super) struct Configured {
    pub(super) transformer: Box<dyn Transform>,
    pub(super) provenance: Option<Provenance>,
    pub(super) mark: Mark,
}

impl Target<'_, '_> {
    /// Lets all transformers work: those of the fields, then those of `transformers`.
    pub(super) fn transform(&self, gathered: &mut Accumulator) -> Result<(), Error> {
        let mut transformers = self.builtin_transformers(gathered.config())?;
        transformers.extend(self.plugin_transformers(&self.file.transformers)?);
        for configured in &transformers {
            configured
                .transformer
                .apply(&mut gathered.resources, &self.by())
                .map_err(|error| error.at(&self.path, configured.mark))?;
            gathered.resources.settle_shared();
            if let Some(provenance) = &configured.provenance {
                note_all(&mut gathered.resources, provenance);
            }
            gathered.resources.drop_gone();
        }
        Ok(())
    }

    fn builtin_transformers(&self, config: &TransformerConfig) -> Result<Vec<Configured>, Error> {
        let file = &self.file;
        let site = self.site();
        let mut list = List {
            target: self,
            transformers: Vec::new(),
        };
        if let Some(first) = file.patches_strategic_merge.first() {
            let patches = PatchStrategicMerge::new(&file.patches_strategic_merge, "", site)
                .map_err(|error| error.at(&self.path, first.mark))?;
            list.add("PatchStrategicMergeTransformer", first.mark, patches);
        }
        for patch in &file.patches {
            list.add("PatchTransformer", patch.mark, PatchEntry::new(patch, site)?);
        }
        if !file.namespace.is_empty() {
            let namespace = Namespace::new(
                file.namespace.clone(),
                &config.namespace,
                false,
                Subjects::Default,
            );
            list.add("NamespaceTransformer", Mark::NONE, namespace);
        }
        for (kind, side, text, specs) in [
            (
                "PrefixTransformer",
                Affix::Prefix,
                &file.name_prefix,
                &config.name_prefix,
            ),
            (
                "SuffixTransformer",
                Affix::Suffix,
                &file.name_suffix,
                &config.name_suffix,
            ),
        ] {
            if !text.is_empty() {
                let affix = NameAffix {
                    side,
                    text: text.clone(),
                    specs: specs.clone(),
                };
                list.add(kind, Mark::NONE, affix);
            }
        }
        self.add_labels(config, &mut list)?;
        if !file.common_annotations.is_empty() {
            let annotations = Annotations {
                annotations: file.common_annotations.clone(),
                specs: config.common_annotations.clone(),
            };
            list.add("AnnotationsTransformer", Mark::NONE, annotations);
        }
        for patch in &file.patches_json6902 {
            list.add(
                "PatchJson6902Transformer",
                patch.mark,
                PatchJson6902::new(patch, site)?,
            );
        }
        for replica in &file.replicas {
            let count = ReplicaCount {
                replica: replica.value.clone(),
                specs: config.replicas.clone(),
            };
            list.add("ReplicaCountTransformer", replica.mark, count);
        }
        for image in &file.images {
            let image = ImageTag::new(image.clone(), &config.images)
                .map_err(|error| error.at(&self.path, Mark::NONE))?;
            list.add("ImageTagTransformer", Mark::NONE, image);
        }
        if let Some(first) = file.replacements.first() {
            let replacements = Replacements::new(&file.replacements, site)?;
            list.add("ReplacementTransformer", first.mark, replacements);
        }
        Ok(list.transformers)
    }

    fn add_labels(&self, config: &TransformerConfig, list: &mut List<'_, '_, '_>) -> Result<(), Error> {
        let failed = |error: Conflict| error.into_error().at(&self.path, Mark::NONE);
        for label in &self.file.labels {
            let mut specs = FieldSpecs(label.fields.clone());
            specs.merge_all(&config.labels).map_err(failed)?;
            if label.include_selectors {
                specs.merge_all(&config.common_labels).map_err(failed)?;
            } else {
                if label.include_templates {
                    specs.merge_all(&config.template_labels).map_err(failed)?;
                }
                let own = FieldSpec {
                    path: "metadata/labels".to_owned(),
                    create: true,
                    ..FieldSpec::default()
                };
                specs.merge(&own).map_err(failed)?;
            }
            let labels = Labels {
                labels: label.pairs.clone(),
                specs,
            };
            list.add("LabelTransformer", Mark::NONE, labels);
        }
        if !self.file.labels.is_empty() || !self.file.common_labels.is_empty() {
            let labels = Labels {
                labels: self.file.common_labels.clone(),
                specs: config.common_labels.clone(),
            };
            list.add("LabelTransformer", Mark::NONE, labels);
        }
        Ok(())
    }
}

struct List<'l, 'a, 'tree> {
    target: &'l Target<'a, 'tree>,
    transformers: Vec<Configured>,
}

impl List<'_, '_, '_> {
    fn add(&mut self, kind: &str, mark: Mark, transformer: impl Transform + 'static) {
        self.transformers.push(Configured {
            transformer: Box::new(transformer),
            provenance: self.target.builtin(kind),
            mark,
        });
    }
}

fn note_all(resources: &mut ResMap, provenance: &Provenance) {
    for resource in resources
        .items_mut()
        .iter_mut()
        .filter(|resource| !resource.is_gone())
    {
        note_transformer(resource, provenance);
    }
}
