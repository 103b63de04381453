//! The server: its state, what can be read from it, and the way of a request.

mod aggregated;
mod apply;
mod crds;
mod defaults;
mod delete;
mod namespaces;
mod persist;
mod policies;
mod timers;
mod update;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use firstpass_object::{GroupKind, GroupVersionKind, ObjectExt, ObjectId};
use serde_json::Value;

use crate::apply::{Manager, Managers};
use crate::discovery::{Discovery, Resource};
use crate::error::ApiError;
use crate::request::{Request, Response, Target};
use crate::store::{Cursor, Event, Log, Objects, Stored};
use crate::time::{Duration, Time};

pub use webhooks::Webhook;

/// How a server starts.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Minor version of Kubernetes: 36 for 1.36.
    pub minor: u16,
    /// How long what takes time takes.
    pub delays: Delays,
}

/// How long the API server and the controllers of Kubernetes itself take. The nominal values come from
/// `knowledge/timing.yaml`; these defaults only let tests run without it.
#[derive(Clone, Copy, Debug)]
pub struct Delays {
    /// From the creation of a CRD to its `Established` condition.
    pub crd_established: Duration,
    /// From then until discovery lists the kind (F-229).
    pub discovery_lag: Duration,
    /// From the deletion of a namespace to the deletion of what is in it, and between looks at what is left.
    pub namespace_deletion: Duration,
    /// From the disappearance of an owner to the deletion of what it owned.
    pub garbage_collection: Duration,
}

/// The server.
///
/// Roads not taken: a history of states inside the server. Forks are clones instead, which the harness keeps as long as
/// it needs them; all big parts are shared until written.
#[derive(Clone, Debug)]
pub struct ApiServer {
    minor: u16,
    delays: Delays,
    now: Time,
    /// The last resource version given out.
    resource_version: u64,
    /// The last uid given out.
    uid: u64,
    objects: Objects,
    log: Log,
    discovery: Discovery,
    /// Which objects name an owner, by the owner's uid.
    owned: Arc<BTreeMap<String, BTreeSet<Arc<ObjectId>>>>,
    /// What happens by itself, by time and then in the order in which it was set up.
    timers: BTreeMap<(Time, u64), timers::Timer>,
    timer_count: u64,
    /// Webhooks that exist without an object that says so, by name.
    webhooks: Arc<BTreeMap<String, Webhook>>,
    /// Services (namespace, name) that something answers behind.
    serving: Arc<BTreeSet<(String, String)>>,
    /// CEL rules of CRDs that could not be judged: group, kind and rule, with the reason.
    unread_rules: Arc<BTreeMap<(GroupKind, String), String>>,
    /// Some namespace under deletion waits for an aggregated API.
    has_waiting_namespaces: bool,
    /// How often a Service has begun or ceased to serve.
    serving_changes: u64,
}

impl Default for Delays {
    fn default() -> Delays {
        Delays {
            crd_established: Duration::from_millis(50),
            discovery_lag: Duration::ZERO,
            namespace_deletion: Duration::from_secs(1),
            garbage_collection: Duration::from_millis(500),
        }
    }
}

impl Options {
    /// A server of Kubernetes 1.`minor` with default delays.
    pub fn minor(minor: u16) -> Options {
        Options {
            minor,
            delays: Delays::default(),
        }
    }
}

impl ApiServer {
    /// An empty cluster: the namespaces that Kubernetes creates, and nothing else.
    pub fn new(options: Options) -> ApiServer {
        let mut server = ApiServer {
            minor: options.minor,
            delays: options.delays,
            now: Time::START,
            resource_version: 0,
            uid: 0,
            objects: Objects::default(),
            log: Log::default(),
            discovery: Discovery::new(options.minor),
            owned: Arc::default(),
            timers: BTreeMap::new(),
            timer_count: 0,
            webhooks: Arc::default(),
            serving: Arc::default(),
            unread_rules: Arc::default(),
            has_waiting_namespaces: false,
            serving_changes: 0,
        };
        server.create_default_namespaces();
        server
    }

    /// Minor version of Kubernetes.
    pub fn minor(&self) -> u16 {
        self.minor
    }

    /// How long the server and the controllers of Kubernetes itself take.
    pub fn delays(&self) -> Delays {
        self.delays
    }

    /// From now on they take this long.
    pub fn set_delays(&mut self, delays: Delays) {
        self.delays = delays;
    }

    /// The time that requests happen at.
    pub fn now(&self) -> Time {
        self.now
    }

    /// When something next happens by itself; call [`ApiServer::advance`] with that time.
    pub fn next_wakeup(&self) -> Option<Time> {
        self.timers.first_key_value().map(|((at, _), _)| *at)
    }

    /// Moves the time on and lets happen what is due until then, in order.
    ///
    /// # Panics
    /// If the time would run backwards.
    pub fn advance(&mut self, now: Time) {
        assert!(now >= self.now, "time runs backwards: from {} to {now}", self.now);
        while let Some(((at, _), timer)) = self.pop_due(now) {
            self.now = at.max(self.now);
            self.fire(timer);
        }
        self.now = now;
    }

    /// What a client's mapper finds for a kind: the kind as discovery lists it, or "no matches" (F-221, F-224).
    pub fn resolve(&self, gvk: &GroupVersionKind) -> Result<Arc<Resource>, ApiError> {
        self.discovery.resolve(gvk)
    }

    /// The kind as discovery lists it, whatever its versions; `None` if it lists none.
    pub fn resource(&self, kind: &GroupKind) -> Option<&Arc<Resource>> {
        self.discovery.listed(kind)
    }

    /// All kinds that discovery lists: built-in ones by group and kind, then those of CRDs.
    pub fn resources(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.discovery.iter_listed()
    }

    /// A request of a client that looks the kind up first. A kind that discovery does not list is
    /// [`ApiError::no_kind_match`], before anything reaches the server.
    pub fn call(&mut self, request: &Request) -> Result<Response, ApiError> {
        self.resolve(&request.gvk())?;
        self.execute(request)
    }

    /// A request as it arrives at the server, from a client that knows the path already (F-226): a kind that is not
    /// served is a plain 404.
    pub fn execute(&mut self, request: &Request) -> Result<Response, ApiError> {
        match request {
            Request::Get(target) => {
                let (resource, id) = self.locate(target)?;
                let stored = self
                    .objects
                    .get(&id)
                    .ok_or_else(|| ApiError::not_found(&resource, &id.name))?;
                self.check_conversion(&target.gvk)?;
                Ok(Response::Object(in_version(&stored.object, &target.gvk)))
            }
            Request::List { gvk, namespace } => {
                let resource = self.served(gvk)?;
                let namespace = namespace.as_deref().filter(|_| resource.is_namespaced());
                let items = self.objects.list(&gvk.group_kind(), namespace);
                let items: Vec<_> = items.map(|stored| in_version(&stored.object, gvk)).collect();
                if !items.is_empty() {
                    self.check_conversion(gvk)?;
                }
                Ok(Response::List(items))
            }
            Request::Apply(apply) => self.apply(apply),
            Request::Create { object, manager } => self.create(object, manager),
            Request::Update { object, manager } => self.update(object, manager),
            Request::UpdateStatus { object, manager } => self.update_status(object, manager),
            Request::Patch {
                target,
                patch,
                manager,
            } => self.patch(target, patch, manager),
            Request::PatchStatus {
                target,
                patch,
                manager,
            } => self.patch_status(target, patch, manager),
            Request::Delete {
                target,
                propagation,
                uid,
                by,
            } => self.delete(target, *propagation, uid.as_deref(), by),
        }
    }

    /// An object, past all versions and discovery: for models that only look.
    pub fn object(&self, id: &ObjectId) -> Option<&Arc<Value>> {
        self.objects.get(id).map(|stored| &stored.object)
    }

    /// The objects of a kind by namespace and name; `namespace` picks one namespace.
    pub fn objects<'a>(
        &'a self,
        kind: &GroupKind,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a ObjectId, &'a Arc<Value>)> + use<'a> {
        self.objects
            .list(kind, namespace)
            .map(|stored| (&*stored.id, &stored.object))
    }

    /// Everything there is, by kind, namespace and name.
    pub fn all_objects(&self) -> impl Iterator<Item = (&ObjectId, &Arc<Value>)> {
        self.objects.iter().map(|stored| (&*stored.id, &stored.object))
    }

    /// How many objects there are.
    pub fn object_count(&self) -> usize {
        self.objects.len()
    }

    /// Who owns which fields of an object, in place of `metadata.managedFields`.
    pub fn managers(&self, id: &ObjectId) -> Option<&Managers> {
        self.objects.get(id).map(|stored| &stored.managers)
    }

    /// Hands the fields of some managers to the apply entry of another, as Flux does by a patch before it applies
    /// (F-246). Says whether there was anything to hand over.
    pub fn absorb_managers(&mut self, id: &ObjectId, into: &str, whose: impl Fn(&Manager) -> bool) -> bool {
        let Some(stored) = self.objects.get(id).cloned() else {
            return false;
        };
        let mut managers = stored.managers.clone();
        let api_version = stored.object.api_version().to_owned();
        if !managers.absorb(into, &api_version, whose) {
            return false;
        }
        let object = (*stored.object).clone();
        self.persist(
            Stored {
                managers,
                object: Arc::new(object),
                id: Arc::clone(&stored.id),
            },
            &Arc::from(into),
        );
        true
    }

    /// CEL rules of CRDs that could not be judged so far, by kind and rule, with the reason of each. They are taken to hold.
    pub fn unread_rules(&self) -> impl Iterator<Item = (&GroupKind, &str, &str)> {
        self.unread_rules
            .iter()
            .map(|((kind, rule), reason)| (kind, rule.as_str(), reason.as_str()))
    }

    fn note_unread(&mut self, kind: &GroupKind, unread: Vec<(String, String)>) {
        for (rule, reason) in unread {
            let key = (kind.clone(), rule);
            if !self.unread_rules.contains_key(&key) {
                Arc::make_mut(&mut self.unread_rules).insert(key, reason);
            }
        }
    }

    /// The log of all changes.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The changes since a place in the log.
    pub fn events_since(&self, cursor: Cursor) -> impl Iterator<Item = &Event> {
        self.log.since(cursor)
    }

    /// Forgets changes that no reader needs any more.
    pub fn compact(&mut self, before: Cursor) {
        self.log.compact(before);
    }

    /// The served kind of a request, or the 404 of an unknown path.
    fn served(&self, gvk: &GroupVersionKind) -> Result<Arc<Resource>, ApiError> {
        self.discovery
            .served(&gvk.group_kind())
            .filter(|resource| resource.serves(&gvk.version))
            .cloned()
            .ok_or_else(ApiError::unknown_path)
    }

    /// The kind and the identity that a target means: cluster-scoped kinds drop the namespace (F-217), namespaced ones
    /// need one (F-300).
    fn locate(&self, target: &Target) -> Result<(Arc<Resource>, ObjectId), ApiError> {
        let resource = self.served(&target.gvk)?;
        let mut id = target.id();
        if !resource.is_namespaced() {
            id.namespace = None;
        } else if id.namespace.is_none() {
            return Err(ApiError::unknown_path());
        }
        Ok((resource, id))
    }
}

/// An object as a request for another of its versions sees it. Conversion of the content is absent on purpose: what is
/// written in one version is read in another as it is.
fn in_version(object: &Arc<Value>, gvk: &GroupVersionKind) -> Arc<Value> {
    let api_version = gvk.api_version();
    if object.api_version() == api_version {
        return Arc::clone(object);
    }
    let mut converted = (**object).clone();
    converted["apiVersion"] = Value::String(api_version);
    Arc::new(converted)
}
