//! Playing a scenario in the simulator.

mod contents;
mod stage;
mod steps;

use std::sync::Arc;

use firstpass_apiserver::{ApiServer, Apply, Cursor, Duration, EventType, Request, Time};
use firstpass_controllers::Delays;
use firstpass_flux::{Controller, ControllerSettings, FluxVersion};
use firstpass_knowledge::Knowledge;
use firstpass_sim::{Setting, World};
use serde_json::{Value, json};

use crate::change::{Change, Item};
use crate::scenario::{Scenario, ScenarioError};
use contents::Revisions;

/// Plays a scenario and says what happened.
///
/// # Errors
/// If the scenario asks for something that the simulator cannot do, or a step fails.
pub fn play(scenario: &Scenario) -> Result<Vec<Item>, String> {
    let mut player = Player::new(scenario).map_err(|error| error.to_string())?;
    player.begin()?;
    for step in &scenario.steps {
        player.mark(&step.text);
        player
            .step(step)
            .map_err(|message| format!("step `{}`: {message}", step.text))?;
    }
    player.mark("end");
    Ok(player.items)
}

/// Plays a scenario step by step.
struct Player<'s> {
    scenario: &'s Scenario,
    revisions: Revisions,
    world: World,
    items: Vec<Item>,
    cursor: Cursor,
    requests: u32,
}

impl<'s> Player<'s> {
    fn new(scenario: &'s Scenario) -> Result<Player<'s>, ScenarioError> {
        let knowledge = stage::knowledge(scenario)?;
        let flux: FluxVersion = scenario.flux.parse().map_err(stage::error)?;
        let mut settings = ControllerSettings::new(flux);
        settings.apply_args(Controller::Kustomize, ["--requeue-dependency=5s"]);
        settings.apply_args(Controller::Helm, ["--requeue-dependency=5s"]);
        settings.interval_jitter_percent = 0;
        let arguments = scenario.arguments.iter().map(String::as_str);
        settings.apply_args(Controller::Kustomize, arguments);
        let revisions = Revisions::new(scenario, flux)?;
        let setting = Setting {
            settings: Arc::new(settings),
            knowledge: Arc::clone(&knowledge),
            delays: Arc::new(ShortDelays {
                scenario: scenario.clone(),
            }),
        };
        let server = stage::set(scenario)?;
        let cursor = server.log().head();
        let mut world = World::new(server, setting, Arc::new(revisions.contents()));
        world.run_for(Duration::from_secs(1));
        Ok(Player {
            scenario,
            revisions,
            world,
            items: Vec::new(),
            cursor,
            requests: 1,
        })
    }

    fn begin(&mut self) -> Result<(), String> {
        self.mark("begin");
        let (kind, name, url) = if self.scenario.helm {
            ("HelmRepository", "charts", "https://charts.example.com")
        } else {
            (
                "GitRepository",
                "flux-system",
                "https://git.example.com/fleet.git",
            )
        };
        let source = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": "flux-system"},
            "spec": {"interval": "1h", "url": url},
        });
        for object in std::iter::once(&source).chain(&self.scenario.seeds) {
            self.world
                .intervene(|server| apply(server, object, "bootstrap"))?;
        }
        Ok(())
    }

    /// Writes down what happened so far, and that a step begins.
    fn mark(&mut self, text: &str) {
        self.catch_up();
        self.items.push(Item::Step {
            at: self.world.now().as_secs_f64(),
            text: text.to_owned(),
        });
    }

    fn catch_up(&mut self) {
        let events = self.world.server.events_since(self.cursor);
        let items = events.map(|event| {
            let (old, new) = match event.event_type {
                EventType::Added => (None, Some(&event.object)),
                EventType::Modified => (event.previous.as_ref(), Some(&event.object)),
                EventType::Deleted => (Some(&event.object), None),
            };
            Item::Change(Change {
                at: event.at.as_secs_f64(),
                id: (*event.id).clone(),
                old: old.cloned(),
                new: new.cloned(),
                by: event.by.to_string(),
            })
        });
        self.items.extend(items);
        self.cursor = self.world.server.log().head();
    }

    fn limit(&self, span: std::time::Duration) -> Time {
        self.world.now() + span_of(span)
    }
}

fn apply(server: &mut ApiServer, object: &Value, manager: &'static str) -> Result<(), String> {
    server
        .call(&Request::Apply(Apply::forced(Arc::new(object.clone()), manager)))
        .map(|_| ())
        .map_err(|error| format!("{error:?}"))
}

fn span_of(span: std::time::Duration) -> Duration {
    Duration::from_micros(u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
}

/// The delays of the real runs: a machine without network or nodes answers at once, and stand-ins take as long as the
/// scenario says.
#[derive(Debug)]
struct ShortDelays {
    scenario: Scenario,
}

/// Longer than any scenario.
const NEVER: Duration = Duration::from_secs(1_000_000);

impl Delays for ShortDelays {
    fn delay(&self, name: &str, _: &str, _: u64) -> Duration {
        match name {
            "flux-dry-run" | "flux-apply" => Duration::from_millis(10),
            "flux-artifact-fetch" | "flux-build" | "watch-lag" => Duration::from_millis(20),
            "source-fetch" => Duration::from_millis(100),
            "chart-fetch" => Duration::from_millis(800),
            "chart-install" | "chart-upgrade" | "chart-uninstall" => Duration::from_millis(200),
            "image-pull" => Duration::ZERO,
            "pod-start" | "job-run" => self.scenario.workloads.map_or(NEVER, span_of),
            other => span_of(self.scenario.delay(other)),
        }
    }

    fn jittered(&self, interval: Duration, _: &str, _: u64) -> Duration {
        interval
    }
}

/// The knowledge that a run without knowledge of its own has.
fn builtin() -> Arc<Knowledge> {
    Knowledge::builtin()
}
