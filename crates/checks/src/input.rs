//! What rules look at, and the few questions that most of them ask of it.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use firstpass_apiserver::Definition;
use firstpass_baseline::Stage;
use firstpass_diagnostics::{Finding, Location};
use firstpass_knowledge::Knowledge;
use firstpass_object::{GroupKind, ObjectExt, ObjectId, Origin, Step, TierName};
use firstpass_order::{OrderGraph, TierIndex};
use firstpass_render::{RenderedCluster, RenderedObject, Repository, Tier};

use crate::fleet::Fleet;
use crate::texts::Text;

/// Everything that a rule may look at.
#[derive(Clone, Copy)]
pub struct CheckInput<'a> {
    /// The repository, for places in files.
    pub repository: &'a Repository,
    /// What Flux would apply.
    pub cluster: &'a RenderedCluster,
    /// What is there before Flux's first pass.
    pub stage: &'a Stage,
    /// Who needs what, and who provides it.
    pub graph: &'a OrderGraph,
    /// What charts and operators bring and do.
    pub knowledge: &'a Knowledge,
    /// The clusters that share a base with this one, where the configuration says so.
    pub fleet: Option<&'a Fleet>,
}

/// The same, with what several rules ask for and is found only once.
pub(crate) struct Context<'a> {
    input: CheckInput<'a>,
    definitions: OnceCell<BTreeMap<GroupKind, Definition>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(input: CheckInput<'a>) -> Context<'a> {
        Context {
            input,
            definitions: OnceCell::new(),
        }
    }

    /// What the CRDs in git say of the kinds that are used, and of Flux's own kinds those of this Flux, by kind.
    pub(crate) fn definitions(&self) -> &BTreeMap<GroupKind, Definition> {
        self.definitions.get_or_init(|| {
            let objects = self.cluster.objects().map(|(_, object)| &object.object);
            let used: BTreeSet<GroupKind> = objects.map(|object| object.gvk().group_kind()).collect();
            let crds = self.cluster.objects().filter_map(|(_, object)| {
                let crd = &*object.object;
                let text = |path: &[&str]| crd.text_at(path);
                let kind = GroupKind::new(text(&["spec", "group"])?, text(&["spec", "names", "kind"])?);
                let is_used = crd.kind() == "CustomResourceDefinition" && used.contains(&kind);
                let definition = is_used.then(|| Definition::read(crd).ok())??;
                Some((kind, definition))
            });
            let of_flux = used.iter().filter_map(|kind| {
                Some((
                    kind.clone(),
                    Definition::of_flux(kind, self.cluster.settings.flux)?,
                ))
            });
            of_flux.chain(crds).collect()
        })
    }
}

impl<'a> Deref for Context<'a> {
    type Target = CheckInput<'a>;

    fn deref(&self) -> &CheckInput<'a> {
        &self.input
    }
}

/// Says where to look, if anybody knows.
pub(crate) trait At {
    /// Sets the place.
    fn at(self, place: Option<Location>) -> Self;
}

impl At for Finding {
    fn at(mut self, place: Option<Location>) -> Finding {
        self.location = place;
        self
    }
}

impl<'a> CheckInput<'a> {
    /// The tiers that can never apply once `tier` is never Ready; `applies` tells whether it applies its objects all
    /// the same. The tier itself is left out: it is where the finding is.
    pub(crate) fn blocked_by(&self, tier: TierIndex, applies: bool) -> Vec<TierName> {
        let never = self.graph.tiers.never_apply(&[tier], applies);
        never
            .into_iter()
            .filter(|other| *other != tier)
            .map(|other| self.graph.tiers.name(other).clone())
            .collect()
    }

    /// The same for a tier that never even begins: it waits like those behind it, and is named with them.
    pub(crate) fn never_begins(&self, tier: TierIndex) -> Vec<TierName> {
        let never = self.graph.tiers.never_apply(&[tier], false);
        never
            .into_iter()
            .map(|other| self.graph.tiers.name(other).clone())
            .collect()
    }

    /// The tiers that apply an object.
    pub(crate) fn tiers_of(&self, id: &ObjectId) -> Vec<TierIndex> {
        let places = self.cluster.places(id).filter(|(tier, _)| tier.is_rendered());
        places
            .filter_map(|(tier, _)| self.graph.tiers.find(&tier.name))
            .collect()
    }

    /// The rendered tier behind an index of the graph.
    pub(crate) fn tier(&self, tier: TierIndex) -> Option<&'a Tier> {
        self.cluster.tiers.get(tier.position())
    }

    /// The place of a field of a tier's Flux Kustomization.
    pub(crate) fn place_in_tier(&self, tier: &Tier, field: &[&str]) -> Option<Location> {
        let found = self.repository.locate(&tier.origin, field);
        found.or_else(|| tier.location.clone())
    }

    /// The place where a key of an object is written: in the last patch that writes it, else in the object's own file.
    pub(crate) fn place_of_key(&self, origin: &Origin, path: &[&str]) -> Option<Location> {
        let key = path.last().copied().unwrap_or_default();
        // A patch without a file is written in the kustomization file.
        let patches = origin.steps.iter().rev().filter_map(|step| match step {
            Step::Patched { by, file } => Some(file.as_ref().unwrap_or(by)),
            _ => None,
        });
        for file in patches {
            let patch = Origin {
                file: file.clone(),
                line: 1,
                ..Origin::default()
            };
            let found = [format!("{key}:"), format!("/{key}")]
                .iter()
                .filter_map(|text| self.repository.locate_text(&patch, text))
                .find(|found| (found.line, found.column) != (1, 1));
            if let Some(found) = found {
                // The value itself, where the patch has the shape of the object.
                return self
                    .repository
                    .locate(&patch, path)
                    .filter(|place| place.line == found.line)
                    .or(Some(found));
            }
        }
        self.repository.locate(origin, path)
    }

    /// The place of a text of an object, `offset` bytes into it: the very line where the text is written down as it is,
    /// else the field.
    pub(crate) fn place_of_text(
        &self,
        object: &RenderedObject,
        text: &Text<'_>,
        offset: usize,
    ) -> Option<Location> {
        let field = self.repository.locate(&object.origin, &text.path());
        let line_start = text.text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text.text[line_start..].lines().next().unwrap_or_default();
        let trimmed = line.trim_start();
        let before = offset - line_start - (line.len() - trimmed.len());
        let in_front = trimmed.get(..before).unwrap_or_default().chars().count();
        let found = self.repository.locate_text(&object.origin, trimmed.trim_end());
        let start = (object.origin.line.max(1), 1);
        match found {
            // A text that is not found anywhere has the place of its document.
            Some(mut found) if (found.line, found.column) != start => {
                found.column += u32::try_from(in_front).unwrap_or_default();
                Some(found)
            }
            _ => field,
        }
    }
}
