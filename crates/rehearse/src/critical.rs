//! The critical path: which chain of waits made the total?
//!
//! From the tier that was Ready last the path leads back: what its health checks waited for at last, its apply, failed
//! attempts before it, and then the dependency or parent that let it begin.

use std::collections::BTreeSet;

use firstpass_apiserver::Time;
use firstpass_controllers::kustomization::Obstacle;
use firstpass_diagnostics::Leg;
use firstpass_flux::names;
use firstpass_object::TierName;

use crate::explain::{Explainer, TierView};
use crate::why::first_line;

/// Objects beyond this many are counted, not listed.
const LISTED_MAX: usize = 2;

/// Up to which event of a tier the path leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    Applied,
    Ready,
}

/// The path to the tier that was Ready last, first leg first; empty if no tier is Ready.
pub(crate) fn path(explainer: &Explainer<'_>) -> Vec<Leg> {
    let done = explainer.tiers.iter().filter(|view| view.is_done());
    let last = done.max_by_key(|view| (view.record.ready_at, std::cmp::Reverse(&view.name)));
    last.map(|last| path_to(explainer, last)).unwrap_or_default()
}

/// The path to a tier that is Ready, first leg first.
pub(crate) fn path_to(explainer: &Explainer<'_>, view: &TierView) -> Vec<Leg> {
    let mut path = Path {
        explainer,
        legs: Vec::new(),
        seen: BTreeSet::new(),
    };
    path.follow(view, Event::Ready);
    path.legs.reverse();
    path.legs
}

struct Path<'a> {
    explainer: &'a Explainer<'a>,
    /// Last leg first.
    legs: Vec<Leg>,
    seen: BTreeSet<TierName>,
}

impl<'a> Path<'a> {
    fn add(&mut self, tier: &TierName, from: Time, to: Time, what: String) {
        if from < to {
            self.legs.push(Leg {
                tier: tier.clone(),
                from_s: self.explainer.seconds(from),
                to_s: self.explainer.seconds(to),
                what,
            });
        }
    }

    fn follow(&mut self, view: &TierView, event: Event) {
        if !self.seen.insert(view.name.clone()) {
            return;
        }
        let record = &view.record;
        let (Some(came_up), Some(ready)) = (&record.came_up, record.ready_at) else {
            return;
        };
        if event == Event::Ready {
            // Where the last thing it waited for is another tier, that tier's way is the way.
            if let Some(child) = self.held_by_tier(&came_up.held_by, ready) {
                let at = child.record.ready_at.unwrap_or(ready);
                self.add(
                    &view.name,
                    at,
                    ready,
                    format!("sees that `{}` is Ready", child.name),
                );
                self.follow(child, Event::Ready);
                return;
            }
            let what = format!("waits for the health of {}", listed(&came_up.held_by));
            self.add(&view.name, came_up.applied_at, ready, what);
        }
        let applied = match event {
            Event::Ready => came_up.applied_at,
            Event::Applied => record.applied_at.unwrap_or(came_up.applied_at),
        };
        let failures = record
            .failures
            .iter()
            .filter(|failure| failure.began_at < applied);
        let began = if came_up.began_at <= applied {
            came_up.began_at
        } else {
            failures
                .clone()
                .map(|failure| failure.began_at)
                .max()
                .unwrap_or(applied)
        };
        self.add(&view.name, began, applied, "builds and applies".to_owned());
        let failed: Vec<_> = failures.filter(|failure| failure.ended_at <= began).collect();
        let mut first_began = began;
        if let (Some(first), Some(last)) = (failed.first(), failed.last()) {
            let attempts = match failed.len() {
                1 => "an attempt fails".to_owned(),
                many => format!("{many} attempts fail"),
            };
            let why = first_line(&last.failure.message);
            self.add(
                &view.name,
                last.ended_at,
                began,
                "waits for its next attempt".to_owned(),
            );
            self.add(
                &view.name,
                first.began_at,
                last.ended_at,
                format!("{attempts}: {why}"),
            );
            first_began = first.began_at;
        }
        self.before(view, first_began);
    }

    /// What let a tier begin.
    fn before(&mut self, view: &TierView, began: Time) {
        let explainer = self.explainer;
        let tier = explainer.script.cluster.tier(&view.name);
        let dependencies = tier
            .into_iter()
            .flat_map(|tier| tier.kustomization.dependencies());
        let ready = dependencies.filter_map(|name| {
            let other = explainer.tier(&name)?;
            Some((other.record.ready_at?, other, Event::Ready))
        });
        let parent = tier.and_then(|tier| tier.parent.as_ref()).and_then(|name| {
            let other = explainer.tier(name)?;
            Some((other.record.applied_at?, other, Event::Applied))
        });
        let gates = ready.chain(parent).filter(|(at, ..)| *at <= began);
        let gate = gates
            .max_by_key(|(at, other, event)| (*at, *event == Event::Ready, std::cmp::Reverse(&other.name)));
        match gate {
            Some((at, other, Event::Ready)) => {
                self.add(
                    &view.name,
                    at,
                    began,
                    format!("looks again, since its dependency `{}` is Ready", other.name),
                );
                self.follow(other, Event::Ready);
            }
            Some((at, other, Event::Applied)) => {
                self.add(
                    &view.name,
                    at,
                    began,
                    format!("is looked at after `{}` applied it", other.name),
                );
                self.follow(other, Event::Applied);
            }
            None => self.add(
                &view.name,
                self.explainer.world.epoch(),
                began,
                "waits for its source".to_owned(),
            ),
        }
    }

    /// The tier among what a health check waited for that was Ready last.
    fn held_by_tier(&self, held_by: &[Obstacle], ready: Time) -> Option<&'a TierView> {
        let explainer = self.explainer;
        let tiers = held_by.iter().filter_map(|obstacle| {
            let object = obstacle
                .object()
                .filter(|object| object.is(names::KUSTOMIZE_GROUP, names::KUSTOMIZATION))?;
            let name = TierName::new(object.namespace.clone()?, &object.name);
            explainer.tier(&name)
        });
        let earlier = tiers.filter(|view| view.record.ready_at.is_some_and(|at| at <= ready));
        earlier.max_by_key(|view| view.record.ready_at)
    }
}

fn listed(obstacles: &[Obstacle]) -> String {
    let names: Vec<String> = obstacles
        .iter()
        .filter_map(|obstacle| obstacle.object())
        .map(|object| format!("`{object}`"))
        .collect();
    match names.len() {
        0 => "its objects".to_owned(),
        count if count > LISTED_MAX => {
            format!(
                "{} and {} more",
                names[..LISTED_MAX].join(", "),
                count - LISTED_MAX
            )
        }
        _ => names.join(" and "),
    }
}
