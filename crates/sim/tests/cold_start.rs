//! Cold starts of small clusters.

#[allow(
    dead_code,
    clippy::needless_pass_by_value,
    reason = "each test file uses its part; literals read better as they are"
)]
mod common;

use common::{config_map, hour, kustomization, tier, world};
use firstpass_sim::{End, trace};
use serde_json::json;

#[test]
fn two_tiers_come_up_one_after_the_other() {
    let mut world = world(
        &[
            (
                "root",
                vec![
                    kustomization("infra", json!({})),
                    kustomization("apps", json!({"dependsOn": [{"name": "infra"}]})),
                ],
            ),
            ("infra", vec![config_map("a")]),
            ("apps", vec![config_map("b")]),
        ],
        "2.9",
    );
    let end = world.run_until_quiet(hour(24));
    eprintln!("{}", trace::text(world.journal(), world.epoch()));
    assert_eq!(end, End::Quiet);
    let tiers = world.kustomizations.tiers();
    let ready = |name: &str| tiers[&tier(name)].ready_at.unwrap();
    assert!(ready("infra") < ready("apps"));
    assert_eq!(tiers[&tier("apps")].attempts, 1);
    assert!(tiers[&tier("apps")].failures.is_empty());
}

#[test]
fn a_wait_holds_until_pods_are_ready() {
    let mut world = world(
        &[
            (
                "root",
                vec![
                    kustomization("infra", json!({"wait": true})),
                    kustomization("apps", json!({"dependsOn": [{"name": "infra"}]})),
                ],
            ),
            ("infra", vec![common::deployment("a")]),
            ("apps", vec![config_map("b")]),
        ],
        "2.9",
    );
    assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
    eprintln!("{}", trace::text(world.journal(), world.epoch()));
    let tiers = world.kustomizations.tiers();
    assert!(tiers[&tier("infra")].ready_at.unwrap() > tiers[&tier("infra")].applied_at.unwrap());
    assert!(tiers[&tier("apps")].ready_at.is_some());
}

#[test]
fn a_kind_that_never_comes_stalls_its_tier_and_its_dependents() {
    // F-221: nothing of the stage is applied.
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}});
    for flux in ["2.4", "2.5", "2.6", "2.7", "2.8", "2.9"] {
        let mut world = world(
            &[
                (
                    "root",
                    vec![
                        kustomization("infra", json!({})),
                        kustomization("apps", json!({"dependsOn": [{"name": "infra"}]})),
                    ],
                ),
                ("infra", vec![config_map("a"), widget.clone()]),
                ("apps", vec![config_map("b")]),
            ],
            flux,
        );
        assert_eq!(world.run_until_quiet(hour(24)), End::Quiet);
        let tiers = world.kustomizations.tiers();
        let message = &tiers[&tier("infra")].failures[0].failure.message;
        assert!(message.starts_with("Widget/default/w dry-run failed: no matches for kind \"Widget\" in version \"example.com/v1\""), "{message}");
        assert!(world.server.object(&config_map_id("a")).is_none());
        assert_eq!(tiers[&tier("apps")].attempts, 0);
        assert!(world.now() < hour(1), "it is quiet at {}", world.now());
    }
}

fn config_map_id(name: &str) -> firstpass_object::ObjectId {
    firstpass_object::ObjectId::new("", "ConfigMap", Some("default"), name)
}
