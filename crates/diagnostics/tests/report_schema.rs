//! The published JSON Schema of the report says what the program writes: no field more, none less.

use firstpass_diagnostics::{
    Assumption, Baseline, ClusterReport, Effect, Finding, Location, Report, Severity, Side, Tier, TierState,
    Verdict, WaitingFor, WaitingOn,
};
use firstpass_object::{ObjectId, TierName};
use serde_json::{Value, json};

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../schemas/report.schema.json")).unwrap()
}

/// A report in which every field holds something.
fn full_report() -> Report {
    let tier = TierName::new("flux-system", "platform");
    let finding = Finding::new(
        "dependency-cycle",
        Severity::Error,
        Some(Verdict::Deadlock),
        "a cycle",
    )
    .with_tier(&tier)
    .with_object(&ObjectId::new("", "ConfigMap", Some("default"), "settings"))
    .with_related(["Namespace/default".to_owned()])
    .with_blocks([tier.clone()])
    .with_why("because")
    .with_help("so")
    .with_location(Location {
        side: Some(Side::To),
        ..Location::new("a.yaml", 1, 1)
    });
    let cluster = ClusterReport {
        entry: "clusters/prod".to_owned(),
        verdict: Verdict::Converges,
        seed: 7,
        schedules: 3,
        duration_s: Some(1.5),
        baseline: Baseline {
            seeded_by: vec!["bootstrap/helmfile.yaml".to_owned()],
            ..Baseline::default()
        },
        assumptions: vec![Assumption {
            about: "chart".to_owned(),
            subject: "HelmRelease/a/b".to_owned(),
            assumed: "brings nothing".to_owned(),
            source: "knowledge".to_owned(),
        }],
        tiers: vec![Tier {
            name: tier.clone(),
            state: TierState::Waiting,
            applied_at_s: Some(1.0),
            ready_at_s: None,
            attempts: 2,
            failed_attempts: 1,
            depends_on: vec![tier.clone()],
            waiting_on: vec![WaitingOn {
                waiting_for: WaitingFor::Kind,
                what: "Widget.example.com".to_owned(),
                tier: Some(tier.clone()),
            }],
        }],
        coverage: vec![firstpass_diagnostics::Coverage {
            path: "./platform-config".to_owned(),
            tier: tier.clone(),
            covered: true,
            files: 4,
            defined: 2,
            hazards: 0,
        }],
        effects: vec![Effect {
            object: "ConfigMap/default/settings".to_owned(),
            effect: "pruned".to_owned(),
            tier: None,
            from_tier: Some(tier),
            at_s: Some(2.0),
            window_s: None,
            cause: Some("it left the repository".to_owned()),
            precondition: None,
        }],
        findings: vec![finding],
    };
    Report::new("plan", "0.1.0", vec![cluster])
}

#[test]
fn a_full_report_is_valid() {
    let report = serde_json::to_value(full_report()).unwrap();
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&report)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn what_the_schema_forbids_is_noticed() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for (pointer, value) in [
        ("/clusters/0/verdict", json!("fine")),
        ("/clusters/0/tiers/0/waiting_on/0/for", json!("godot")),
        ("/clusters/0/findings/0/object", json!("no slash")),
        ("/schema_version", json!(2)),
    ] {
        let mut report = serde_json::to_value(full_report()).unwrap();
        *report.pointer_mut(pointer).unwrap() = value;
        assert!(!validator.is_valid(&report), "{pointer}");
    }
}

#[test]
fn a_report_reads_back_as_it_was_written() {
    let report = full_report();
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
}
