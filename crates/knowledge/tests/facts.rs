//! The facts that verdicts rest on.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_knowledge::{
    CrdMode, CrdsPolicy, FailurePolicy, Knowledge, Provider, TemplateScope, VersionPoint, WaitProof,
    clone_strategy,
};
use serde_json::{Value, json};

fn kinds_of(chart: &str, version: Option<&str>, values: &Value, policy: CrdsPolicy) -> BTreeSet<String> {
    let all = Knowledge::builtin();
    let chart = all
        .chart(chart, version)
        .unwrap_or_else(|| panic!("chart {chart} is unknown"));
    let brought = all.chart_kinds(chart, version, values, policy);
    brought
        .iter()
        .map(|kind| format!("{}/{}", kind.def.group, kind.def.kind))
        .collect()
}

fn providers(group: &str, kind: &str) -> Vec<String> {
    let all = Knowledge::builtin();
    let name = |provider: &Provider<'_>| match provider {
        Provider::Chart { chart, .. } => format!("chart {}", chart.name),
        Provider::OperatorStart { operator, .. } => format!("start of {}", operator.name),
        Provider::OperatorObject {
            operator, on_object, ..
        } => format!("{} after {}", operator.name, on_object.kind),
        Provider::Manifest { manifest } => format!("manifest {}", manifest.name),
        Provider::Distribution { distribution, .. } => format!("distribution {}", distribution.name),
    };
    all.providers_of(group, kind).iter().map(name).collect()
}

#[test]
fn values_and_policies_decide_whether_crds_come() {
    let none = json!({});
    assert!(kinds_of("cert-manager", Some("v1.17.x"), &none, CrdsPolicy::Install).is_empty());
    for on in [json!({"crds": {"enabled": true}}), json!({"installCRDs": true})] {
        let kinds = kinds_of("cert-manager", Some("v1.17.x"), &on, CrdsPolicy::Skip);
        assert!(
            kinds.contains("cert-manager.io/ClusterIssuer"),
            "templates do not care about install.crds"
        );
    }
    let rule = "monitoring.coreos.com/PrometheusRule";
    assert!(kinds_of("kube-prometheus-stack", None, &none, CrdsPolicy::Install).contains(rule));
    assert!(kinds_of("kube-prometheus-stack", None, &none, CrdsPolicy::Skip).is_empty());
    let off = json!({"crds": {"enabled": false}});
    assert!(kinds_of("kube-prometheus-stack", None, &off, CrdsPolicy::Install).is_empty());
    assert!(
        kinds_of("external-secrets", None, &none, CrdsPolicy::Skip)
            .contains("external-secrets.io/ExternalSecret")
    );
    assert!(kinds_of("kyverno", Some("3.4.x"), &none, CrdsPolicy::Skip).contains("kyverno.io/ClusterPolicy"));
    assert!(kinds_of("cilium", Some("1.17.x"), &none, CrdsPolicy::Install).is_empty());
    assert!(kinds_of("app-template", None, &none, CrdsPolicy::Install).is_empty());
}

#[test]
fn the_version_decides_which_versions_are_served() {
    let all = Knowledge::builtin();
    let served = |chart: &str, version: &str, kind: &str| {
        let chart = all.chart(chart, Some(version)).unwrap();
        let kinds = all.chart_kinds(chart, Some(version), &json!({}), CrdsPolicy::Install);
        let found = kinds
            .iter()
            .find(|brought| brought.def.kind == kind)
            .expect("the chart brings the kind");
        found
            .versions
            .iter()
            .map(|version| (*version).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        served("external-secrets", "0.15.1", "ExternalSecret"),
        ["v1beta1"]
    );
    assert_eq!(
        served("external-secrets", "0.16.x", "ExternalSecret"),
        ["v1", "v1beta1"]
    );
    assert_eq!(served("external-secrets", "1.0.0", "ExternalSecret"), ["v1"]);
    assert_eq!(served("strimzi-kafka-operator", "0.45.0", "Kafka"), ["v1beta2"]);
    let pool = all.custom_kind("cilium.io", "CiliumLoadBalancerIPPool").unwrap();
    assert_eq!(pool.serves("v2", VersionPoint::parse("1.17.x")), Some(false));
    assert_eq!(pool.serves("v2", VersionPoint::parse("1.18.0")), Some(true));
    assert_eq!(pool.serves("v3", VersionPoint::Newest), None);
    let modes = |version| {
        let chart = all.chart("mariadb-operator", Some(version)).unwrap();
        chart.kinds.iter().map(|kinds| kinds.mode).collect::<Vec<_>>()
    };
    assert_eq!(modes("0.37.0"), [CrdMode::CrdsDir]);
    assert_eq!(modes("0.38.0"), [CrdMode::Templates]);
}

#[test]
fn cdi_brings_one_crd_and_the_operator_the_rest() {
    let all = Knowledge::builtin();
    let operators = all.operators_of_workload("whatever", ["quay.io/kubevirt/cdi-operator:v1.62.0"]);
    assert_eq!(
        operators
            .iter()
            .map(|operator| operator.name.as_str())
            .collect::<Vec<_>>(),
        ["cdi-operator"]
    );
    let cdi = operators[0];
    assert!(cdi.at_start.is_empty());
    let effect = &cdi.on_object[0].effects[0];
    assert!(cdi.on_object[0].kind.matches("cdi.kubevirt.io", "CDI"));
    assert!(effect.recreate);
    let kinds: Vec<_> = all
        .effect_kinds(effect, None)
        .into_iter()
        .map(|def| def.kind)
        .collect();
    for kind in [
        "StorageProfile",
        "DataVolume",
        "DataSource",
        "DataImportCron",
        "CDIConfig",
    ] {
        assert!(
            kinds.iter().any(|found| found == kind),
            "{kind} is missing in {kinds:?}"
        );
    }
    assert!(
        !kinds.iter().any(|kind| kind == "CDI"),
        "its CRD comes with the manifest"
    );
    assert_eq!(
        providers("cdi.kubevirt.io", "StorageProfile"),
        ["cdi-operator after cdi.kubevirt.io/CDI"]
    );

    let object = all.custom_kind("cdi.kubevirt.io", "CDI").unwrap();
    assert_eq!(
        object.wait_proof(),
        WaitProof::Nothing,
        "a wait on a CDI proves nothing"
    );
    assert_eq!(effect.before_status.as_deref(), Some("deployed"));
    assert_eq!(object.status.last().unwrap().set["phase"], "Deployed");
    let kubevirt = all.custom_kind("kubevirt.io", "KubeVirt").unwrap();
    assert_eq!(kubevirt.wait_proof(), WaitProof::Generation);
    assert_eq!(kubevirt.status.last().unwrap().set["phase"], "Deployed");
}

#[test]
fn cdi_makes_a_profile_per_class_and_reads_it_once() {
    let all = Knowledge::builtin();
    let controller = all.operator("cdi-controller").unwrap();
    let profile = controller
        .at_start
        .iter()
        .flat_map(|effect| &effect.objects)
        .find(|object| object.for_each.is_some())
        .expect("profiles are made for each class");
    assert!(profile.recreate);
    assert!(
        profile
            .for_each
            .as_ref()
            .unwrap()
            .matches("storage.k8s.io", "StorageClass")
    );
    let class = json!({"metadata": {"name": "longhorn"}});
    let made = profile
        .render(&TemplateScope {
            each: Some(&class),
            ..TemplateScope::default()
        })
        .unwrap();
    assert_eq!(made["metadata"]["name"], "longhorn");
    assert_eq!(made["spec"], json!({}));
    let reads = &controller.reads_once[0];
    assert!(
        reads.kind.matches("cdi.kubevirt.io", "DataVolume")
            && reads.reads.matches("cdi.kubevirt.io", "StorageProfile")
    );
    assert_eq!(reads.if_empty, firstpass_knowledge::IfEmpty::Fails);
    assert!(
        reads
            .unless_set
            .iter()
            .any(|path| path == "spec.storage.accessModes")
    );
}

#[test]
fn cdi_infers_longhorn_by_version_and_parameters() {
    let all = Knowledge::builtin();
    let sets = |cdi: &str, parameters: &[(&str, &str)]| {
        let parameters = parameters
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let sets = all.claim_property_sets("driver.longhorn.io", &parameters, Some(cdi));
        sets.iter()
            .map(|set| format!("{}/{}", set.access_modes.join("+"), set.volume_mode))
            .collect::<Vec<_>>()
    };
    let migratable = [("migratable", "true"), ("fsType", "ext4")];
    assert!(sets("v1.59.1", &[]).is_empty());
    assert!(sets("v1.59.1", &migratable).is_empty());
    assert_eq!(sets("v1.60.0", &[]), ["ReadWriteOnce/Block"]);
    assert_eq!(sets("v1.62.0", &[("fsType", "ext4")]), ["ReadWriteOnce/Block"]);
    assert_eq!(
        sets("v1.60.0", &migratable),
        ["ReadWriteMany/Block", "ReadWriteOnce/Block"]
    );
    assert_eq!(
        sets("v1.63.0", &migratable),
        ["ReadWriteMany/Block", "ReadWriteOnce/Block"]
    );
    assert_eq!(
        sets("v1.63.0", &[("fsType", "ext4")]),
        ["ReadWriteOnce/Filesystem"]
    );
    assert_eq!(
        sets("v1.63.0", &[("nfsOptions", "vers=4.2")]),
        ["ReadWriteMany/Filesystem", "ReadWriteOnce/Filesystem"]
    );
    assert_eq!(sets("v1.63.0", &[("fsType", "")]), ["ReadWriteOnce/Block"]);
    assert!(
        all.storage_inference("example.com/unknown", &BTreeMap::new(), None)
            .is_none()
    );
    let longhorn = all
        .storage_inference("driver.longhorn.io", &BTreeMap::new(), None)
        .unwrap();
    assert_eq!(longhorn.clone_strategy, None);
    assert_eq!(
        (clone_strategy(true), clone_strategy(false)),
        ("snapshot", "copy")
    );
}

#[test]
fn second_order_kinds_come_from_starts_and_from_objects() {
    assert_eq!(
        providers("cilium.io", "CiliumLoadBalancerIPPool"),
        ["start of cilium-operator"]
    );
    assert_eq!(
        providers("kubevirt.io", "VirtualMachine"),
        ["virt-operator after kubevirt.io/KubeVirt"]
    );
    let constraint = providers("constraints.gatekeeper.sh", "K8sRequiredLabels");
    assert_eq!(
        constraint,
        ["gatekeeper after templates.gatekeeper.sh/ConstraintTemplate"]
    );
    assert!(
        providers("s3.aws.upbound.io", "Bucket")
            .contains(&"crossplane after pkg.crossplane.io/Provider".to_owned())
    );
    assert!(
        providers("serving.knative.dev", "Service")
            .contains(&"knative-operator after operator.knative.dev/KnativeServing".to_owned())
    );
    assert!(providers("operator.tigera.io", "Installation").contains(&"start of tigera-operator".to_owned()));
    assert!(
        providers("projectcalico.org", "GlobalNetworkPolicy")
            .contains(&"tigera-operator after operator.tigera.io/APIServer".to_owned())
    );
    assert!(
        providers("apiextensions.crossplane.io", "Composition").contains(&"start of crossplane".to_owned())
    );
    assert!(
        providers("tekton.dev", "Pipeline")
            .contains(&"tekton-operator after operator.tekton.dev/TektonConfig".to_owned())
    );
    assert!(providers("helm.cattle.io", "HelmChart").contains(&"distribution k3s".to_owned()));
    assert!(
        providers("kustomize.toolkit.fluxcd.io", "Kustomization")
            .contains(&"flux-operator after fluxcd.controlplane.io/FluxInstance".to_owned())
    );
}

#[test]
fn created_kinds_follow_the_fields_of_the_object() {
    let all = Knowledge::builtin();
    let made = |operator: &str, object: &Value| {
        let operator = all.operator(operator).unwrap();
        let effects = operator.on_object.iter().flat_map(|on_object| &on_object.effects);
        let kinds = effects
            .filter(|effect| !effect.kind_templates.is_empty())
            .flat_map(|effect| all.effect_kinds(effect, Some(object)));
        kinds
            .map(|def| {
                format!(
                    "{} {} {:?}",
                    def.crd_name(),
                    def.served(VersionPoint::Newest).join(","),
                    def.scope
                )
            })
            .collect::<Vec<_>>()
    };
    let template = json!({"metadata": {"name": "k8srequiredlabels"}, "spec": {"crd": {"spec": {"names": {"kind": "K8sRequiredLabels"}}}}});
    assert_eq!(
        made("gatekeeper", &template),
        ["k8srequiredlabels.constraints.gatekeeper.sh v1beta1,v1alpha1 Cluster"]
    );
    let definition = json!({"spec": {
        "group": "platform.example.org", "names": {"kind": "XDatabase", "plural": "xdatabases"},
        "claimNames": {"kind": "Database", "plural": "databases"}, "versions": [{"name": "v1alpha1"}],
    }});
    assert_eq!(
        made("crossplane", &definition),
        [
            "xdatabases.platform.example.org v1alpha1 Cluster",
            "databases.platform.example.org v1alpha1 Namespaced",
        ]
    );
    let graph = json!({"spec": {"schema": {"apiVersion": "v1alpha1", "kind": "WebApp"}}});
    assert_eq!(made("kro", &graph), ["webapps.kro.run v1alpha1 Namespaced"]);
    assert!(made("kro", &json!({})).is_empty());
}

#[test]
fn waits_prove_what_the_controllers_report() {
    let all = Knowledge::builtin();
    let proof = |group: &str, kind: &str| all.custom_kind(group, kind).unwrap().wait_proof();
    for (group, kind) in [
        ("cert-manager.io", "ClusterIssuer"),
        ("cert-manager.io", "Certificate"),
        ("postgresql.cnpg.io", "Cluster"),
        ("external-secrets.io", "ExternalSecret"),
        ("kyverno.io", "ClusterPolicy"),
        ("k8s.keycloak.org", "Keycloak"),
        ("kafka.strimzi.io", "Kafka"),
        ("ceph.rook.io", "CephCluster"),
        ("kubevirt.io", "VirtualMachine"),
        ("fluxcd.controlplane.io", "FluxInstance"),
        ("keda.sh", "ScaledObject"),
        ("operator.tigera.io", "Installation"),
    ] {
        assert_eq!(proof(group, kind), WaitProof::ReadyCondition, "{group}/{kind}");
    }
    for (group, kind) in [
        ("cdi.kubevirt.io", "CDI"),
        ("coroot.com", "Coroot"),
        ("dragonflydb.io", "Dragonfly"),
        ("metallb.io", "IPAddressPool"),
        ("templates.gatekeeper.sh", "ConstraintTemplate"),
        ("pkg.crossplane.io", "Provider"),
        ("cilium.io", "CiliumNetworkPolicy"),
        ("gateway.networking.k8s.io", "Gateway"),
        ("grafana.integreatly.org", "Grafana"),
        ("volsync.backube", "ReplicationSource"),
    ] {
        assert_eq!(proof(group, kind), WaitProof::Nothing, "{group}/{kind}");
    }
}

#[test]
fn webhooks_say_whom_they_ask_and_who_answers() {
    let all = Knowledge::builtin();
    let chart = all.chart("external-secrets", None).unwrap();
    let asked = |values: &Value| {
        let hooks = chart
            .webhooks
            .iter()
            .filter(|hook| hook.when.as_ref().is_none_or(|when| when.holds(values)));
        hooks
            .filter(|hook| hook.covers("external-secrets.io", "ExternalSecret"))
            .map(|hook| hook.failure_policy)
            .collect::<Vec<_>>()
    };
    assert_eq!(asked(&json!({})), [FailurePolicy::Fail]);
    assert_eq!(
        asked(&json!({"webhook": {"failurePolicy": "Ignore"}})),
        [FailurePolicy::Ignore]
    );
    assert!(asked(&json!({"webhook": {"create": false}})).is_empty());
    let values = json!({});
    for name in [
        "cert-manager",
        "external-secrets",
        "cloudnative-pg",
        "metallb",
        "ingress-nginx",
        "kueue",
    ] {
        let chart = all.chart(name, None).unwrap();
        let scope = TemplateScope {
            values: Some(&values),
            release: name,
            namespace: name,
            chart: name,
            ..TemplateScope::default()
        };
        let workloads: Vec<String> = all
            .chart_workloads(chart, name, name, &values)
            .into_iter()
            .map(|placed| placed.name)
            .collect();
        for hook in &chart.webhooks {
            let server = scope.text(&hook.served_by).unwrap();
            assert!(
                workloads.contains(&server),
                "{name}: {server} is none of {workloads:?}"
            );
        }
    }
}
