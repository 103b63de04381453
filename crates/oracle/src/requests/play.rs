//! The script on the embedded server.

use std::sync::Arc;

use firstpass_apiserver::{
    ApiError, ApiServer, Apply, Duration, Options, Outcome, PathElement, Propagation, Request, Response,
    Target,
};
use firstpass_object::ObjectExt;
use serde_json::{Value, json};

use super::answer::owner_line;
use super::plan::owners;
use super::{Answer, RequestStep, Requests, Verb};

/// The minor of the real server.
const MINOR: u16 = 36;

/// How long an `until` may take.
const UNTIL_S: u64 = 120;

/// What the embedded server answers to each step.
pub fn answers(requests: &Requests) -> Vec<Answer> {
    let mut server = ApiServer::new(Options::minor(MINOR));
    advance(&mut server, Duration::from_secs(1));
    let steps = requests.steps.iter();
    steps
        .map(|step| {
            let mut step = step.clone();
            for (text, owner) in owners(&step.object, &requests.objects) {
                let uid = server
                    .object(&owner.id())
                    .map(|owner| owner["metadata"]["uid"].clone());
                for reference in step.object["metadata"]["ownerReferences"]
                    .as_array_mut()
                    .into_iter()
                    .flatten()
                {
                    if reference["uid"] == text.as_str() {
                        reference["uid"] = uid.clone().unwrap_or_default();
                    }
                }
            }
            ask(&mut server, &step)
        })
        .collect()
}

fn advance(server: &mut ApiServer, by: Duration) {
    let at = server.now() + by;
    server.advance(at);
}

fn ask(server: &mut ApiServer, step: &RequestStep) -> Answer {
    let object = &step.object;
    let id = (!object.is_null()).then(|| {
        server.resource(&object.gvk().group_kind()).map_or_else(
            || object.id(),
            |resource| {
                let mut id = object.id();
                if !resource.is_namespaced() {
                    id.namespace = None;
                }
                id
            },
        )
    });
    let before = id.as_ref().and_then(|id| server.object(id).cloned());
    let request = match &step.verb {
        Verb::Wait(span) => {
            let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
            advance(server, Duration::from_millis(millis));
            return Answer {
                code: 200,
                ..Answer::default()
            };
        }
        Verb::Until(state) => {
            until(server, object, state);
            return Answer {
                code: 200,
                ..Answer::default()
            };
        }
        verb => request(verb, object, before.as_deref()),
    };
    let answered = server.call(&request);
    // What happens by itself at once has happened before the next request.
    advance(server, Duration::from_millis(5));
    let mut answer = Answer {
        was: before.is_some(),
        ..read(answered, before.as_deref())
    };
    if let Some(managers) = id.as_ref().and_then(|id| server.managers(id)) {
        answer.owners = managers
            .iter()
            .map(|entry| {
                let paths = entry.fields.paths();
                let paths = paths
                    .iter()
                    .map(|path| path.iter().map(PathElement::to_string).collect());
                let operation = format!("{:?}", entry.operation);
                owner_line(
                    &entry.name,
                    &operation,
                    entry.subresource.unwrap_or_default(),
                    &entry.api_version,
                    paths.collect(),
                )
            })
            .collect();
        answer.owners.sort();
    }
    answer
}

fn request(verb: &Verb, object: &Value, before: Option<&Value>) -> Request {
    let shared = Arc::new(object.clone());
    let target = Target::of(object);
    match verb {
        Verb::Apply {
            manager,
            force,
            dry_run,
        } => Request::Apply(Apply {
            force: *force,
            dry_run: *dry_run,
            ..Apply::forced(shared, manager.as_str())
        }),
        Verb::Create { manager } => Request::Create {
            object: shared,
            manager: Arc::from(manager.as_str()),
        },
        Verb::Update { manager } => {
            let mut object = object.clone();
            if let Some(before) = before
                && object["metadata"].get("resourceVersion").is_none()
            {
                object["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
            }
            Request::Update {
                object: Arc::new(object),
                manager: Arc::from(manager.as_str()),
            }
        }
        Verb::Patch { manager, body } => Request::Patch {
            target,
            patch: body.clone(),
            manager: Arc::from(manager.as_str()),
        },
        Verb::Status { manager, body } => Request::PatchStatus {
            target,
            patch: body.clone(),
            manager: Arc::from(manager.as_str()),
        },
        Verb::Delete { propagation } => Request::Delete {
            target,
            propagation: match *propagation {
                "Foreground" => Propagation::Foreground,
                "Orphan" => Propagation::Orphan,
                _ => Propagation::Background,
            },
            uid: None,
            by: Arc::from("person"),
        },
        Verb::Show { .. } | Verb::Owners | Verb::Wait(_) | Verb::Until(_) => Request::Get(target),
    }
}

fn read(answered: Result<Response, ApiError>, before: Option<&Value>) -> Answer {
    match answered {
        Ok(response) => {
            let gone = matches!(response, Response::Deleted { gone: true, .. });
            let object = response
                .object()
                .map(|object| (**object).clone())
                .filter(|_| !gone);
            let unchanged = match response.outcome() {
                Some(outcome) => outcome == Outcome::Unchanged,
                None => object.as_ref() == before,
            };
            Answer {
                code: 200,
                object,
                unchanged,
                ..Answer::default()
            }
        }
        Err(error) => Answer {
            code: error.code,
            reason: error.reason.text().unwrap_or_default().to_owned(),
            message: error.message,
            ..Answer::default()
        },
    }
}

/// Lets time pass until an object exists, is gone, or (a CRD) is established.
fn until(server: &mut ApiServer, object: &Value, state: &str) {
    let end = server.now() + Duration::from_secs(UNTIL_S);
    loop {
        let found = server.object(&object.id());
        let done = match state {
            "gone" => found.is_none(),
            "established" => found.is_some_and(|crd| {
                crd.condition("Established")
                    .is_some_and(|condition| condition["status"] == json!("True"))
            }),
            _ => found.is_some(),
        };
        let next = server.next_wakeup().filter(|at| *at <= end);
        match next {
            Some(at) if !done => server.advance(at),
            _ => break,
        }
    }
    if state == "established" {
        advance(server, Duration::from_secs(2));
    }
}
