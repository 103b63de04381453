//! source-controller: sources become artifacts after a while (reference section 10).
//!
//! The repository at hand offers its revision; what other sources hold nobody can say, and they are taken to be fetched
//! fine. A HelmChart waits for the source that it comes from. ExternalArtifacts have their artifact after a while as well,
//! as if whoever makes them had written it ([`crate::flux_rest`] makes those of an ArtifactGenerator).

mod artifact;
mod server;

use std::collections::BTreeMap;
use std::sync::Arc;

use firstpass_apiserver::{Duration, Time};
use firstpass_flux::{Source, SourceKind, SourceName, names};
use firstpass_object::{ObjectExt, ObjectId, group_of};
use serde_json::Value;

use crate::context::{Context, Controller};
use crate::flux_api;
use crate::queue::{BACKOFF_LEAST, BACKOFF_MOST};
use crate::status::Status;
use crate::timers::Timers;
use crate::trouble::Trouble;
use artifact::{store, write};
use server::{answers, has_come_up, server_asked};

const ACTOR: &str = "source-controller";
const MANAGER: &str = "source-controller";
/// How long a chart whose source is not there is left alone, if no event comes. Flux backs off; a fixed value of its
/// order does, since the source's own event wakes the chart.
const CHART_RETRY: Duration = Duration::from_secs(60);

/// `spec.timeout` of a source that names none (source-controller API).
const TIMEOUT: Duration = Duration::from_secs(60);
/// Why a fetch fails.
const UNREACHABLE: &str = "the server cannot be reached";
const TOO_SLOW: &str = "context deadline exceeded";

/// The controller's state.
#[derive(Clone, Debug, Default)]
pub struct SourceController {
    timers: Timers<Fetch>,
    records: BTreeMap<ObjectId, SourceRecord>,
    /// Sources whose server in this cluster did not answer.
    unanswered: BTreeMap<ObjectId, Unanswered>,
}

/// A source whose server in this cluster did not answer.
#[derive(Clone, Debug)]
struct Unanswered {
    /// The Service or the HelmRelease that would serve it.
    server: ObjectId,
    /// Something has come up since: the next try may succeed.
    hopeful: bool,
}

/// What became of a source so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceRecord {
    /// Whether it has an artifact.
    pub ready: bool,
    /// What a chart waits for.
    pub waits_for: Option<ObjectId>,
    /// How often it was fetched, for draws.
    fetches: u64,
    /// A fetch is under way.
    fetching: bool,
    /// How often fetching failed in a row.
    failures: u32,
}

#[derive(Clone, Debug)]
struct Fetch {
    source: ObjectId,
    is_retry: bool,
}

impl SourceController {
    /// What became of each source so far.
    pub fn records(&self) -> &BTreeMap<ObjectId, SourceRecord> {
        &self.records
    }

    /// What would serve a source, if it did not answer when it was asked last.
    pub fn unanswered_by(&self, source: &ObjectId) -> Option<&ObjectId> {
        self.unanswered.get(source).map(|unanswered| &unanswered.server)
    }

    /// Fetches a source now, since what it offers has moved.
    pub fn fetch_now(&mut self, source: &ObjectId, context: &mut Context<'_>) {
        self.plan(source.clone(), context);
    }

    fn plan(&mut self, source: ObjectId, context: &mut Context<'_>) {
        let record = self.records.entry(source.clone()).or_default();
        if record.fetching {
            return;
        }
        record.fetching = true;
        let name = if source.kind == "HelmChart" {
            "chart-fetch"
        } else {
            "source-fetch"
        };
        let mut delay = context.delays.delay(name, &source.to_string(), record.fetches);
        record.fetches += 1;
        if let Some(until) = context.trouble(Trouble::FetchInTime(&source)) {
            // It answers once the trouble is over, unless whoever waits has given up before.
            let answered = until.since(context.now).max(delay);
            delay = answered.min(timeout(&source, context));
        }
        self.timers.set(
            context.now + delay,
            Fetch {
                source,
                is_retry: false,
            },
        );
    }

    fn fetch(&mut self, id: &ObjectId, context: &mut Context<'_>) {
        let record = self.records.entry(id.clone()).or_default();
        record.fetching = false;
        let Some(object) = context.server.object(id).cloned() else {
            self.records.remove(id);
            return;
        };
        let Some(source) = Source::read(&object).map(|read| read.value) else {
            return;
        };
        if source.suspend {
            return;
        }
        let down = context
            .trouble(Trouble::Fetch(id))
            .map(|until| (until, UNREACHABLE));
        let slow = || {
            context
                .trouble(Trouble::FetchInTime(id))
                .map(|until| (until, TOO_SLOW))
        };
        if let Some((until, why)) = down.or_else(slow) {
            self.fail(id, &object, until, why, context);
            return;
        }
        if let Some(server) = server_asked(&source, context).filter(|server| !answers(server, context)) {
            self.unanswered.insert(
                id.clone(),
                Unanswered {
                    server,
                    hopeful: false,
                },
            );
            self.fail(id, &object, Time::NEVER, UNREACHABLE, context);
            return;
        }
        self.unanswered.remove(id);
        if let Some(origin) = chart_origin(&source)
            && !is_available(&origin, context)
        {
            self.wait_for(id, &object, &origin, context);
            return;
        }
        let chart_version = match asked_version(&source, context) {
            Some(Err(message)) => {
                self.lack_chart(id, &object, &message, context);
                return;
            }
            Some(Ok(version)) => Some(version),
            None => None,
        };
        let record = self.records.entry(id.clone()).or_default();
        record.ready = true;
        record.failures = 0;
        record.waits_for = None;
        store(&source, &object, chart_version, context);
        self.wake_charts(id, context);
    }

    /// A fetch fails and is tried again after a backoff; an artifact that is there stays (F-537, F-1105).
    fn fail(&mut self, id: &ObjectId, object: &Value, until: Time, why: &str, context: &mut Context<'_>) {
        let record = self.records.entry(id.clone()).or_default();
        let delay = BACKOFF_LEAST * (1_u64 << record.failures.min(20));
        record.failures += 1;
        let first = record.failures == 1;
        if first {
            let reason = match id.kind.as_str() {
                "GitRepository" => "GitOperationFailed",
                "OCIRepository" => "OCIArtifactPullFailed",
                _ => "FetchFailed",
            };
            let message = &format!("failed to fetch: {why}");
            let mut status = Status::of(object);
            status.set_condition(
                names::condition::READY,
                "False",
                reason,
                message,
                flux_api::generation(object),
                context.now,
            );
            write(id, &status, context);
            context.note(ACTOR, id, format!("Ready=False {reason}: {message}"));
        }
        self.timers.set(
            context.now + delay.min(BACKOFF_MOST),
            Fetch {
                source: id.clone(),
                is_retry: until == Time::NEVER,
            },
        );
    }

    /// The controller restarts: its artifacts are gone with its disk, so every source is fetched anew.
    pub fn restart(&mut self, context: &mut Context<'_>) {
        self.timers = Timers::default();
        let sources: Vec<ObjectId> = self.records.keys().cloned().collect();
        for source in sources {
            if let Some(record) = self.records.get_mut(&source) {
                record.fetching = false;
            }
            self.plan(source, context);
        }
    }

    /// A chart whose source is not there says so and is looked at again later.
    fn wait_for(&mut self, id: &ObjectId, object: &Value, origin: &SourceName, context: &mut Context<'_>) {
        let record = self.records.entry(id.clone()).or_default();
        let first = record.waits_for.replace(origin.id()).is_none();
        if first {
            let message = format!(
                "failed to get source: {}.{} \"{}\" not found",
                origin.kind.as_str(),
                names::SOURCE_GROUP,
                origin.name
            );
            let mut status = Status::of(object);
            status.set_condition(
                names::condition::READY,
                "False",
                "SourceUnavailable",
                &message,
                flux_api::generation(object),
                context.now,
            );
            write(id, &status, context);
            context.note(ACTOR, id, format!("Ready=False SourceUnavailable: {message}"));
        }
        self.timers.set(
            context.now + CHART_RETRY,
            Fetch {
                source: id.clone(),
                is_retry: true,
            },
        );
    }

    /// A chart that its repository does not have: tried again with a backoff.
    fn lack_chart(&mut self, id: &ObjectId, object: &Value, message: &str, context: &mut Context<'_>) {
        let record = self.records.entry(id.clone()).or_default();
        let delay = BACKOFF_LEAST * (1_u64 << record.failures.min(20));
        record.failures += 1;
        if record.failures == 1 {
            let reason = "InvalidChartReference";
            let message = format!(
                "invalid chart reference: failed to get chart version for remote reference: {message}"
            );
            let mut status = Status::of(object);
            let generation = flux_api::generation(object);
            status.set_condition(
                names::condition::READY,
                "False",
                reason,
                &message,
                generation,
                context.now,
            );
            write(id, &status, context);
            context.note(ACTOR, id, format!("Ready=False {reason}: {message}"));
        }
        self.timers.set(
            context.now + delay.min(BACKOFF_MOST),
            Fetch {
                source: id.clone(),
                is_retry: true,
            },
        );
    }

    /// The charts that wait for a source are fetched when it is there.
    fn wake_charts(&mut self, source: &ObjectId, context: &mut Context<'_>) {
        let waiting: Vec<ObjectId> = self
            .records
            .iter()
            .filter(|(_, record)| record.waits_for.as_ref() == Some(source))
            .map(|(id, _)| id.clone())
            .collect();
        for chart in waiting {
            self.plan(chart, context);
        }
    }
}

impl Controller for SourceController {
    fn observe(&mut self, old: Option<&Arc<Value>>, new: Option<&Arc<Value>>, context: &mut Context<'_>) {
        let Some(object) = new.or(old) else { return };
        if !self.unanswered.is_empty() && new.is_some_and(|new| has_come_up(new)) {
            for unanswered in self.unanswered.values_mut() {
                unanswered.hopeful = true;
            }
        }
        if group_of(object.api_version()) != names::SOURCE_GROUP
            || object.kind().parse::<SourceKind>().is_err()
        {
            return;
        }
        let id = object.id();
        let Some(new) = new else {
            self.records.remove(&id);
            self.unanswered.remove(&id);
            return;
        };
        let changed = old.is_none_or(|old| flux_api::generation(old) != flux_api::generation(new));
        if changed {
            self.plan(id, context);
        }
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        while let Some(fetch) = self.timers.pop_due(context.now, context.delays) {
            self.fetch(&fetch.source, context);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.timers.next()
    }

    fn is_working(&self) -> bool {
        let may_answer = |fetch: &Fetch| {
            self.unanswered
                .get(&fetch.source)
                .is_some_and(|unanswered| unanswered.hopeful)
        };
        self.timers
            .iter()
            .any(|fetch| !fetch.is_retry || may_answer(fetch))
    }
}

/// How long a fetch may take.
fn timeout(source: &ObjectId, context: &Context<'_>) -> Duration {
    let stated = context.server.object(source).and_then(|object| {
        object
            .text_at(&["spec", "timeout"])?
            .parse::<firstpass_flux::Duration>()
            .ok()
    });
    stated.map_or(TIMEOUT, crate::time::of_flux)
}

/// The source that a HelmChart comes from.
fn chart_origin(source: &Source) -> Option<SourceName> {
    (source.name.kind == SourceKind::HelmChart)
        .then(|| source.chart_source.clone())
        .flatten()
}

/// What the repository has for a HelmChart, if anybody can see that.
fn asked_version(source: &Source, context: &Context<'_>) -> Option<Result<String, String>> {
    let (chart, version) = source.chart.as_ref()?;
    let repository = chart_origin(source).filter(|origin| origin.kind == SourceKind::HelmRepository)?;
    let wanted = version.as_deref().unwrap_or("*");
    context.contents.chart_version(&repository, chart, wanted)
}

/// An index or a repository with an artifact; an OCI index needs none.
fn is_available(origin: &SourceName, context: &Context<'_>) -> bool {
    context.server.object(&origin.id()).is_some_and(|object| {
        let is_oci_index = object.text_at(&["spec", "type"]) == Some("oci");
        is_oci_index
            || object
                .at(&["status", "artifact"])
                .is_some_and(|artifact| !artifact.is_null())
    })
}
