//! What the issue of a stuck prod cluster taught, as scenarios of the reference repository: a value that is read once, an
//! operator that never finishes, a crash loop in a wave, and everything else that may go wrong for a while.

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{How, directory, script};
use firstpass_apiserver::Duration;
use firstpass_diagnostics::{ClusterReport, Finding, ProofLevel, Severity, TierState, Verdict};
use firstpass_object::{ObjectId, TierName};
use firstpass_rehearse::{Options, Script};
use firstpass_sim::End;
use firstpass_source::{MemoryTree, OverlayTree, Tree, WorkTree};

const CLASS: &str = "platform-config/longhorn/storageclass-longhorn-vm.yaml";

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/home-network")
}

fn story(name: &str) -> OverlayTree<WorkTree, WorkTree> {
    let (lower, upper) = (example(), example().join("stories").join(name));
    OverlayTree::new(WorkTree::open(&lower).unwrap(), WorkTree::open(&upper).unwrap())
}

/// The repository with a class of which CDI does not infer that several nodes can attach its volumes.
fn with_plain_class(tree: impl Tree + 'static) -> Arc<dyn Tree> {
    let mut class = MemoryTree::new();
    let text = "apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: longhorn-vm
  annotations: {storageclass.kubevirt.io/is-default-virt-class: \"true\"}
provisioner: driver.longhorn.io
parameters: {staleReplicaTimeout: \"2880\"}
";
    class.insert(CLASS, text);
    Arc::new(OverlayTree::new(tree, class))
}

fn tier(name: &str) -> TierName {
    TierName::new("flux-system", name)
}

fn schedules(schedules: u32) -> Options {
    Options {
        schedules,
        ..Options::default()
    }
}

fn of(tree: Arc<dyn Tree>) -> Script {
    script(tree, "clusters/prod", &How::default())
}

fn suffering(script: &Script, faults: &str) -> ClusterReport {
    let troubles = script.faults(&[faults.to_owned()]).unwrap();
    let options = Options {
        troubles,
        ..Options::default()
    };
    script.rehearse(&options).report
}

fn read_once(report: &ClusterReport) -> Option<&Finding> {
    report
        .findings
        .iter()
        .find(|finding| finding.rule == "read-once-without-edge")
}

fn is_ready(report: &ClusterReport, name: &str) -> bool {
    let found = report.tiers.iter().find(|view| view.name == tier(name));
    found.is_some_and(|view| view.state == TierState::Ready)
}

fn show(report: &ClusterReport) -> String {
    let findings = report
        .findings
        .iter()
        .filter(|finding| finding.severity > Severity::Info);
    let findings: Vec<String> = findings
        .map(|finding| format!("{} {:?}: {}", finding.rule, finding.tier, finding.why))
        .collect();
    let tiers: Vec<String> = report
        .tiers
        .iter()
        .map(|view| format!("{} {:?} {:?}", view.name, view.state, view.waiting_on))
        .collect();
    format!(
        "{}\n{}\n{}",
        report.verdict,
        findings.join("\n"),
        tiers.join("\n")
    )
}

#[test]
fn without_the_edge_some_schedules_make_a_disk_that_can_never_move() {
    let report = of(with_plain_class(story("no-apps-vms-edge")))
        .rehearse(&schedules(24))
        .report;
    assert_eq!(report.verdict, Verdict::Hazard, "{}", show(&report));
    let finding = read_once(&report).unwrap();
    let seen = finding.schedules.unwrap();
    assert!(seen.count > 0 && seen.count < 24 && seen.of == 24, "{seen:?}");
    let text = format!(
        "This happened in {} of 24 schedules; `--seed {}` shows one.",
        seen.count, seen.seed
    );
    assert!(finding.why.contains(&text), "{}", finding.why);
    assert!(
        finding.why.contains("was made at") && finding.why.contains("ReadWriteOnce and Block"),
        "{}",
        finding.why
    );
    assert!(
        finding.why.contains("`VirtualMachine/vms/unifi` can never move"),
        "{}",
        finding.why
    );
}

#[test]
fn with_a_class_that_says_it_all_no_schedule_does() {
    let report = of(Arc::new(story("no-apps-vms-edge")))
        .rehearse(&schedules(6))
        .report;
    // The order is still nobody's, which the rule says without a run.
    assert_eq!(read_once(&report).unwrap().schedules, None);
}

#[test]
fn with_the_edge_none_does_even_if_a_revision_comes_while_the_disk_is_made() {
    let script = of(with_plain_class(WorkTree::open(example()).unwrap()));
    let report = script.rehearse(&schedules(12)).report;
    assert_eq!(report.verdict, Verdict::Converges, "{}", show(&report));
    assert!(read_once(&report).is_none());
    for seed in 0..4 {
        let (mut world, assumptions) = script.set_stage(seed);
        let limit = world.epoch() + Duration::from_secs(3600);
        while !world.kustomizations.running().contains_key(&tier("apps-vms")) {
            assert!(world.step(limit), "apps-vms never begins");
        }
        world.move_to(Arc::new(script.contents(2)));
        let limit = world.now() + Duration::from_secs(24 * 3600);
        assert_eq!(world.run_until_quiet(limit), End::Quiet);
        let disk = ObjectId::new("cdi.kubevirt.io", "DataVolume", Some("vms"), "unifi-root");
        assert!(world.disks.stamps()[&disk].can_move(), "seed {seed}");
        let report = script.conclude(world, End::Quiet, seed, assumptions).report;
        assert!(read_once(&report).is_none());
    }
}

#[test]
fn a_stuck_operand_blocks_what_waits_for_it_and_nothing_before() {
    // The rejected arrangement: CDI in `platform`, so everything waits for it.
    let rejected = suffering(&of(Arc::new(story("cdi-in-platform"))), "stuck=CDI/cdi");
    assert_eq!(rejected.verdict, Verdict::NeverReady, "{}", show(&rejected));
    let behind = [
        "platform-config",
        "apps-wave-0",
        "apps-wave-1",
        "apps-wave-2",
        "apps-vms",
        "headlamp",
        "oauth2-proxy",
    ];
    let blocking = rejected
        .findings
        .iter()
        .find(|finding| finding.object.as_deref() == Some("CDI/cdi"));
    let blocking = blocking.unwrap_or_else(|| panic!("{}", show(&rejected)));
    assert_eq!(blocking.tier, Some(tier("platform")));
    for name in behind {
        assert!(
            blocking.blocks.contains(&tier(name)),
            "{name}: {}",
            show(&rejected)
        );
        assert!(!is_ready(&rejected, name));
    }
    // The real one: `platform` stays Ready.
    let real = suffering(&of(directory(&example())), "stuck=CDI/cdi");
    assert!(is_ready(&real, "platform"), "{}", show(&real));
    assert!(!is_ready(&real, "platform-config"), "{}", show(&real));
}

#[test]
fn a_crash_loop_in_a_wave_lets_the_wave_before_move_on_and_holds_the_one_after() {
    let script = of(directory(&example()));
    let troubles = script
        .faults(&["crash-loop=Deployment/homepage/homepage+never".to_owned()])
        .unwrap();
    let (mut world, assumptions) = script.set_stage(0);
    world.suffer(troubles.fixed);
    let limit = world.epoch() + Duration::from_secs(24 * 3600);
    assert_eq!(world.run_until_quiet(limit), End::Quiet);
    world.move_to(Arc::new(script.contents(2)));
    let limit = world.now() + Duration::from_secs(24 * 3600);
    assert_eq!(world.run_until_quiet(limit), End::Quiet);
    let revision = |name: &str| {
        world.kustomizations.tiers()[&tier(name)]
            .revision
            .clone()
            .unwrap_or_default()
    };
    assert!(
        revision("apps-wave-0").ends_with('2'),
        "{}",
        revision("apps-wave-0")
    );
    assert_eq!(revision("apps-wave-1"), "");
    let report = script.conclude(world, End::Quiet, 0, assumptions).report;
    assert!(is_ready(&report, "apps-wave-0"), "{}", show(&report));
    assert!(!is_ready(&report, "apps-wave-1") && !is_ready(&report, "apps-wave-2"));
    let finding = report
        .findings
        .iter()
        .find(|finding| finding.tier == Some(tier("apps-wave-1")))
        .unwrap();
    assert!(finding.why.contains("crash"), "{}", finding.why);
}

#[test]
fn what_heals_comes_up() {
    let script = of(directory(&example()));
    for faults in [
        "source-down=10m",
        "source-down=GitRepository/flux-system/flux-system@4m+20m",
        "slow-image=20m",
        "slow-operator=cdi-operator+30m",
        "webhook-dies=cert-manager-webhook",
        "restart-controller=kustomize-controller@2m,restart-controller=helm-controller@1m",
        "source-down=HelmRepository/longhorn-system/longhorn@50s+20m,restart-controller=source-controller@60s",
        "crash-loop=Deployment/homepage/homepage",
    ] {
        let report = suffering(&script, faults);
        assert!(
            report.tiers.iter().all(|view| view.state == TierState::Ready),
            "{faults}: {}",
            show(&report)
        );
        assert_eq!(report.verdict, Verdict::Converges, "{faults}: {}", show(&report));
        assert!(!report.faults.is_empty());
    }
}

#[test]
fn random_faults_heal_as_well_and_are_told() {
    let script = of(directory(&example()));
    let troubles = script.faults(&["random=3".to_owned()]).unwrap();
    let options = Options {
        troubles,
        ..schedules(6)
    };
    let report = script.rehearse(&options).report;
    assert_eq!(report.verdict, Verdict::Converges, "{}", show(&report));
    let again = script.rehearse(&options).report;
    assert_eq!(format!("{report:?}"), format!("{again:?}"));
}

#[test]
fn a_target_that_is_not_there_says_what_is_near() {
    let script = of(directory(&example()));
    let help = |typed: &str| script.faults(&[typed.to_owned()]).unwrap_err().help;
    assert_eq!(
        help("crash-loop=Deployment/homepage/hompage"),
        "did you mean `Deployment/homepage/homepage`?"
    );
    assert_eq!(help("slow-operator=cdi-operater"), "did you mean `cdi-operator`?");
    assert_eq!(
        help("restart-controller=kustomise-controller"),
        "did you mean `kustomize-controller`?"
    );
    let none = help("crash-loop");
    assert!(
        none.starts_with("write it like `crash-loop=Deployment/NAMESPACE/NAME`; there are "),
        "{none}"
    );
    assert!(none.ends_with(" more"), "{none}");
    // An empty target is no target, also where one may be left out.
    let error = script.faults(&["source-down=".to_owned()]).unwrap_err();
    assert_eq!(error.message, "which source?");
    assert!(error.help.starts_with("there are GitRepository/"), "{error}");
    assert_eq!(
        help("restart-controller="),
        "write it like `restart-controller=kustomize-controller`; there are kustomize-controller, helm-controller, source-controller"
    );
    assert!(help("slow-operator=").contains("cdi-operator"));
}

/// What each fault that can be typed does is shown where it is played (`crates/sim/tests/faults.rs`); here each is read.
#[test]
fn each_fault_that_is_listed_can_be_typed() {
    let script = of(Arc::new(story("remote-bases")));
    for (name, _) in firstpass_rehearse::FAULTS {
        let typed = match name {
            "crash-loop" => "crash-loop=Deployment/homepage/homepage",
            "stuck" => "stuck=CDI/cdi",
            "webhook-dies" => "webhook-dies=cert-manager-webhook",
            "restart-controller" => "restart-controller=helm-controller",
            name => name,
        };
        let troubles = script
            .faults(&[typed.to_owned()])
            .unwrap_or_else(|error| panic!("{typed}: {error}"));
        assert_eq!(troubles.fixed.len() + troubles.random as usize, 1, "{typed}");
        let shown = troubles
            .fixed
            .first()
            .map_or_else(|| "random".to_owned(), ToString::to_string);
        assert!(shown.starts_with(typed), "{shown}");
    }
}

#[test]
fn tiers_say_what_they_prove_and_what_they_hold_up() {
    let report = of(directory(&example())).rehearse(&Options::default()).report;
    let find = |name: &str| report.tiers.iter().find(|view| view.name == tier(name)).unwrap();
    let blocks = |name: &str| find(name).blast_radius.clone().unwrap().blocks;
    assert_eq!(blocks("platform").len(), 8);
    assert_eq!(blocks("apps-wave-1"), [tier("apps-wave-2")]);
    assert!(blocks("headlamp").is_empty() && blocks("apps-vms").is_empty());
    assert!(find("platform").blast_radius.as_ref().unwrap().starves.is_empty());
    let proof = |name: &str| find(name).proves.clone().unwrap();
    assert_eq!(proof("flux-system").level, ProofLevel::Applied);
    assert_ne!(proof("platform-config").level, ProofLevel::Applied);
    let repaired = of(Arc::new(story("first-repair")))
        .rehearse(&Options::default())
        .report;
    let config = repaired
        .tiers
        .iter()
        .find(|view| view.name == tier("platform-config"))
        .unwrap();
    let proof = config.proves.as_ref().unwrap();
    assert_eq!(proof.level, ProofLevel::Partly);
    assert!(proof.silent.contains(&"CDI/cdi".to_owned()), "{proof:?}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the example is read from disk")]
fn a_gateway_without_a_pin_may_not_get_the_address_that_dns_answers_with() {
    let (gateway, vars) = (
        "platform-config/gateway/gateway.yaml",
        "clusters/prod/cluster-vars.yaml",
    );
    let with = |pin: &str, address: &str| {
        let mut upper = MemoryTree::new();
        let read = |path: &str| std::fs::read_to_string(example().join(path)).unwrap();
        upper.insert(gateway, read(gateway).replace("lbipam.cilium.io/ips", pin));
        upper.insert(
            vars,
            read(vars).replace("GATEWAY_VIP: 192.168.20.200", &format!("GATEWAY_VIP: {address}")),
        );
        let tree = OverlayTree::new(WorkTree::open(example()).unwrap(), upper);
        of(Arc::new(tree)).rehearse(&Options::default()).report
    };
    let found = |report: &ClusterReport| {
        report
            .findings
            .iter()
            .find(|finding| finding.rule == "address-not-pinned")
            .cloned()
    };
    assert_eq!(found(&with("lbipam.cilium.io/ips", "192.168.20.210")), None);
    let report = with("example.com/unused", "192.168.20.210");
    let finding = found(&report).unwrap_or_else(|| panic!("{}", show(&report)));
    assert_eq!(finding.tier, Some(tier("platform-config")));
    assert!(finding.object.as_deref().unwrap().starts_with("Gateway/"));
    assert!(finding.why.contains("names 192.168.20.210"), "{}", finding.why);
    assert!(finding.why.contains("got 192.168.20.200"), "{}", finding.why);
}

#[test]
fn why_ends_at_the_root_and_says_what_the_check_said() {
    let script = of(directory(&example()));
    let troubles = script.faults(&["stuck=CDI/cdi".to_owned()]).unwrap();
    let rehearsal = script.rehearse(&Options {
        troubles,
        ..Options::default()
    });
    let text = rehearsal.why(&tier("apps-vms")).unwrap();
    assert!(
        text.contains("waits for `CDI/cdi` to be healthy (platform-config/kubevirt/cdi.yaml:3)"),
        "{text}"
    );
    assert!(text.contains("its health check says: "), "{text}");
    assert!(
        text.contains("At the root: `CDI/cdi`") && text.contains("[never-healthy]"),
        "{text}"
    );
    let rehearsal = of(Arc::new(story("before-cdi-split"))).rehearse(&Options::default());
    let text = rehearsal.why(&tier("apps-vms")).unwrap();
    assert!(
        text.contains("this closes the circle")
            && text.contains("what to do: move `StorageProfile/longhorn`"),
        "{text}"
    );
    assert!(
        text.ends_with("Known from: knowledge/operators/cdi.yaml\n"),
        "{text}"
    );
}

/// Four tiers wait for pods that never come, and kustomize-controller has four workers.
#[test]
fn four_stuck_waits_starve_the_rest_and_the_report_says_so() {
    let kustomization = |name: &str, more: &str| {
        format!(
            "---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec: {{interval: 10m, retryInterval: 10s, path: ./{name}, prune: true, sourceRef: {{kind: GitRepository, name: flux-system}}{more}}}
"
        )
    };
    let mut tree = MemoryTree::new();
    let mut cluster = "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, ref: {branch: main}, url: 'https://git.example.com/home.git'}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, path: ./clusters/prod, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
"
    .to_owned();
    cluster.push_str(&kustomization("before", ""));
    for number in 0..4 {
        let name = format!("stuck-{number}");
        cluster.push_str(&kustomization(&name, ", wait: true, timeout: 9m"));
        tree.insert(
            &format!("{name}/web.yaml"),
            format!(
                "apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: default}}
spec:
  progressDeadlineSeconds: 3600
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers: [{{name: main, image: 'registry.example.com/main:1', envFrom: [{{configMapRef: {{name: never}}}}]}}]
"
            ),
        );
    }
    cluster.push_str(&kustomization("never", ", suspend: true"));
    cluster.push_str(&kustomization("fine", ", dependsOn: [{name: before}]"));
    tree.insert("clusters/prod/all.yaml", cluster);
    for name in ["before", "never", "fine"] {
        let map =
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\n");
        tree.insert(&format!("{name}/map.yaml"), map);
    }
    let report = of(Arc::new(tree)).rehearse(&Options::default()).report;
    let finding = report
        .findings
        .iter()
        .find(|finding| finding.rule == "workers-starved");
    let finding = finding.unwrap_or_else(|| panic!("{}", show(&report)));
    assert!(
        finding.message.contains("4 workers are all there are"),
        "{}",
        finding.message
    );
    assert!(finding.why.contains("`flux-system/fine`"), "{}", finding.why);
    // It gets its turn only when one of the waits has timed out.
    let fine = report
        .tiers
        .iter()
        .find(|view| view.name == tier("fine"))
        .unwrap();
    assert!(
        fine.ready_at_s.is_some_and(|at| at > 9.0 * 60.0),
        "{:?} {}",
        fine.ready_at_s,
        show(&report)
    );
}

/// Each cause is told by itself, with what to do about it.
#[test]
fn what_keeps_pods_and_claims_waiting_is_told_apart() {
    let mut tree = MemoryTree::new();
    tree.insert(
        "firstpass.yaml",
        "clusters: {prod: {path: clusters/prod, baseline: {distribution: k3s}}}\n",
    );
    tree.insert(
        "clusters/prod/all.yaml",
        "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, ref: {branch: main}, url: 'https://git.example.com/home.git'}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, path: ./clusters/prod, prune: true, wait: true, timeout: 1m, sourceRef: {kind: GitRepository, name: flux-system}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {PORT: '80'}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - {name: main, image: 'registry.example.com/web:1', env: [{name: HOST, valueFrom: {configMapKeyRef: {name: settings, key: HOST}}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: other, namespace: default}
spec:
  selector: {matchLabels: {app: other}}
  template:
    metadata: {labels: {app: other}}
    spec:
      nodeSelector: {kubernetes.io/os: windows}
      containers: [{name: main, image: 'registry.example.com/other:1'}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: shared, namespace: default}
spec: {accessModes: [ReadWriteMany], storageClassName: local-now, resources: {requests: {storage: 1Gi}}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local-now}
provisioner: rancher.io/local-path
volumeBindingMode: Immediate
",
    );
    let report = of(Arc::new(tree)).rehearse(&Options::default()).report;
    assert_eq!(report.verdict, Verdict::NeverReady, "{}", show(&report));
    for (object, why, help) in [
        (
            "Deployment/default/web",
            "its pods wait for `HOST in ConfigMap/default/settings`",
            "add the key",
        ),
        (
            "Deployment/default/other",
            "all nodes of this distribution run Linux",
            "a node that there is",
        ),
        (
            "PersistentVolumeClaim/default/shared",
            "asks for ReadWriteMany, which the provisioner of StorageClass/local-now refuses",
            "access mode",
        ),
    ] {
        let finding = report
            .findings
            .iter()
            .find(|finding| finding.object.as_deref() == Some(object));
        let finding = finding.unwrap_or_else(|| panic!("{object}: {}", show(&report)));
        assert_eq!(finding.rule, "never-healthy");
        assert!(
            finding.why.contains(why) && finding.help.contains(help),
            "{} {}",
            finding.why,
            finding.help
        );
    }
}
