//! The reference repository and its stories.

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use std::path::PathBuf;
use std::sync::Arc;

use common::{How, directory, overlaid, script};
use firstpass_apiserver::{Apply, Duration, Request};
use firstpass_baseline::StageOptions;
use firstpass_diagnostics::{Severity, Verdict};
use firstpass_object::{GroupKind, ObjectId, TierName};
use firstpass_rehearse::{Options, Rehearsal};
use firstpass_sim::End;
use firstpass_source::Tree;
use serde_json::json;

fn example() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/home-network"
    ))
}

fn tree(story: Option<&str>) -> Arc<dyn Tree> {
    match story {
        None => directory(&example()),
        Some(story) => overlaid(&example(), &example().join("stories").join(story)),
    }
}

fn show(rehearsal: &Rehearsal) {
    eprintln!("{}", rehearsal.trace());
    for finding in &rehearsal.report.findings {
        eprintln!("{finding:#?}");
    }
    for assumption in &rehearsal.report.assumptions {
        eprintln!(
            "{} {}: {} ({})",
            assumption.about, assumption.subject, assumption.assumed, assumption.source
        );
    }
    for tier in &rehearsal.report.tiers {
        eprintln!(
            "{:?} {} ready {:?} attempts {} failed {} {:?}",
            tier.state, tier.name, tier.ready_at_s, tier.attempts, tier.failed_attempts, tier.waiting_on
        );
    }
}

#[test]
fn both_clusters_converge_without_a_failed_attempt() {
    for entry in ["clusters/prod", "clusters/dev"] {
        let how = How::default();
        let rehearsal = script(tree(None), entry, &how).rehearse(&how.options);
        let report = &rehearsal.report;
        if report.verdict != Verdict::Converges || report.tiers.iter().any(|tier| tier.failed_attempts > 0) {
            show(&rehearsal);
        }
        assert_eq!(report.verdict, Verdict::Converges);
        assert!(
            report
                .tiers
                .iter()
                .all(|tier| tier.failed_attempts == 0 && tier.ready_at_s.is_some())
        );
        assert!(
            report
                .findings
                .iter()
                .all(|finding| finding.severity == Severity::Info)
        );
    }
}

fn cdi_kinds() -> StageOptions {
    let kinds = [
        "StorageProfile",
        "DataVolume",
        "DataSource",
        "DataImportCron",
        "CDIConfig",
    ];
    StageOptions {
        kinds: kinds
            .iter()
            .map(|kind| GroupKind::new("cdi.kubevirt.io", *kind))
            .collect(),
        ..StageOptions::default()
    }
}

fn cdi() -> ObjectId {
    ObjectId::new("cdi.kubevirt.io", "CDI", None, "cdi")
}

fn platform_config() -> TierName {
    TierName::new("flux-system", "platform-config")
}

#[test]
fn before_the_split_the_cluster_stands_still() {
    for flux in ["2.4", "2.9"] {
        let how = How {
            flux: Some(flux.parse().unwrap()),
            ..How::default()
        };
        let script = script(tree(Some("before-cdi-split")), "clusters/prod", &how);
        let rehearsal = script.rehearse(&how.options);
        let report = &rehearsal.report;
        let finding = report
            .findings
            .iter()
            .find(|finding| finding.rule == "second-order-kind-in-same-pass");
        if report.verdict != Verdict::Deadlock || finding.is_none() {
            show(&rehearsal);
        }
        assert_eq!(report.verdict, Verdict::Deadlock);
        let finding = finding.unwrap();
        assert_eq!(finding.tier, Some(platform_config()));
        assert_eq!(finding.object.as_deref(), Some("StorageProfile/longhorn"));
        assert!(
            finding.related.contains(&"CDI/cdi".to_owned()),
            "{:?}",
            finding.related
        );
        assert!(
            finding.related.contains(&"StorageProfile/longhorn-vm".to_owned()),
            "{:?}",
            finding.related
        );
        for tier in ["apps-wave-0", "apps-vms", "oauth2-proxy"] {
            assert!(
                finding.blocks.contains(&TierName::new("flux-system", tier)),
                "{:?}",
                finding.blocks
            );
        }
        assert!(
            finding
                .location
                .as_ref()
                .unwrap()
                .file
                .ends_with("cdi-storageprofiles.yaml")
        );
        // The class stage is applied although the pass fails (F-200).
        let class = ObjectId::new("snapshot.storage.k8s.io", "VolumeSnapshotClass", None, "longhorn");
        assert!(rehearsal.world.server.object(&class).is_some());
        // Still so at virtual 12 h. Once is enough: it takes a while.
        if flux == "2.4" {
            continue;
        }
        let mut world = rehearsal.world.clone();
        world.run_for(Duration::from_secs(12 * 3600));
        assert!(world.server.object(&cdi()).is_none());
        assert!(world.kustomizations.tiers()[&platform_config()].failures.len() > 10);
    }
}

#[test]
fn on_a_warm_cluster_nobody_saw_it() {
    let how = How {
        stage: cdi_kinds(),
        ..How::default()
    };
    let rehearsal = script(tree(Some("before-cdi-split")), "clusters/prod", &how).rehearse(&how.options);
    if rehearsal.verdict() != Verdict::Converges {
        show(&rehearsal);
    }
    assert_eq!(rehearsal.verdict(), Verdict::Converges);
}

#[test]
fn a_wedged_cluster_comes_up_with_the_repair_and_with_the_object_applied_by_hand() {
    let how = How::default();
    let wedged = script(tree(Some("before-cdi-split")), "clusters/prod", &how);
    let (mut world, assumptions) = wedged.set_stage(0);
    let limit = world.epoch() + Duration::from_secs(24 * 3600);
    assert_eq!(world.run_until_quiet(limit), End::Quiet);

    let mut by_hand = world.clone();
    let manifest = json!({"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "CDI", "metadata": {"name": "cdi"}, "spec": {}});
    by_hand
        .intervene(|server| server.call(&Request::Apply(Apply::forced(manifest.into(), "kubectl"))))
        .unwrap();
    let limit = by_hand.now() + Duration::from_secs(24 * 3600);
    assert_eq!(by_hand.run_until_quiet(limit), End::Quiet);
    let rehearsal = wedged.conclude(by_hand, End::Quiet, 0, assumptions.clone());
    assert!(
        rehearsal
            .report
            .tiers
            .iter()
            .all(|tier| tier.ready_at_s.is_some())
    );

    let repaired = script(tree(None), "clusters/prod", &how);
    world.move_to(Arc::new(repaired.contents(2)));
    let limit = world.now() + Duration::from_secs(24 * 3600);
    assert_eq!(world.run_until_quiet(limit), End::Quiet);
    let rehearsal = repaired.conclude(world, End::Quiet, 0, assumptions);
    if !rehearsal
        .report
        .tiers
        .iter()
        .all(|tier| tier.ready_at_s.is_some())
    {
        show(&rehearsal);
    }
    assert!(
        rehearsal
            .report
            .tiers
            .iter()
            .all(|tier| tier.ready_at_s.is_some())
    );
}

#[test]
fn the_first_repair_fails_once_where_the_operator_is_slow() {
    let how = How::default();
    let mut script = script(tree(Some("first-repair")), "clusters/prod", &how);
    let slow = "timing:\n  cdi-crds: {nominal: 150s, least: 150s, most: 150s, source: test}\n";
    script.knowledge = Arc::new(script.knowledge.with_file(slow, "slow.yaml").unwrap());
    let rehearsal = script.rehearse(&how.options);
    let tier = TierName::new("flux-system", "platform-config-cdi");
    let record = rehearsal.tier(&tier).unwrap();
    if record.failures.len() != 1 {
        show(&rehearsal);
    }
    assert_eq!(rehearsal.verdict(), Verdict::Hazard);
    assert_eq!(record.failures.len(), 1);
    let failed = &record.failures[0];
    assert!(
        failed
            .failure
            .message
            .contains("no matches for kind \"StorageProfile\" in version \"cdi.kubevirt.io/v1beta1\"")
    );
    let late = record.ready_at.unwrap().since(failed.ended_at);
    assert!(
        late >= Duration::from_secs(120) && late < Duration::from_secs(140),
        "{late}"
    );
    let finding = rehearsal
        .report
        .findings
        .iter()
        .find(|finding| finding.rule == "kind-without-barrier")
        .unwrap();
    assert_eq!(finding.tier.as_ref(), Some(&tier));
}

#[test]
fn why_leads_to_the_root() {
    let how = How::default();
    let rehearsal = script(tree(Some("before-cdi-split")), "clusters/prod", &how).rehearse(&how.options);
    let text = rehearsal.why(&TierName::new("flux-system", "apps-vms")).unwrap();
    eprintln!("{text}");
    assert!(
        text.contains("cdi-operator creates it only after it has reconciled `CDI/cdi`"),
        "{text}"
    );
    assert!(rehearsal.why(&TierName::new("flux-system", "no-such")).is_none());
}

#[test]
fn sampled_schedules_converge_as_well() {
    // Issue 5 asks for 1,000 of them; here is a taste, and `SCHEDULES` takes more.
    #[expect(
        clippy::disallowed_methods,
        reason = "how many schedules is asked for by hand"
    )]
    let schedules = std::env::var("SCHEDULES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(4);
    let how = How {
        options: Options {
            schedules,
            ..Options::default()
        },
        ..How::default()
    };
    let rehearsal = script(tree(None), "clusters/prod", &how).rehearse(&how.options);
    let report = &rehearsal.report;
    if report.verdict != Verdict::Converges {
        for finding in &report.findings {
            eprintln!(
                "{} {:?} {:?}: {}\n    {}",
                finding.rule, finding.tier, finding.object, finding.message, finding.why
            );
        }
    }
    assert_eq!(report.schedules, schedules);
    assert_eq!(report.verdict, Verdict::Converges);
}
