//! A cluster on virtual time: the API server, the controllers, the clock, and the record of what happened.
//!
//! [`World::step`] is the one function that matters: it moves the clock to the next thing that happens, lets it happen,
//! and tells everybody what changed. A world is cloned to fork it; big parts are shared until written.

use std::collections::BTreeMap;
use std::sync::Arc;

use firstpass_apiserver::{ApiServer, Cursor, Delays as ServerDelays, Duration, Event, EventType, Time};
use firstpass_controllers::{
    AddressController, Contents, Context, Controller, Delays, DiskController, FluxRestController,
    HelmController, Journal, KustomizationController, Line, OperatorController, SourceController,
    StorageController, WorkloadController,
};
use firstpass_flux::ControllerSettings;
use firstpass_knowledge::Knowledge;
use firstpass_object::ObjectId;

use crate::faults::{Fault, FaultKind, Faults, FluxController};
use crate::progress::Progress;

/// How many controllers there are.
const CONTROLLERS: usize = 9;

/// Which of them is kustomize-controller.
const KUSTOMIZATIONS: usize = 1;

/// What stays the same during a run.
#[derive(Clone)]
pub struct Setting {
    /// How Flux is set up.
    pub settings: Arc<ControllerSettings>,
    /// What is known of charts, operators and kinds.
    pub knowledge: Arc<Knowledge>,
    /// How long things take.
    pub delays: Arc<dyn Delays + Send + Sync>,
}

/// The world.
#[derive(Clone)]
pub struct World {
    setting: Setting,
    contents: Arc<dyn Contents + Send + Sync>,
    /// The API server.
    pub server: ApiServer,
    /// kustomize-controller.
    pub kustomizations: KustomizationController,
    /// source-controller.
    pub sources: SourceController,
    /// helm-controller.
    pub releases: HelmController,
    /// Pods and what runs them.
    pub workloads: WorkloadController,
    /// Claims and volumes.
    pub storage: StorageController,
    /// Operators.
    pub operators: OperatorController,
    /// Disks that CDI makes.
    pub disks: DiskController,
    /// Load-balancer addresses.
    pub addresses: AddressController,
    /// Flux's other controllers.
    flux_rest: FluxRestController,
    cursor: Cursor,
    journal: Journal,
    epoch: Time,
    progress: Progress,
    faults: Arc<Faults>,
    /// When each fault that has a moment of its own comes, by its place among the faults.
    strikes: BTreeMap<(Time, usize), Strike>,
    /// Whether changes go from the log once everybody here knows of them.
    forgets_history: bool,
}

/// What happens at one moment because of a fault.
#[derive(Clone, Copy, Debug)]
enum Strike {
    /// It begins.
    Begins,
    /// It has healed.
    Heals,
}

impl World {
    /// A world in which nothing has happened yet. Whatever `server` holds is news to the controllers.
    pub fn new(server: ApiServer, setting: Setting, contents: Arc<dyn Contents + Send + Sync>) -> World {
        World {
            kustomizations: KustomizationController::new(&setting.settings),
            sources: SourceController::default(),
            releases: HelmController::new(&setting.settings),
            workloads: WorkloadController::default(),
            storage: StorageController::default(),
            operators: OperatorController::default(),
            disks: DiskController::default(),
            addresses: AddressController::default(),
            flux_rest: FluxRestController::default(),
            contents,
            setting,
            cursor: Cursor::default(),
            journal: Journal::default(),
            epoch: Time::START,
            progress: Progress::default(),
            faults: Arc::default(),
            strikes: BTreeMap::new(),
            forgets_history: false,
            server,
        }
    }

    /// From now on, drops changes from the server's log as soon as the controllers and the journal know of them. They hold
    /// every state that an object ever had, which is most of the memory that a large cluster takes; only somebody who
    /// watches from outside needs them.
    pub fn forget_history(&mut self) {
        self.forgets_history = true;
    }

    /// From now on things take as long as in another schedule: how a common start branches into many.
    pub fn follow(&mut self, delays: Arc<dyn Delays + Send + Sync>) {
        self.server.set_delays(ServerDelays {
            crd_established: delays.delay("crd-establish", "cluster", 0),
            discovery_lag: delays.delay("discovery-lag", "cluster", 0),
            namespace_deletion: delays.delay("namespace-terminate", "cluster", 0),
            ..self.server.delays()
        });
        self.setting.delays = delays;
    }

    /// Lets things go wrong, at times that count from the epoch.
    pub fn suffer(&mut self, faults: Vec<Fault>) {
        let faults = Faults::new(faults, self.epoch);
        for (index, fault) in faults.all().iter().enumerate() {
            self.strikes.insert((faults.begin(fault), index), Strike::Begins);
            if let Some(end) = faults.end(fault) {
                self.strikes.insert((end, index), Strike::Heals);
            }
        }
        self.faults = Arc::new(faults);
    }

    /// Lets something go wrong from now on, until [`World::heal`].
    pub fn break_now(&mut self, kind: FaultKind) {
        let now = self.now();
        Arc::make_mut(&mut self.faults).begin_now(kind, now);
        self.progress.disturb(now);
    }

    /// Heals what has been broken without a plan for its end.
    pub fn heal(&mut self) {
        let now = self.now();
        Arc::make_mut(&mut self.faults).end_now(now);
        self.progress.disturb(now);
    }

    /// The faults of this run.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Whether a fault is still to come or to heal.
    pub fn is_troubled(&self) -> bool {
        !self.strikes.is_empty()
    }

    /// Faults that begin or heal at this moment.
    fn strike(&mut self) {
        let now = self.now();
        while let Some(entry) = self.strikes.first_entry() {
            if entry.key().0 > now {
                return;
            }
            let index = entry.key().1;
            let strike = entry.remove();
            let faults = Arc::clone(&self.faults);
            let fault = &faults.all()[index];
            let word = match strike {
                Strike::Begins => "begins",
                Strike::Heals => "is over",
            };
            self.progress.disturb(now);
            self.context(|world, context| {
                context.note("fault", fault, word);
                if matches!(strike, Strike::Heals) {
                    return;
                }
                match &fault.kind {
                    FaultKind::RestartController(FluxController::Kustomize) => {
                        world.kustomizations.restart(context);
                    }
                    FaultKind::RestartController(FluxController::Helm) => world.releases.restart(context),
                    FaultKind::RestartController(FluxController::Source) => world.sources.restart(context),
                    FaultKind::CrashLoop(id)
                    | FaultKind::WebhookDies { server: id, .. }
                    | FaultKind::Stuck(id) => {
                        world.workloads.crash(id, context);
                    }
                    FaultKind::SourceDown(_)
                    | FaultKind::SourceSlow(_)
                    | FaultKind::ArtifactGone(_)
                    | FaultKind::SlowImage(_)
                    | FaultKind::SlowOperator(_)
                    | FaultKind::RemoteBaseSlow(_) => {}
                }
            });
            self.deliver();
        }
    }

    /// The virtual time.
    pub fn now(&self) -> Time {
        self.server.now()
    }

    /// How Flux is set up.
    pub fn settings(&self) -> &ControllerSettings {
        &self.setting.settings
    }

    /// What happened so far.
    pub fn journal(&self) -> &[Line] {
        self.journal.lines()
    }

    /// Starts the record anew: what happened so far is the stage, and times count from now on.
    pub fn begin_record(&mut self) {
        self.deliver();
        self.journal.clear(&self.server);
        self.epoch = self.now();
    }

    /// When the record began.
    pub fn epoch(&self) -> Time {
        self.epoch
    }

    /// What has been achieved so far.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// When the next thing happens; `None` if nothing ever will.
    pub fn next_at(&self) -> Option<Time> {
        let controllers = self.controllers().into_iter().filter_map(Controller::next_wake);
        let strike = self.strikes.first_key_value().map(|((at, _), _)| *at);
        self.server
            .next_wakeup()
            .into_iter()
            .chain(controllers)
            .chain(strike)
            .min()
    }

    /// Moves the clock to the next thing that happens, no further than `limit`, and lets it happen. Says whether anything
    /// did.
    pub fn step(&mut self, limit: Time) -> bool {
        self.deliver();
        let Some(at) = self.next_at() else { return false };
        if at > limit {
            self.server.advance(limit.max(self.now()));
            return false;
        }
        self.server.advance(at.max(self.now()));
        self.deliver();
        self.strike();
        let now = self.now();
        for index in self.order("controllers", now.as_micros()) {
            if self.controllers()[index]
                .next_wake()
                .is_some_and(|wake| wake <= now)
            {
                self.with(index, |controller, context| controller.wake(context));
                self.deliver();
            }
        }
        true
    }

    /// Lets a while pass, whatever happens in it.
    pub fn run_for(&mut self, span: Duration) {
        let limit = self.now() + span;
        while self.step(limit) {}
    }

    /// Does something to the API server from outside, as a person would, and tells everybody.
    pub fn intervene<T>(&mut self, act: impl FnOnce(&mut ApiServer) -> T) -> T {
        self.deliver();
        let answer = act(&mut self.server);
        self.deliver();
        answer
    }

    /// The sources move to other contents: a new revision is pushed.
    pub fn move_to(&mut self, contents: Arc<dyn Contents + Send + Sync>) {
        self.contents = contents;
        let sources: Vec<ObjectId> = self.sources.records().keys().cloned().collect();
        self.context(|world, context| {
            for source in &sources {
                world.sources.fetch_now(source, context);
            }
        });
        self.deliver();
    }

    /// kustomize-controller starts anew: it forgets what it was doing and sees everything as if it were new.
    pub fn restart_kustomize_controller(&mut self) {
        self.deliver();
        self.kustomizations = KustomizationController::new(&self.setting.settings);
        let objects: Vec<_> = self
            .server
            .all_objects()
            .map(|(_, object)| Arc::clone(object))
            .collect();
        for object in &objects {
            self.with(KUSTOMIZATIONS, |controller, context| {
                controller.observe(None, Some(object), context);
            });
        }
        self.deliver();
    }

    /// helm-controller starts anew: actions that run fail, and it looks at every release.
    pub fn restart_helm_controller(&mut self) {
        self.deliver();
        self.context(|world, context| world.releases.restart(context));
        self.deliver();
    }

    /// Whether something that takes its time is under way.
    pub fn is_working(&self) -> bool {
        self.is_troubled()
            || self.server.next_wakeup().is_some()
            || self.controllers().into_iter().any(Controller::is_working)
    }

    /// The order in which controllers wake at one moment, or are told of one change: nobody says who is first, so a schedule
    /// does.
    fn order(&self, among: &str, occasion: u64) -> [usize; CONTROLLERS] {
        let turn = |index: usize| {
            let nth = occasion
                .wrapping_mul(CONTROLLERS as u64)
                .wrapping_add(index as u64);
            self.setting.delays.turn(among, nth)
        };
        let mut order: [(u64, usize); CONTROLLERS] = std::array::from_fn(|index| (turn(index), index));
        order.sort_unstable();
        order.map(|(_, index)| index)
    }

    /// The controllers, in the order in which they act where no schedule says another.
    fn controllers(&self) -> [&dyn Controller; CONTROLLERS] {
        [
            &self.sources,
            &self.kustomizations,
            &self.releases,
            &self.workloads,
            &self.storage,
            &self.operators,
            &self.disks,
            &self.addresses,
            &self.flux_rest,
        ]
    }

    /// Lets one controller act.
    fn with(&mut self, index: usize, act: impl FnOnce(&mut dyn Controller, &mut Context<'_>)) {
        self.context(|actors, context| {
            let Actors {
                kustomizations,
                sources,
                releases,
                workloads,
                storage,
                operators,
                disks,
                addresses,
                flux_rest,
            } = actors;
            let controllers: [&mut dyn Controller; CONTROLLERS] = [
                *sources,
                *kustomizations,
                *releases,
                *workloads,
                *storage,
                *operators,
                *disks,
                *addresses,
                *flux_rest,
            ];
            if let Some(controller) = controllers.into_iter().nth(index) {
                act(controller, context);
            }
        });
    }

    /// Lets the controllers act in their surroundings.
    fn context(&mut self, act: impl FnOnce(&mut Actors<'_>, &mut Context<'_>)) {
        let mut context = Context {
            now: self.server.now(),
            settings: &self.setting.settings,
            knowledge: &self.setting.knowledge,
            contents: &*self.contents,
            server: &mut self.server,
            delays: &*self.setting.delays,
            troubles: &*self.faults,
            journal: &mut self.journal,
        };
        let mut actors = Actors {
            kustomizations: &mut self.kustomizations,
            sources: &mut self.sources,
            releases: &mut self.releases,
            workloads: &mut self.workloads,
            storage: &mut self.storage,
            operators: &mut self.operators,
            disks: &mut self.disks,
            addresses: &mut self.addresses,
            flux_rest: &mut self.flux_rest,
        };
        act(&mut actors, &mut context);
    }

    /// Tells everybody what changed, until nothing changes any more at this moment.
    fn deliver(&mut self) {
        self.progress
            .note_serving(self.server.serving_changes(), self.server.now());
        loop {
            self.journal.catch_up(&self.server);
            let events: Vec<Event> = self.server.events_since(self.cursor).cloned().collect();
            if events.is_empty() {
                if self.forgets_history {
                    self.server.compact(self.cursor);
                }
                return;
            }
            self.cursor = self.server.log().head();
            for event in &events {
                self.progress.note(event);
                let (old, new) = match event.event_type {
                    EventType::Added => (None, Some(&event.object)),
                    EventType::Modified => (event.previous.as_ref(), Some(&event.object)),
                    EventType::Deleted => (Some(&event.object), None),
                };
                for index in self.order("delivery", event.index) {
                    self.with(index, |controller, context| controller.observe(old, new, context));
                }
            }
        }
    }
}

/// The controllers, apart from what surrounds them.
struct Actors<'a> {
    kustomizations: &'a mut KustomizationController,
    sources: &'a mut SourceController,
    releases: &'a mut HelmController,
    workloads: &'a mut WorkloadController,
    storage: &'a mut StorageController,
    operators: &'a mut OperatorController,
    disks: &'a mut DiskController,
    addresses: &'a mut AddressController,
    flux_rest: &'a mut FluxRestController,
}
