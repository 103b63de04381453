//! The bundled example and its stories: what the README promises is what the binary says.

mod common;

use common::{firstpass, json, loud_findings, texts, workspace};
use serde_json::Value;

/// Tiers in the order in which they come up; tiers of one row are not ordered among themselves.
const ORDER: [&[&str]; 8] = [
    &["flux-system"],
    &["cilium"],
    &["platform"],
    &["platform-config"],
    &["platform-config-cdi", "apps-wave-0", "headlamp"],
    &["apps-wave-1", "oauth2-proxy"],
    &["apps-wave-2"],
    &["apps-vms"],
];

fn rehearse(entry: &str, more: &[&str]) -> Value {
    let home = workspace().join("examples/home-network");
    json(&home, &[&["rehearse", entry], more].concat())
}

fn tier<'r>(report: &'r Value, name: &str) -> &'r Value {
    let tiers = report["clusters"][0]["tiers"].as_array().unwrap();
    tiers
        .iter()
        .find(|tier| tier["name"] == format!("flux-system/{name}"))
        .unwrap_or_else(|| panic!("no tier {name}"))
}

fn ready_at(report: &Value, name: &str) -> f64 {
    tier(report, name)["ready_at_s"]
        .as_f64()
        .unwrap_or_else(|| panic!("{name} is never Ready"))
}

fn finding<'r>(report: &'r Value, rule: &str) -> &'r Value {
    let findings = loud_findings(report);
    findings
        .iter()
        .find(|finding| finding["rule"] == rule)
        .unwrap_or_else(|| panic!("no {rule} in {findings:#?}"))
}

#[test]
fn both_clusters_converge_without_a_failed_attempt() {
    for entry in ["clusters/prod", "clusters/dev"] {
        let report = rehearse(entry, &[]);
        let cluster = &report["clusters"][0];
        assert_eq!(
            cluster["verdict"],
            "converges",
            "{entry}: {:#?}",
            loud_findings(&report)
        );
        assert!(
            loud_findings(&report).is_empty(),
            "{entry}: {:#?}",
            loud_findings(&report)
        );
        for tier in cluster["tiers"].as_array().unwrap() {
            assert_eq!(
                (&tier["state"], &tier["failed_attempts"]),
                (&Value::from("ready"), &Value::from(0)),
                "{tier}"
            );
        }
        // Waves gate each other; the last row also waits for `platform-config-cdi`, which has no fixed place.
        let at = |name: &&str| ready_at(&report, name);
        for rows in ORDER[..7].windows(2) {
            let before = rows[0].iter().map(at).fold(f64::MAX, f64::min);
            let after = rows[1].iter().map(at).fold(f64::MAX, f64::min);
            assert!(before < after, "{entry}: {rows:?}");
        }
        assert!(at(&"platform-config-cdi") < at(&"apps-vms"));
    }
}

#[test]
fn the_deadlock_is_found_and_explained() {
    for flux in ["2.4", "2.9"] {
        let report = rehearse(
            "clusters/prod",
            &["--overlay", "stories/before-cdi-split", "--flux-version", flux],
        );
        assert_eq!(report["clusters"][0]["verdict"], "deadlock", "Flux {flux}");
        let finding = finding(&report, "second-order-kind-in-same-pass");
        assert_eq!(finding["tier"], "flux-system/platform-config");
        assert_eq!(finding["object"], "StorageProfile/longhorn");
        assert!(
            texts(&finding["related"]).contains(&"CDI/cdi".to_owned()),
            "{finding:#}"
        );
        assert!(
            texts(&finding["blocks"]).contains(&"flux-system/apps-vms".to_owned()),
            "{finding:#}"
        );
        let why = finding["why"].as_str().unwrap();
        assert!(why.contains("cdi-operator") && why.contains("CDI/cdi"), "{why}");
        let help = finding["help"].as_str().unwrap();
        assert!(
            help.contains("dependsOn") && help.contains("healthCheckExprs"),
            "{help}"
        );
        assert_eq!(
            finding["location"]["file"],
            "platform/kubevirt/cdi-storageprofiles.yaml"
        );
        assert!(finding["location"]["line"].as_u64().unwrap() > 0);
        assert_eq!(tier(&report, "platform-config")["ready_at_s"], Value::Null);
    }
}

#[test]
fn the_cdi_is_never_applied_and_the_class_is() {
    let trace = std::env::temp_dir().join(format!("firstpass-trace-{}", std::process::id()));
    let report = rehearse(
        "clusters/prod",
        &[
            "--overlay",
            "stories/before-cdi-split",
            "--until",
            "12h",
            "--trace",
            trace.to_str().unwrap(),
        ],
    );
    assert_eq!(report["clusters"][0]["verdict"], "deadlock");
    #[expect(clippy::disallowed_methods, reason = "the trace is what this test is about")]
    let text = std::fs::read_to_string(&trace).unwrap();
    std::fs::remove_file(&trace).unwrap();
    let created = |object: &str| {
        text.lines()
            .any(|line| line.contains("created") && line.contains(object))
    };
    assert!(
        created("VolumeSnapshotClass/longhorn"),
        "the class stage is applied although the pass fails"
    );
    assert!(!created("CDI/cdi"), "the last stage is never applied");
}

#[test]
fn a_warm_cluster_hides_the_deadlock() {
    let kinds = ["StorageProfile", "DataVolume"].map(|kind| format!("{kind}.cdi.kubevirt.io"));
    let report = rehearse(
        "clusters/prod",
        &[
            "--overlay",
            "stories/before-cdi-split",
            "--with-kind",
            &kinds[0],
            "--with-kind",
            &kinds[1],
        ],
    );
    assert_eq!(
        report["clusters"][0]["verdict"],
        "converges",
        "{:#?}",
        loud_findings(&report)
    );
}

#[test]
fn the_first_repair_rests_on_luck() {
    let report = rehearse("clusters/prod", &["--overlay", "stories/first-repair"]);
    assert_eq!(
        report["clusters"][0]["verdict"],
        "hazard",
        "{:#?}",
        loud_findings(&report)
    );
    let finding = finding(&report, "kind-without-barrier");
    assert_eq!(finding["tier"], "flux-system/platform-config-cdi");
    assert_eq!(finding["object"], "StorageProfile/longhorn");
    let said = format!("{} {}", finding["why"], finding["help"]);
    assert!(
        said.contains("Ready condition") && said.contains("healthCheckExprs"),
        "{said}"
    );
    assert_eq!(tier(&report, "platform-config-cdi")["state"], "ready");
}

#[test]
fn the_profiles_are_in_their_own_tier_alone() {
    let home = workspace().join("examples/home-network");
    let build = |tier: &str| {
        let output = firstpass(&home, &["build", "clusters/prod", "--tier", tier]);
        String::from_utf8(output.stdout).unwrap()
    };
    let count = |text: &str, kind: &str| {
        text.lines()
            .filter(|line| *line == format!("kind: {kind}"))
            .count()
    };
    let config = build("platform-config");
    assert_eq!(count(&config, "StorageProfile"), 0);
    assert_eq!((count(&config, "CDI"), count(&config, "KubeVirt")), (1, 1));
    assert_eq!(count(&build("platform-config-cdi"), "StorageProfile"), 2);
}

#[test]
fn the_other_stories_say_what_their_pages_say() {
    let table = [
        ("cdi-in-platform", "converges", None),
        (
            "no-apps-vms-edge",
            "hazard",
            Some(("read-once-without-edge", "flux-system/apps-vms")),
        ),
    ];
    for (story, verdict, finding_at) in table {
        let report = rehearse("clusters/prod", &["--overlay", &format!("stories/{story}")]);
        assert_eq!(
            report["clusters"][0]["verdict"],
            verdict,
            "{story}: {:#?}",
            loud_findings(&report)
        );
        if let Some((rule, tier)) = finding_at {
            assert_eq!(finding(&report, rule)["tier"], tier, "{story}");
        }
    }
}

#[test]
fn the_stories_for_check_say_what_their_pages_say() {
    let home = workspace().join("examples/home-network");
    let table = [
        (
            "unescaped-cloud-init",
            "invalid",
            "undefined-variable",
            "error",
            "flux-system/apps-vms",
        ),
        (
            "remote-bases",
            "converges",
            "remote-base",
            "error",
            "flux-system/platform",
        ),
        (
            "vip-outside-pool",
            "hazard",
            "invariant-broken",
            "error",
            "flux-system/flux-system",
        ),
        (
            "lan-literals",
            "hazard",
            "foreign-address",
            "warning",
            "flux-system/apps-wave-1",
        ),
        (
            "uncovered-path",
            "hazard",
            "literal-variable",
            "error",
            "flux-system/apps-wave-3",
        ),
    ];
    for (story, verdict, rule, severity, tier) in table {
        let report = json(
            &home,
            &["check", "clusters/prod", "--overlay", &format!("stories/{story}")],
        );
        assert_eq!(
            report["clusters"][0]["verdict"],
            verdict,
            "{story}: {:#?}",
            loud_findings(&report)
        );
        let finding = finding(&report, rule);
        assert_eq!(
            (&finding["severity"], &finding["tier"]),
            (&Value::from(severity), &Value::from(tier)),
            "{story}"
        );
        // What the invariant forbids is seen at the object that asks for the address, too.
        let other = loud_findings(&report)
            .into_iter()
            .find(|other| other["rule"] != rule && other["rule"] != "address-outside-pools");
        assert_eq!(other, None, "{story}");
    }
}

#[test]
fn what_is_undecided_is_an_error_once_the_cluster_exists() {
    let home = workspace().join("examples/home-network");
    let plan = ["check", "clusters/prod", "--overlay", "stories/prod-undecided"];
    let report = json(&home, &plan);
    assert!(loud_findings(&report).is_empty(), "{:#?}", loud_findings(&report));
    let findings = report["clusters"][0]["findings"].as_array().unwrap();
    let undecided = |rule: &str| findings.iter().filter(|finding| finding["rule"] == rule).count();
    assert_eq!((undecided("placeholder"), undecided("invariant-broken")), (8, 3));
    let report = json(&home, &[&plan[..], &["--config", "firstpass.yaml"]].concat());
    let loud = loud_findings(&report);
    assert_eq!(loud.len(), 8, "{loud:#?}");
    assert!(
        loud.iter()
            .all(|finding| finding["rule"] == "placeholder" && finding["severity"] == "error")
    );
}

#[test]
fn requirements_and_checks_know_each_other() {
    let home = workspace().join("examples/home-network");
    let read = |file: &str| {
        #[expect(
            clippy::disallowed_methods,
            reason = "the test compares two files of the example"
        )]
        std::fs::read_to_string(home.join(file)).unwrap()
    };
    let ids = |text: &str| -> std::collections::BTreeSet<String> {
        let words = text.split(|character: char| !character.is_ascii_alphanumeric() && character != '-');
        let is_id =
            |word: &&str| word.starts_with("R-") && word.ends_with(|last: char| last.is_ascii_digit());
        words.filter(is_id).map(str::to_owned).collect()
    };
    let (required, held) = (
        ids(&read("DECISIONS.md")),
        ids(&read("conformance/requirements.yaml")),
    );
    assert!(required.len() >= 12, "{required:?}");
    assert_eq!(required, held, "DECISIONS.md and conformance/requirements.yaml");
}
