//! The schemas of one build: which kinds belong to the cluster, and how lists merge.
//!
//! kustomize keeps them in a global that the first kustomization file with an `openapi` field sets for the rest of the
//! build. The command line lets such a schema take the place of the built-in one, unless that was in use already; Flux
//! has the built-in one in use from the start (F-816).

use std::cell::RefCell;
use std::ops::Deref;
use std::rc::Rc;

use firstpass_schema::{OpenApiError, Schema};
use serde_json::Value;

/// What is known of kinds, for the length of one build.
pub(crate) struct Schemas {
    state: RefCell<State>,
}

struct State {
    /// The schema of an `openapi.path`, and the document that it was read from.
    custom: Option<(Schema, Value)>,
    /// Whether an `openapi` field has decided, so that later ones do not count.
    decided: bool,
    /// Whether the built-in schema was asked for something before a custom one came, and so stays in use beside it.
    builtin_in_use: bool,
    /// The schema to merge by, made when it is first needed.
    merging: Option<Merging>,
}

/// A schema to merge by.
#[derive(Clone)]
pub(crate) enum Merging {
    Builtin(&'static Schema),
    Own(Rc<Schema>),
}

impl Deref for Merging {
    type Target = Schema;

    fn deref(&self) -> &Schema {
        match self {
            Merging::Builtin(schema) => schema,
            Merging::Own(schema) => schema,
        }
    }
}

impl Schemas {
    /// The schemas at the start of a build.
    pub(crate) fn new(builtin_in_use: bool) -> Schemas {
        Schemas {
            state: RefCell::new(State {
                custom: None,
                decided: false,
                builtin_in_use,
                merging: None,
            }),
        }
    }

    /// Whether an `openapi` field has been obeyed already. The root's is always obeyed.
    pub(crate) fn is_decided(&self) -> bool {
        self.state.borrow().decided
    }

    /// Obeys an `openapi` field that names the built-in version.
    pub(crate) fn use_builtin(&self) {
        self.decide(None);
    }

    /// Obeys an `openapi` field that names a schema of its own.
    pub(crate) fn use_document(&self, document: Value) -> Result<(), OpenApiError> {
        let schema = Schema::from_openapi(&document)?;
        self.decide(Some((schema, document)));
        Ok(())
    }

    fn decide(&self, custom: Option<(Schema, Value)>) {
        let mut state = self.state.borrow_mut();
        state.decided = true;
        state.custom = custom;
        state.merging = None;
    }

    /// Whether a kind is known to belong to the cluster. What nobody knows counts as namespaced.
    pub(crate) fn is_cluster_scoped(&self, api_version: &str, kind: &str) -> bool {
        if let Some(namespaced) = Schema::builtin_v1_21().is_namespaced(api_version, kind) {
            return !namespaced;
        }
        let mut state = self.state.borrow_mut();
        match &state.custom {
            Some((custom, _)) => custom.is_namespaced(api_version, kind) == Some(false),
            None => {
                state.builtin_in_use = true;
                false
            }
        }
    }

    /// The schema that strategic merge goes by.
    pub(crate) fn for_merging(&self) -> Merging {
        let mut state = self.state.borrow_mut();
        if let Some(merging) = &state.merging {
            return merging.clone();
        }
        let merging = match &state.custom {
            None => Merging::Builtin(Schema::builtin_v1_21()),
            Some((custom, document)) if state.builtin_in_use => {
                let both = Schema::builtin_v1_21().extended_by_openapi(document);
                Merging::Own(Rc::new(both.unwrap_or_else(|_| custom.clone())))
            }
            Some((custom, _)) => Merging::Own(Rc::new(custom.clone())),
        };
        state.builtin_in_use |= state.custom.is_none();
        state.merging = Some(merging.clone());
        merging
    }
}
