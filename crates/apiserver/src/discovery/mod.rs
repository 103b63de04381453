//! Which kinds are served, under which names and versions, and since when clients can know.
//!
//! A kind passes through three states: its CRD exists, it is served (the CRD is Established), and discovery lists it.
//! Clients look kinds up in discovery, which may lag behind serving (F-229).

mod builtin;
mod resource;

use std::collections::BTreeMap;
use std::sync::Arc;

use firstpass_object::{GroupKind, GroupVersionKind};

use crate::crd::Definition;
use crate::error::ApiError;

pub use firstpass_schema::Scope;
pub use resource::Resource;
pub(crate) use resource::compare_versions;

/// The kinds of a server.
#[derive(Clone, Debug)]
pub(crate) struct Discovery {
    builtin: Arc<BTreeMap<GroupKind, Arc<Resource>>>,
    custom: Arc<BTreeMap<GroupKind, Custom>>,
}

/// A kind that a CRD brought.
#[derive(Clone, Debug)]
pub(crate) struct Custom {
    /// What the CRD says, as served.
    pub(crate) definition: Arc<Definition>,
    /// What discovery says; lags behind.
    pub(crate) listed: Option<Arc<Resource>>,
}

impl Discovery {
    pub(crate) fn new(minor: u16) -> Discovery {
        Discovery {
            builtin: builtin::resources(minor),
            custom: Arc::default(),
        }
    }

    /// What a client's mapper finds for a kind in a version (F-224: a miss is never cached, so asking again is enough).
    pub(crate) fn resolve(&self, gvk: &GroupVersionKind) -> Result<Arc<Resource>, ApiError> {
        let kind = gvk.group_kind();
        let listed = self
            .builtin
            .get(&kind)
            .or_else(|| self.custom.get(&kind)?.listed.as_ref());
        listed
            .filter(|resource| resource.serves(&gvk.version))
            .cloned()
            .ok_or_else(|| ApiError::no_kind_match(gvk))
    }

    /// What discovery lists for a kind, whatever the version.
    pub(crate) fn listed(&self, kind: &GroupKind) -> Option<&Arc<Resource>> {
        self.builtin
            .get(kind)
            .or_else(|| self.custom.get(kind)?.listed.as_ref())
    }

    /// What requests reach: built-in kinds and those of Established CRDs, listed or not.
    pub(crate) fn served(&self, kind: &GroupKind) -> Option<&Arc<Resource>> {
        self.builtin
            .get(kind)
            .or_else(|| self.custom.get(kind).map(|custom| &custom.definition.resource))
    }

    /// The CRD behind a served kind; `None` for built-in kinds.
    pub(crate) fn definition(&self, kind: &GroupKind) -> Option<&Arc<Definition>> {
        self.custom.get(kind).map(|custom| &custom.definition)
    }

    pub(crate) fn is_builtin(&self, kind: &GroupKind) -> bool {
        self.builtin.contains_key(kind)
    }

    /// Serves a definition, or a newer state of it.
    pub(crate) fn serve(&mut self, definition: Arc<Definition>) {
        let kind = definition.resource.group_kind();
        let custom = Arc::make_mut(&mut self.custom);
        match custom.get_mut(&kind) {
            Some(served) => served.definition = definition,
            None => {
                custom.insert(
                    kind,
                    Custom {
                        definition,
                        listed: None,
                    },
                );
            }
        }
    }

    /// Lets discovery catch up with what is served.
    pub(crate) fn list(&mut self, kind: &GroupKind) {
        if let Some(custom) = Arc::make_mut(&mut self.custom).get_mut(kind) {
            custom.listed = Some(Arc::clone(&custom.definition.resource));
        }
    }

    pub(crate) fn remove(&mut self, kind: &GroupKind) {
        Arc::make_mut(&mut self.custom).remove(kind);
    }

    /// Everything discovery lists, by group and kind.
    pub(crate) fn iter_listed(&self) -> impl Iterator<Item = &Arc<Resource>> {
        let custom = self.custom.values().filter_map(|custom| custom.listed.as_ref());
        self.builtin.values().chain(custom)
    }
}
