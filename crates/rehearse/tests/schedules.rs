//! Many schedules: what is right stays right in each, what is wrong is counted, and the way to the end is told.

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use std::path::{Path, PathBuf};

use common::{How, directory, overlaid, rehearse, script};
use firstpass_diagnostics::{ClusterReport, Severity, Verdict};
use firstpass_rehearse::Options;
use firstpass_testing::cases::own_cases;

fn how(schedules: u32) -> How {
    How {
        options: Options {
            schedules,
            ..Options::default()
        },
        ..How::default()
    }
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn loud(report: &ClusterReport) -> Vec<String> {
    let loud = report
        .findings
        .iter()
        .filter(|finding| finding.severity > Severity::Info);
    loud.map(|finding| format!("{} {:?}: {}", finding.rule, finding.object, finding.why))
        .collect()
}

#[test]
fn controls_stay_clean_in_every_schedule() {
    let controls = own_cases()
        .into_iter()
        .filter(|case| case.is_control && case.command == "rehearse");
    let controls: Vec<_> = controls.collect();
    assert!(controls.len() > 30);
    let mut flagged = Vec::new();
    for case in controls {
        let report = rehearse(directory(&case.repository), &case.entry, &how(25)).report;
        if report.verdict != Verdict::Converges || !loud(&report).is_empty() {
            flagged.push(format!("{}: {} {:#?}", case.name, report.verdict, loud(&report)));
        }
    }
    assert!(flagged.is_empty(), "{}", flagged.join("\n"));
}

#[test]
fn the_reference_repository_always_comes_up_and_tells_what_made_the_total() {
    let report = rehearse(
        directory(&repository("examples/home-network")),
        "clusters/prod",
        &how(12),
    )
    .report;
    assert_eq!(report.verdict, Verdict::Converges, "{:?}", loud(&report));
    let sampled = report.sampled.unwrap();
    assert_eq!(sampled.outcomes.len(), 1, "{sampled:#?}");
    assert_eq!((sampled.outcomes[0].count, sampled.outcomes[0].seed), (12, 0));
    let (fastest, slowest) = (sampled.fastest.unwrap(), sampled.slowest.unwrap());
    assert!(fastest.duration_s < slowest.duration_s);
    for (duration, path) in [
        (report.duration_s.unwrap(), &report.critical_path),
        (slowest.duration_s, &slowest.critical_path),
    ] {
        // A chain without a gap, from the start of Flux to the last tier.
        assert_eq!(path.first().unwrap().from_s, 0.0);
        assert_eq!(path.last().unwrap().to_s, duration);
        for pair in path.windows(2) {
            assert_eq!(pair[0].to_s, pair[1].from_s, "{path:#?}");
        }
    }
    let tiers: Vec<String> = report
        .critical_path
        .iter()
        .map(|leg| leg.tier.name.to_string())
        .collect();
    for tier in ["cilium", "platform", "platform-config"] {
        assert!(tiers.iter().any(|name| name == tier), "{tiers:?}");
    }
}

#[test]
fn before_the_split_no_schedule_comes_up() {
    let example = repository("examples/home-network");
    let tree = overlaid(&example, &example.join("stories/before-cdi-split"));
    let report = rehearse(tree, "clusters/prod", &how(5)).report;
    assert_eq!(report.verdict, Verdict::Deadlock);
    let sampled = report.sampled.unwrap();
    assert!(
        sampled
            .outcomes
            .iter()
            .all(|outcome| outcome.verdict == Verdict::Deadlock),
        "{sampled:#?}"
    );
    assert_eq!(sampled.slowest, None);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let script = script(
        directory(&repository("examples/home-network")),
        "clusters/dev",
        &how(1),
    );
    let play = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let report = pool.install(|| script.rehearse(&how(6).options).report);
        format!("{report:?}")
    };
    assert_eq!(play(1), play(3));
}

/// A wait that is too short for an estimate says something about the estimate.
#[test]
fn a_verdict_does_not_hang_on_an_estimate() {
    let repository = |replicas: u32, delay: u64| {
        firstpass_testing::tree(&format!(
            "
--- clusters/prod/flux-system.yaml
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {{name: flux-system, namespace: flux-system}}
spec: {{interval: 1m, ref: {{branch: main}}, url: 'https://git.example.com/home.git'}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: flux-system, namespace: flux-system}}
spec:
  interval: 10m
  retryInterval: 30s
  timeout: 30s
  wait: true
  path: ./clusters/prod
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
--- clusters/prod/web.yaml
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: web, namespace: default}}
spec:
  replicas: {replicas}
  serviceName: web
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      containers:
        - {{name: web, image: 'registry.example.com/web:1', readinessProbe: {{initialDelaySeconds: {delay}, tcpSocket: {{port: 80}}}}}}
"
        ))
    };
    // Twelve pods one after another take longer than half a minute, as a rule: information.
    let report = rehearse(
        std::sync::Arc::new(repository(12, 0)),
        "clusters/prod",
        &How::default(),
    )
    .report;
    assert_eq!(report.verdict, Verdict::Converges, "{:?}", loud(&report));
    let found = report
        .findings
        .iter()
        .find(|finding| finding.rule == "health-timeout")
        .unwrap();
    assert_eq!(found.severity, Severity::Info);
    assert!(found.why.contains("estimates"), "{}", found.why);
    // The repository says that it takes a minute: a hazard, whatever else takes how long.
    let report = rehearse(
        std::sync::Arc::new(repository(1, 60)),
        "clusters/prod",
        &How::default(),
    )
    .report;
    assert_eq!(report.verdict, Verdict::Hazard);
    assert!(
        loud(&report)
            .iter()
            .any(|text| text.starts_with("health-timeout"))
    );
}
