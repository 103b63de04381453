//! Flux's rules as a running world shows them, in the order of the reference. Each test names the facts that it holds;
//! `docs/flux-rules.md` lists them all.
#![expect(clippy::needless_pass_by_value, reason = "literals read better as they are")]

#[allow(dead_code, reason = "each test file uses its part")]
#[path = "../common/mod.rs"]
mod common;

mod accounts;
mod deletion;
mod dependencies;
mod health;
mod inventory;
mod looks;
mod mapper;
mod objects;
mod outcomes;
mod releases;

mod stages;

use std::sync::Arc;

use common::{contents, hour, kustomization, tier, world_of};
use firstpass_apiserver::{Apply, CrdSketch, Duration, Request, Scope, Target};
use firstpass_controllers::kustomization::TierRecord;
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_sim::World;
use serde_json::{Value, json};

/// The live Kustomization `flux-system/NAME`.
fn live(world: &World, name: &str) -> Arc<Value> {
    Arc::clone(world.server.object(&kustomization_id(name)).unwrap())
}

fn kustomization_id(name: &str) -> ObjectId {
    ObjectId::new(
        "kustomize.toolkit.fluxcd.io",
        "Kustomization",
        Some("flux-system"),
        name,
    )
}

/// Status, reason and message of the Ready condition.
fn ready(world: &World, name: &str) -> (String, String, String) {
    let object = live(world, name);
    let condition = object.condition("Ready").cloned().unwrap_or_default();
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"), text("message"))
}

fn record<'a>(world: &'a World, name: &str) -> &'a TierRecord {
    &world.kustomizations.tiers()[&tier(name)]
}

fn message(world: &World, name: &str) -> String {
    let failure = &record(world, name).failures[0].failure;
    failure.message.lines().next().unwrap_or_default().to_owned()
}

fn is_ready(world: &World, name: &str) -> bool {
    record(world, name).ready_at.is_some()
}

/// When lines of the journal about a Kustomization hold a text, in seconds.
fn times_of(world: &World, name: &str, what: &str) -> Vec<f64> {
    let subject = format!("Kustomization/flux-system/{name}");
    let lines = world.journal().iter();
    lines
        .filter(|line| line.subject == subject && line.what.contains(what))
        .map(|line| line.at.as_secs_f64())
        .collect()
}

fn attempts(world: &World, name: &str) -> usize {
    times_of(world, name, "attempt at").len()
}

/// The subjects of the journal's lines that begin with a text.
fn subjects(world: &World, what: &str) -> Vec<String> {
    let lines = world.journal().iter().filter(|line| line.what.starts_with(what));
    lines.map(|line| line.subject.clone()).collect()
}

fn has(world: &World, kind: &str, name: &str) -> bool {
    world.server.object(&id(kind, name)).is_some()
}

fn id(kind: &str, name: &str) -> ObjectId {
    ObjectId::new("", kind, Some("default"), name)
}

/// One Kustomization `a` with a spec and objects, played until it is quiet.
fn play(flux: &str, spec: Value, objects: Vec<Value>) -> World {
    let paths = [("root", vec![kustomization("a", spec)]), ("a", objects)];
    let mut world = world_of(Arc::new(contents("main@sha1:1", &paths)), flux, 0);
    world.run_until_quiet(hour(24));
    world
}

/// One Kustomization `a` whose objects change with a second revision.
fn play_move(flux: &str, spec: Value, before: Vec<Value>, after: Vec<Value>) -> World {
    let paths = |objects: Vec<Value>| [("root", vec![kustomization("a", spec.clone())]), ("a", objects)];
    let mut world = world_of(Arc::new(contents("main@sha1:1", &paths(before))), flux, 0);
    world.run_until_quiet(hour(1));
    world.move_to(Arc::new(contents("main@sha1:2", &paths(after))));
    world.run_until_quiet(hour(2));
    world
}

/// A person applies an object.
fn apply(world: &mut World, object: Value) {
    world
        .intervene(|server| server.call(&Request::Apply(Apply::forced(object.into(), "person"))))
        .unwrap();
    settle(world);
}

/// Lets the API server do what it does by itself, such as establishing a CRD.
fn settle(world: &mut World) {
    world.run_for(Duration::from_secs(1));
}

/// A person writes a status.
fn write_status(world: &mut World, object: &Value, status: Value) {
    let target = Target::of(object);
    world
        .intervene(|server| {
            server.call(&Request::PatchStatus {
                target,
                patch: status,
                manager: "person".into(),
            })
        })
        .unwrap();
}

/// A person patches a Kustomization.
fn patch(world: &mut World, name: &str, patch: Value) {
    let target = Target::of(&live(world, name));
    world
        .intervene(|server| {
            server.call(&Request::Patch {
                target,
                patch,
                manager: "person".into(),
            })
        })
        .unwrap();
}

/// A person asks for a reconcile.
fn request(world: &mut World, name: &str, token: &str) {
    let annotations = json!({"reconcile.fluxcd.io/requestedAt": token});
    patch(world, name, json!({"metadata": {"annotations": annotations}}));
}

/// A CRD that takes everything.
fn crd(group: &str, kind: &str, versions: &[&str]) -> Value {
    CrdSketch {
        group: group.to_owned(),
        kind: kind.to_owned(),
        plural: None,
        scope: Scope::Namespaced,
        versions: versions.iter().map(|version| (*version).to_owned()).collect(),
    }
    .to_crd()
}

fn custom(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default"}})
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn job(image: &str) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": image}]}}},
    })
}

/// The Kustomization as git has it.
fn live_spec(world: &World, name: &str) -> Value {
    let object = live(world, name);
    kustomization(name, object["spec"].clone())
}
