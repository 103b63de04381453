//! The conditions of a HelmRelease while it is worked on, and how Ready is made of the others (F-1008).

use firstpass_apiserver::Time;
use firstpass_flux::TestSpec;
use firstpass_flux::names::{self, condition};
use firstpass_object::TierName;
use serde_json::Value;

use crate::context::Context;
use crate::flux_api;
use crate::status::Status;

/// The status of a HelmRelease at a generation.
#[derive(Clone, Debug)]
pub(super) struct Conditions {
    status: Status,
    pub(super) generation: i64,
    now: Time,
    /// Whether Ready depends on the tests.
    tests: Tests,
}

/// What the tests of a release mean for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tests {
    /// They do not run.
    Off,
    /// They run, and their failures are ignored.
    Ignored,
    /// It is Ready only when they have succeeded.
    Counted,
}

impl Conditions {
    pub(super) fn of(object: &Value, test: &TestSpec, now: Time) -> Conditions {
        Conditions {
            tests: match (test.enable, test.ignore_failures) {
                (false, _) => Tests::Off,
                (true, true) => Tests::Ignored,
                (true, false) => Tests::Counted,
            },
            status: Status::of(object),
            generation: flux_api::generation(object),
            now,
        }
    }

    /// Conditions that are set from now on are of this time.
    pub(super) fn at(&mut self, now: Time) {
        self.now = now;
    }

    pub(super) fn ready(&mut self, status: &str, reason: &str, message: &str) {
        self.set(condition::READY, status, reason, message);
    }

    pub(super) fn reconciling(&mut self, reason: &str, message: &str) {
        self.set(condition::RECONCILING, "True", reason, message);
    }

    pub(super) fn stalled(&mut self, reason: &str, message: &str) {
        self.set(condition::STALLED, "True", reason, message);
    }

    pub(super) fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let (generation, now) = (self.generation, self.now);
        self.status
            .set_condition(kind, status, reason, message, generation, now);
    }

    pub(super) fn remove(&mut self, kind: &str) {
        self.status.remove_condition(kind);
    }

    /// A field of a condition, or empty.
    pub(super) fn field(&self, kind: &str, field: &str) -> &str {
        self.status.condition_field(kind, field)
    }

    pub(super) fn is_true(&self, kind: &str) -> bool {
        self.status.condition_status(kind) == "True"
    }

    pub(super) fn reason(&self) -> &str {
        self.field(condition::READY, "reason")
    }

    pub(super) fn message(&self) -> &str {
        self.field(condition::READY, "message")
    }

    /// Makes Ready of the newest of Remediated, which counts as False, `TestSuccess` and Released.
    pub(super) fn summarize(&mut self) {
        if self.tests == Tests::Off {
            self.remove(condition::TEST_SUCCESS);
        }
        let kinds = [
            condition::REMEDIATED,
            condition::TEST_SUCCESS,
            condition::RELEASED,
        ];
        let counts = |kind: &&str| *kind != condition::TEST_SUCCESS || self.tests == Tests::Counted;
        let is_there = |kind: &&str| !self.field(kind, "status").is_empty();
        let candidates = kinds.into_iter().filter(counts).filter(is_there);
        // Of the newest the first.
        let newest = candidates
            .rev()
            .max_by_key(|kind| self.status.condition_generation(kind));
        let Some(kind) = newest else { return };
        let text = |field: &str| self.field(kind, field).to_owned();
        let (status, reason, message) = (text("status"), text("reason"), text("message"));
        let is_good = kind != condition::REMEDIATED && status == "True";
        if is_good {
            self.remove(condition::STALLED);
        }
        let status = if kind == condition::REMEDIATED {
            "False"
        } else {
            &status
        };
        self.ready(status, &reason, &message);
    }

    pub(super) fn observe(&mut self) {
        self.status.set("observedGeneration", self.generation.into());
    }

    pub(super) fn write(&self, release: &TierName, context: &mut Context<'_>) {
        let target = flux_api::helm_release(release);
        flux_api::write_status(context, &target, &self.status, names::HELM_MANAGER);
    }
}
