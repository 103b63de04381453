//! The published JSON Schema of the report says what the program writes: no field more, none less.

use firstpass_diagnostics::{
    Assumption, Baseline, BlastRadius, ClusterReport, Effect, Finding, Frequency, Leg, Location, Proof,
    ProofLevel, Report, Sampled, ScheduleDuration, ScheduleOutcome, Severity, Side, Span, SuppressedBy,
    SuppressedFinding, Tier, TierState, Verdict, WaitingFor, WaitingOn,
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
    let finding = Finding {
        schedules: Some(Frequency {
            count: 1,
            of: 3,
            seed: 8,
        }),
        ..finding
    };
    let leg = Leg {
        tier: tier.clone(),
        from_s: 0.0,
        to_s: 1.5,
        what: "applies".to_owned(),
    };
    let duration = ScheduleDuration {
        seed: 8,
        duration_s: 1.5,
        critical_path: vec![leg.clone()],
    };
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
        faults: vec!["source-down=10m".to_owned()],
        sampled: Some(Sampled {
            failed_attempts: Span { least: 0, most: 2 },
            outcomes: vec![ScheduleOutcome {
                count: 3,
                seed: 7,
                verdict: Verdict::Deadlock,
                findings: vec!["dependency-cycle flux-system/platform".to_owned()],
                not_ready: vec![tier.clone()],
            }],
            fastest: Some(duration.clone()),
            slowest: Some(duration),
        }),
        critical_path: vec![leg],
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
            proves: Some(Proof {
                level: ProofLevel::Partly,
                text: "some of it is healthy".to_owned(),
                silent: vec!["CDI/cdi".to_owned()],
            }),
            blast_radius: Some(BlastRadius {
                blocks: vec![tier.clone()],
                holds_workers: vec![tier.clone()],
                starves: vec![tier.clone()],
            }),
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
        findings: vec![finding.clone()],
        suppressed: vec![SuppressedFinding {
            finding,
            by: SuppressedBy::Comment,
            reason: "it is so".to_owned(),
            location: Location::new("a.yaml", 3, 1),
        }],
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
        ("/clusters/0/suppressed/0/by", json!("nobody")),
        ("/clusters/0/suppressed/0/finding/severity", json!("bad")),
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
