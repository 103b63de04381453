//! The server as its users see it: requests in, answers and events out.

mod apply;
mod crds;
mod defaults;
mod deletion;
mod immutable;
mod laws;
mod rules;
mod structural;
mod webhooks;

use std::sync::Arc;

use firstpass_apiserver::{ApiError, ApiServer, Apply, Options, Outcome, Request, Response, Target, Time};
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

/// A server of a current Kubernetes.
fn server() -> ApiServer {
    ApiServer::new(Options::minor(36))
}

/// Applies as Flux does.
fn apply(server: &mut ApiServer, object: &Value) -> Result<Outcome, ApiError> {
    let request = Request::Apply(Apply::forced(Arc::new(object.clone()), "kustomize-controller"));
    server
        .call(&request)
        .map(|response| response.outcome().expect("an apply has an outcome"))
}

fn dry_run(server: &mut ApiServer, object: &Value) -> Result<Response, ApiError> {
    server.call(&Request::Apply(
        Apply::forced(Arc::new(object.clone()), "kustomize-controller").as_dry_run(),
    ))
}

/// Applies and expects the text of a refusal.
fn refused(server: &mut ApiServer, object: &Value) -> String {
    apply(server, object)
        .expect_err("the server should refuse")
        .message
}

/// A test's YAML as an object.
fn yaml(text: &str) -> Value {
    let node = firstpass_yaml::parse_one(text).expect("the test's YAML parses");
    node.to_json().expect("the test's YAML converts")
}

fn get(server: &ApiServer, object: &Value) -> Option<Arc<Value>> {
    server.object(&object.id()).cloned()
}

fn delete(server: &mut ApiServer, object: &Value) {
    server
        .call(&Request::delete(Target::of(object)))
        .expect("the deletion is accepted");
}

/// Lets everything happen that is set up to happen.
fn settle(server: &mut ApiServer) {
    while let Some(at) = server.next_wakeup() {
        assert!(at < Time::from_secs(3600), "never settles");
        server.advance(at);
    }
}

fn exists(server: &ApiServer, group: &str, kind: &str, namespace: Option<&str>, name: &str) -> bool {
    server
        .object(&ObjectId::new(group, kind, namespace, name))
        .is_some()
}
