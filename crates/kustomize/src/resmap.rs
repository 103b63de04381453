//! The resources of a build in the order in which they came, and the rules by which they may stand together.

use std::cell::OnceCell;

use firstpass_object::Step;
use firstpass_source::RepoPath;
use indexmap::IndexMap;

use crate::Error;
use crate::resource::{Behavior, Identity, Key, Resource, notes};

/// Resources in order. No two of them mean the same object.
#[derive(Clone, Default)]
pub(crate) struct ResMap {
    items: Vec<Resource>,
    /// Where the resources with an id are; built when it is asked for and dropped when a resource may have changed.
    index: OnceCell<Index>,
}

/// The positions of resources by their ids.
#[derive(Clone, Default)]
struct Index {
    by_current_id: IndexMap<Key, Vec<usize>>,
    by_any_id: IndexMap<Key, Vec<usize>>,
}

impl ResMap {
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Resource> {
        self.items.iter()
    }

    /// The resources for change; what is known of their ids is forgotten.
    pub(crate) fn items_mut(&mut self) -> &mut Vec<Resource> {
        self.index.take();
        &mut self.items
    }

    pub(crate) fn get_mut(&mut self, position: usize) -> &mut Resource {
        &mut self.items_mut()[position]
    }

    /// Takes what was changed in one place of a resource to the other places that share the value.
    pub(crate) fn settle_shared(&mut self) {
        if self.items.iter().any(|resource| !resource.shared.is_empty()) {
            self.items_mut().iter_mut().for_each(Resource::settle_shared);
        }
    }

    pub(crate) fn into_items(self) -> Vec<Resource> {
        self.items
    }

    /// Appends a resource.
    ///
    /// # Errors
    /// If another one means the same object.
    pub(crate) fn append(&mut self, resource: Resource) -> Result<(), Error> {
        // The id is always asked for: that may put the built-in schema in use, as it does in kustomize.
        let id = resource.current_id();
        // Most files hold one object: nothing needs an index for that.
        if !self.items.is_empty() {
            let key = id.key();
            if let Some(first) = self.index().by_current_id.get(&key).and_then(|at| at.first()) {
                return Err(already_registered(&resource, &self.items[*first]));
            }
        }
        let position = self.items.len();
        if let Some(index) = self.index.get_mut() {
            index.insert(position, &resource);
        }
        self.items.push(resource);
        Ok(())
    }

    pub(crate) fn append_all(&mut self, others: ResMap) -> Result<(), Error> {
        others
            .items
            .into_iter()
            .try_for_each(|resource| self.append(resource))
    }

    /// Two resources may come to mean the same object when patches rename them.
    ///
    /// # Errors
    /// If there are two such resources. kustomize panics then, which ends its build as well.
    pub(crate) fn check_unique(&self) -> Result<(), Error> {
        let twice = self
            .index()
            .by_current_id
            .values()
            .find_map(|at| Some((*at.first()?, *at.get(1)?)));
        match twice {
            Some((first, second)) => Err(already_registered(&self.items[second], &self.items[first])),
            None => Ok(()),
        }
    }

    /// Puts a generated resource among the others, as its behavior says. `lenient`: a resource to merge into that is not
    /// there may lie in a part of the build that is missing.
    pub(crate) fn absorb(&mut self, mut resource: Resource, lenient: bool) -> Result<(), Error> {
        let matches = self.positions_by_any_id(resource.current_id());
        let behavior = resource.behavior();
        match (&matches[..], behavior) {
            ([], Behavior::Merge | Behavior::Replace) if !lenient => Err(Error::new(format!(
                "id {} does not exist; cannot merge or replace",
                resource.current_id()
            ))
            .help("use `behavior: create`, or correct the name")),
            ([], _) => self.append(resource),
            (&[at], Behavior::Replace) => {
                resource.take_metadata_from(&self.items[at]);
                self.replace(at, resource);
                Ok(())
            }
            (&[at], Behavior::Merge) => {
                let old = &self.items[at];
                let origin = old.annotation(notes::ORIGIN).map(str::to_owned);
                resource.take_metadata_from(old);
                crate::generator::merge_data(&mut resource, old);
                if let Some(origin) = origin {
                    resource.set_annotation(notes::ORIGIN, &origin);
                }
                self.replace(at, resource);
                Ok(())
            }
            (&[at], Behavior::Create | Behavior::Unspecified) => Err(Error::new(format!(
                "id {} exists; can not use behavior: '{}', behavior must be merge or replace",
                resource.current_id(),
                if behavior == Behavior::Create {
                    "create"
                } else {
                    "unspecified"
                },
            ))
            .because(origin_of("the other comes from", &self.items[at]))
            .help("set `behavior: merge` or `behavior: replace`, or choose another name")),
            _ => Err(Error::new(format!(
                "found multiple objects that could accept merge of {}",
                resource.current_id()
            ))),
        }
    }

    fn replace(&mut self, position: usize, mut resource: Resource) {
        let old = &self.items[position];
        let mut origin = old.origin.clone();
        origin.steps.append(&mut resource.origin.steps);
        if resource.behavior() == Behavior::Merge {
            resource.origin = origin;
        } else {
            resource.origin.steps = origin.steps;
        }
        *self.get_mut(position) = resource;
    }

    /// Drops the resources that patches have deleted.
    pub(crate) fn drop_gone(&mut self) {
        if self.items.iter().any(Resource::is_gone) {
            self.items_mut().retain(|resource| !resource.is_gone());
        }
    }

    pub(crate) fn sort_by_cached_key<K: Ord>(&mut self, key: impl FnMut(&Resource) -> K) {
        self.items_mut().sort_by_cached_key(key);
    }

    /// How many resources there are of each current id.
    pub(crate) fn current_keys(&self) -> IndexMap<Key, usize> {
        let mut keys = IndexMap::with_capacity(self.items.len());
        for resource in &self.items {
            *keys.entry(resource.current_id().key()).or_insert(0) += 1;
        }
        keys
    }

    /// The resources that mean this object now or meant it once, those deleted aside.
    pub(crate) fn positions_by_any_id(&self, id: &Identity) -> Vec<usize> {
        let found = self
            .index()
            .by_any_id
            .get(&id.key())
            .map_or(&[][..], Vec::as_slice);
        found
            .iter()
            .copied()
            .filter(|at| !self.items[*at].is_gone())
            .collect()
    }

    /// The one resource that a patch without a target is for.
    pub(crate) fn position_for_patch(&self, id: &Identity) -> Result<usize, Error> {
        match self.positions_by_any_id(id)[..] {
            [at] => Ok(at),
            [] => Err(Error::new(format!(
                "no matches for Id {id}; failed to find unique target for patch {id}"
            ))
            .help(self.near(id))),
            _ => Err(Error::new(format!(
                "multiple matches for Id {id}; failed to find unique target for patch {id}"
            ))
            .help("give the patch a `target` that says which one is meant")),
        }
    }

    /// What a patch may have meant whose id nothing has.
    fn near(&self, id: &Identity) -> String {
        let same_name = self
            .items
            .iter()
            .flat_map(Resource::all_ids)
            .find(|other| other.id.name == id.id.name);
        match same_name {
            Some(other) => {
                format!("there is {other}; group, version, kind, name and namespace must all be the same")
            }
            None => "correct the patch's apiVersion, kind, name or namespace, or add the resource".to_owned(),
        }
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let mut index = Index::default();
            for (position, resource) in self.items.iter().enumerate() {
                index.insert(position, resource);
            }
            index
        })
    }
}

impl Index {
    fn insert(&mut self, position: usize, resource: &Resource) {
        self.by_current_id
            .entry(resource.current_id().key())
            .or_default()
            .push(position);
        for id in resource.all_ids() {
            let positions = self.by_any_id.entry(id.key()).or_default();
            if positions.last() != Some(&position) {
                positions.push(position);
            }
        }
    }
}

fn already_registered(second: &Resource, first: &Resource) -> Error {
    Error::new(format!(
        "may not add resource with an already registered id: {}",
        second.current_id()
    ))
    .because(origin_of("the first one is in", first))
    .help("keep one of them, or change the other with a patch")
}

fn origin_of(what: &str, resource: &Resource) -> String {
    format!("{what} {}:{}", resource.origin.file, resource.origin.line)
}

/// The step that a transformer leaves in the origin of what it changed.
pub(crate) fn transformed(by: &RepoPath, what: &str) -> Step {
    Step::Transformed {
        by: by.as_str().to_owned(),
        what: what.to_owned(),
    }
}
