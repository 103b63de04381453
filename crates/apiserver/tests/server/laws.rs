//! Whatever is asked of the server, in whatever order: the witness sees nothing wrong, and the same questions give the
//! same answers.

use firstpass_apiserver::invariants::Witness;
use firstpass_apiserver::{Duration, Propagation};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// One thing that somebody does.
#[derive(Clone, Debug)]
enum Step {
    Apply {
        who: usize,
        what: usize,
        content: u8,
        force: bool,
        dry_run: bool,
    },
    Status {
        what: usize,
        content: u8,
    },
    Finalizer {
        what: usize,
        held: bool,
    },
    Delete {
        what: usize,
        propagation: usize,
    },
    Wait {
        millis: u64,
    },
    Serve {
        serving: bool,
    },
}

fn objects(content: u8) -> Vec<Value> {
    let parts: Vec<Value> = (0..3)
        .filter(|bit| content & (1 << bit) != 0)
        .map(|bit| json!({"name": format!("c{bit}"), "image": format!("web:{}", content >> 4)}))
        .chain([json!({"name": "web", "image": "web"})])
        .collect();
    let data: Value = (0..4)
        .filter(|bit| content & (1 << bit) != 0)
        .map(|bit| (format!("k{bit}"), json!((content >> 4).to_string())))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "00000000-0000-4000-8000-00000000000b", "blockOwnerDeletion": content & 1 == 1}]);
    let mut crd = crate::structural::crd();
    crd["metadata"]["labels"] = json!({"content": content.to_string()});
    vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "media", "labels": {"a": (content % 2).to_string()}}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "media"}, "data": data}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "media", "ownerReferences": owner}, "data": data}),
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "media"},
            "spec": {
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": parts}},
            },
        }),
        crd,
        json!({
            "apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "media"},
            "spec": {"size": "small", "parts": if content & 1 == 0 { json!([{"name": "a"}]) } else { json!([{"name": "b"}, {"name": "a", "weight": 2}]) }},
        }),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": "guard"},
            "webhooks": [{
                "name": "guard.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {"namespace": "media", "name": "guard"}},
                "rules": [{"apiGroups": ["apps"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}],
            }],
        }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let count = objects(0).len();
    prop_oneof![
        6 => (0..3usize, 0..count, any::<u8>(), any::<bool>(), any::<bool>())
            .prop_map(|(who, what, content, force, dry_run)| Step::Apply { who, what, content, force, dry_run }),
        1 => (0..count, any::<u8>()).prop_map(|(what, content)| Step::Status { what, content }),
        1 => (0..count, any::<bool>()).prop_map(|(what, held)| Step::Finalizer { what, held }),
        2 => (0..count, 0..3usize).prop_map(|(what, propagation)| Step::Delete { what, propagation }),
        2 => (0..3000u64).prop_map(|millis| Step::Wait { millis }),
        1 => any::<bool>().prop_map(|serving| Step::Serve { serving }),
    ]
}

/// A server with a namespace and a kind to play with.
fn playground() -> ApiServer {
    let mut server = server();
    for object in [&objects(0)[0], &objects(0)[4]] {
        apply(&mut server, object).expect("the first objects are fine");
    }
    settle(&mut server);
    server
}

/// Does one step and gives the answer as text.
fn take(server: &mut ApiServer, step: &Step) -> String {
    let object = |what: usize, content: u8| objects(content).swap_remove(what);
    let request = match *step {
        Step::Apply {
            who,
            what,
            content,
            force,
            dry_run,
        } => {
            let mut apply = Apply::forced(Arc::new(object(what, content)), ["flux", "helm", "kubectl"][who]);
            apply.force = force;
            apply.dry_run = dry_run;
            Request::Apply(apply)
        }
        Step::Status { what, content } => Request::PatchStatus {
            target: Target::of(&object(what, 0)),
            patch: json!({"observedGeneration": content}),
            manager: "controller".into(),
        },
        Step::Finalizer { what, held } => Request::Patch {
            target: Target::of(&object(what, 0)),
            patch: json!({"metadata": {"finalizers": held.then_some(["example.com/held"])}}),
            manager: "controller".into(),
        },
        Step::Delete { what, propagation } => Request::Delete {
            target: Target::of(&object(what, 0)),
            propagation: [
                Propagation::Background,
                Propagation::Foreground,
                Propagation::Orphan,
            ][propagation],
            uid: None,
            by: "delete".into(),
        },
        Step::Wait { millis } => {
            server.advance(server.now() + Duration::from_millis(millis));
            return String::new();
        }
        Step::Serve { serving } => {
            server.set_service_serving("media", "guard", serving);
            return String::new();
        }
    };
    format!("{:?}", server.call(&request))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_witness_sees_nothing_wrong(steps in proptest::collection::vec(step(), 1..40)) {
        let mut server = playground();
        let mut witness = Witness::default();
        for step in &steps {
            let before = server.log().head();
            take(&mut server, step);
            if let Step::Apply { dry_run: true, .. } = step {
                prop_assert_eq!(server.log().head(), before, "a dry-run changed something");
            }
            witness.look(&server);
        }
        settle(&mut server);
        witness.look(&server);
    }

    #[test]
    fn the_same_questions_give_the_same_answers(steps in proptest::collection::vec(step(), 1..25), fork_at in 0..25usize) {
        let mut first = playground();
        let mut second = playground();
        for (index, step) in steps.iter().enumerate() {
            if index == fork_at {
                second = second.clone();
            }
            prop_assert_eq!(take(&mut first, step), take(&mut second, step));
        }
    }

    #[test]
    fn what_a_dry_run_promises_is_what_an_apply_does(steps in proptest::collection::vec(step(), 1..15), what in 0..7usize, content: u8) {
        let mut server = playground();
        for step in &steps {
            take(&mut server, step);
        }
        let object = objects(content).swap_remove(what);
        let promised = dry_run(&mut server, &object);
        match apply(&mut server, &object) {
            Err(error) => prop_assert_eq!(promised.map(|_| ()).unwrap_err().message, error.message),
            Ok(outcome) => {
                let promised = promised.unwrap();
                prop_assert_eq!(promised.outcome(), Some(outcome));
                // The object may be gone again: it was under deletion and we took away its last finalizer.
                if let Some(live) = get(&server, promised.object().unwrap()) {
                    let strip = |object: &Value| {
                        let mut object = object.clone();
                        if let Some(metadata) = object["metadata"].as_object_mut() {
                            metadata.remove("resourceVersion");
                        }
                        object
                    };
                    prop_assert_eq!(strip(promised.object().unwrap()), strip(&live));
                    // And once more it changes nothing.
                    prop_assert_eq!(apply(&mut server, &object), Ok(Outcome::Unchanged));
                }
            }
        }
    }
}
