//! Names as the files write them: before substitution, so that they are the same in every cluster.

use std::collections::BTreeMap;

use firstpass_object::{ObjectExt, ObjectId};
use firstpass_render::RenderedCluster;

use super::{NeedView, Order, because, comes, sort};
use crate::need::{Need, Needed};

/// The objects whose name or namespace holds a variable.
pub(super) struct Names {
    /// The object as the files name it, by the object as it is applied.
    templates: BTreeMap<ObjectId, ObjectId>,
    /// The same as texts, the longest first: what a sentence may hold.
    texts: Vec<(String, String)>,
}

impl Names {
    pub(super) fn of(cluster: &RenderedCluster) -> Names {
        let mut templates = BTreeMap::new();
        for (_, object) in cluster.objects() {
            let Some(template) = &object.template else {
                continue;
            };
            let (id, written) = (object.id(), template.id());
            if id != written {
                templates.entry(id).or_insert(written);
            }
        }
        let mut texts: Vec<(String, String)> = templates
            .iter()
            .map(|(id, written)| (id.to_string(), written.to_string()))
            .collect();
        texts.sort_by_key(|(id, _)| (std::cmp::Reverse(id.len()), id.clone()));
        Names { templates, texts }
    }

    pub(super) fn need(&self, need: &Need, order: Order) -> NeedView {
        let provider = need.answer.provider();
        NeedView {
            sort: sort(&need.needed),
            what: self.what(need),
            by: self.object(&need.by).to_string(),
            objects: 1 + need.also.len(),
            brought_by: provider
                .and_then(|provider| Some(self.object(provider.object.as_ref()?).to_string())),
            comes: provider.map(|provider| comes(&provider.how)),
            order,
            because: because(&need.answer).map(|text| self.sentence(text)),
        }
    }

    fn object<'i>(&'i self, id: &'i ObjectId) -> &'i ObjectId {
        self.templates.get(id).unwrap_or(id)
    }

    fn what(&self, need: &Need) -> String {
        match &need.needed {
            Needed::Kind { kind, .. } => kind.to_string(),
            Needed::Namespace(namespace) => {
                let written = self
                    .templates
                    .get(&need.by)
                    .and_then(|written| written.namespace.as_deref());
                written.unwrap_or(namespace).to_owned()
            }
            Needed::Data { object, .. } | Needed::HealthTarget(object) | Needed::ReadOnce { object, .. } => {
                self.object(object).to_string()
            }
            Needed::Webhook { name, .. } => name.clone(),
            Needed::Consumer { claim } => self.object(claim).to_string(),
        }
    }

    fn sentence(&self, mut text: String) -> String {
        for (id, written) in &self.texts {
            if text.contains(id.as_str()) {
                text = text.replace(id.as_str(), written);
            }
        }
        text
    }
}
