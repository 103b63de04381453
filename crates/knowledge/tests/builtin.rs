//! What the embedded files cover: names are unique, and the charts, kinds, manifests and classes that people use are known.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_knowledge::{ChartRef, Knowledge, Scope, TemplateScope, VersionPoint, place};
use serde_json::{Value, json};

#[test]
fn names_are_unique_and_every_fact_has_a_source() {
    let all = Knowledge::builtin();
    let mut seen: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for chart in all.charts() {
        for (range, from) in seen.get(chart.name.as_str()).into_iter().flatten() {
            let same_place = *from == &chart.only_from;
            assert!(
                !same_place || *range != chart.range(),
                "{}: {} is described twice",
                chart.file,
                chart.name
            );
        }
        seen.entry(&chart.name)
            .or_default()
            .push((chart.range(), &chart.only_from));
        let sources = chart
            .kinds
            .iter()
            .filter_map(|kinds| kinds.source.as_deref())
            .chain([chart.source.as_str()]);
        for source in sources {
            assert!(
                source.starts_with("https://") || source.starts_with("own "),
                "{source}"
            );
        }
    }
    for operator in all.operators() {
        assert!(
            operator.source.starts_with("https://"),
            "{}: {}",
            operator.name,
            operator.source
        );
        assert!(
            !operator.images.is_empty() || !operator.workloads.is_empty(),
            "{} cannot be recognised",
            operator.name
        );
    }
    let started: BTreeSet<&str> = all
        .charts()
        .iter()
        .flat_map(|chart| &chart.workloads)
        .filter_map(|workload| workload.operator.as_deref())
        .collect();
    for name in [
        "cilium-operator",
        "prometheus-operator",
        "cloudnative-pg",
        "longhorn-manager",
        "crossplane",
    ] {
        assert!(started.contains(name), "no chart starts {name}");
    }
}

#[test]
fn the_most_used_charts_are_known() {
    let charts = [
        "cert-manager",
        "kube-prometheus-stack",
        "metrics-server",
        "external-dns",
        "external-secrets",
        "app-template",
        "reloader",
        "cilium",
        "snapshot-controller",
        "gateway-helm",
        "descheduler",
        "cloudnative-pg",
        "flux-operator",
        "rook-ceph",
        "coredns",
        "rook-ceph-cluster",
        "flux-instance",
        "prometheus-blackbox-exporter",
        "gha-runner-scale-set",
        "gha-runner-scale-set-controller",
        "grafana-operator",
        "node-feature-discovery",
        "openebs",
        "prometheus-smartctl-exporter",
        "victoria-logs-single",
        "spegel",
        "tuppr",
        "silence-operator",
        "loki",
        "ingress-nginx",
        "volsync",
        "grafana",
        "multus",
        "konflate",
        "intel-gpu-resource-driver-chart",
        "ceph-csi-drivers",
        "keda",
        "kyverno",
        "authentik",
        "plugin-barman-cloud",
        "longhorn",
        "velero",
        "istiod",
        "coroot-operator",
        "crossplane",
        "gatekeeper",
        "tigera-operator",
        "strimzi-kafka-operator",
        "metallb",
        "traefik",
        "argo-cd",
        "vault-secrets-operator",
        "sealed-secrets",
        "tailscale-operator",
        "eck-operator",
        "victoria-metrics-operator",
        "linkerd-crds",
        "contour",
        "trust-manager",
        "prometheus-operator-crds",
    ];
    let all = Knowledge::builtin();
    let unknown: Vec<_> = charts
        .iter()
        .filter(|chart| all.chart(chart, None).is_none())
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn the_most_used_kinds_have_a_name_a_scope_and_a_provider() {
    let kinds = [
        "cert-manager.io/ClusterIssuer",
        "cert-manager.io/Certificate",
        "cert-manager.io/Issuer",
        "monitoring.coreos.com/PodMonitor",
        "monitoring.coreos.com/PrometheusRule",
        "monitoring.coreos.com/ServiceMonitor",
        "monitoring.coreos.com/ScrapeConfig",
        "monitoring.coreos.com/AlertmanagerConfig",
        "monitoring.coreos.com/Probe",
        "external-secrets.io/ExternalSecret",
        "external-secrets.io/ClusterSecretStore",
        "external-secrets.io/PushSecret",
        "external-secrets.io/SecretStore",
        "gateway.networking.k8s.io/Gateway",
        "gateway.networking.k8s.io/HTTPRoute",
        "gateway.networking.k8s.io/GatewayClass",
        "gateway.networking.k8s.io/ReferenceGrant",
        "gateway.networking.k8s.io/BackendTLSPolicy",
        "cilium.io/CiliumLoadBalancerIPPool",
        "cilium.io/CiliumBGPAdvertisement",
        "cilium.io/CiliumBGPClusterConfig",
        "cilium.io/CiliumBGPPeerConfig",
        "cilium.io/CiliumL2AnnouncementPolicy",
        "cilium.io/CiliumNetworkPolicy",
        "cilium.io/CiliumClusterwideNetworkPolicy",
        "gateway.envoyproxy.io/EnvoyProxy",
        "gateway.envoyproxy.io/BackendTrafficPolicy",
        "gateway.envoyproxy.io/ClientTrafficPolicy",
        "gateway.envoyproxy.io/SecurityPolicy",
        "gateway.envoyproxy.io/Backend",
        "postgresql.cnpg.io/Cluster",
        "postgresql.cnpg.io/ScheduledBackup",
        "postgresql.cnpg.io/Database",
        "volsync.backube/ReplicationSource",
        "volsync.backube/ReplicationDestination",
        "volsync.backube/KopiaMaintenance",
        "externaldns.k8s.io/DNSEndpoint",
        "grafana.integreatly.org/GrafanaDashboard",
        "grafana.integreatly.org/Grafana",
        "grafana.integreatly.org/GrafanaDatasource",
        "k8s.cni.cncf.io/NetworkAttachmentDefinition",
        "talos.dev/ServiceAccount",
        "tuppr.home-operations.com/KubernetesUpgrade",
        "tuppr.home-operations.com/TalosUpgrade",
        "nfd.k8s-sigs.io/NodeFeatureRule",
        "barmancloud.cnpg.io/ObjectStore",
        "dragonflydb.io/Dragonfly",
        "observability.giantswarm.io/Silence",
        "snapshot.storage.k8s.io/VolumeSnapshotClass",
        "kyverno.io/ClusterPolicy",
        "kopiur.home-operations.com/ClusterRepository",
        "kopiur.home-operations.com/SnapshotPolicy",
        "kopiur.home-operations.com/SnapshotSchedule",
        "kopiur.home-operations.com/Restore",
        "keda.sh/ScaledObject",
        "metallb.io/IPAddressPool",
        "renovate-operator.mogenius.com/RenovateJob",
        "traefik.io/Middleware",
        "fluxcd.controlplane.io/ResourceSet",
        "fluxcd.controlplane.io/FluxInstance",
    ];
    let all = Knowledge::builtin();
    for name in kinds {
        let (group, kind) = name.split_once('/').unwrap();
        let def = all
            .custom_kind(group, kind)
            .unwrap_or_else(|| panic!("{name} is unknown"));
        assert!(
            !def.served(VersionPoint::Newest).is_empty(),
            "{name} is served in no version"
        );
        assert!(!all.providers_of(group, kind).is_empty(), "nothing brings {name}");
    }
    let scope = |group, kind| all.custom_kind(group, kind).unwrap().scope;
    assert_eq!(scope("cert-manager.io", "ClusterIssuer"), Scope::Cluster);
    assert_eq!(scope("cert-manager.io", "Certificate"), Scope::Namespaced);
    assert_eq!(
        scope("kopiur.home-operations.com", "ClusterRepository"),
        Scope::Cluster
    );
    assert_eq!(scope("cilium.io", "CiliumLoadBalancerIPPool"), Scope::Cluster);
    assert_eq!(
        scope("snapshot.storage.k8s.io", "VolumeSnapshotClass"),
        Scope::Cluster
    );
    assert_eq!(scope("cdi.kubevirt.io", "StorageProfile"), Scope::Cluster);
    let net = all
        .custom_kind("k8s.cni.cncf.io", "NetworkAttachmentDefinition")
        .unwrap();
    assert_eq!(net.crd_name(), "network-attachment-definitions.k8s.cni.cncf.io");
}

#[test]
fn workloads_are_named_after_the_release() {
    let all = Knowledge::builtin();
    let names = |chart: &str, release: &str, values: Value| {
        let chart = all.chart(chart, None).unwrap();
        let placed = all.chart_workloads(chart, release, "ns", &values);
        placed
            .into_iter()
            .map(|placed| {
                format!(
                    "{} {}/{}",
                    placed.workload.kind.as_str(),
                    placed.namespace,
                    placed.name
                )
            })
            .collect::<Vec<_>>()
    };
    assert!(
        names("cert-manager", "cert-manager", json!({}))
            .contains(&"Deployment ns/cert-manager-webhook".to_owned())
    );
    assert!(
        names("kube-prometheus-stack", "monitoring", json!({}))
            .contains(&"Deployment ns/monitoring-kube-prometheus-operator".to_owned())
    );
    let cilium = names("cilium", "cilium", json!({}));
    assert!(
        cilium.contains(&"DaemonSet ns/cilium".to_owned())
            && cilium.contains(&"Deployment ns/cilium-operator".to_owned())
    );
    assert!(
        !names("cilium", "cilium", json!({"operator": {"enabled": false}}))
            .contains(&"Deployment ns/cilium-operator".to_owned())
    );
    let prometheus = all.operator("prometheus-operator").unwrap();
    let object = json!({"metadata": {"name": "k8s", "namespace": "monitoring"}});
    let scope = TemplateScope {
        object: Some(&object),
        ..TemplateScope::default()
    };
    let started = place(&prometheus.on_object[0].effects[0].workloads, &scope, &object);
    assert_eq!(
        (started[0].namespace.as_str(), started[0].name.as_str()),
        ("monitoring", "prometheus-k8s")
    );
}

#[test]
fn classes_come_from_charts_operators_and_distributions() {
    let all = Knowledge::builtin();
    let default_classes = |name: &str, kubernetes: Option<&str>| {
        let parts = all
            .distribution(name)
            .unwrap()
            .at(kubernetes)
            .flat_map(|brings| &brings.objects);
        let objects: Vec<Value> = parts
            .flat_map(|object| object.render_all(&TemplateScope::default()))
            .collect();
        let default = |object: &&Value| {
            object["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true"
        };
        objects
            .iter()
            .filter(default)
            .map(|object| object["metadata"]["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(default_classes("k3s", None), ["local-path"]);
    assert_eq!(default_classes("kind", None), ["standard"]);
    assert_eq!(default_classes("eks", Some("1.29")), ["gp2"]);
    for none in ["eks", "talos", "kubeadm", "none"] {
        assert!(default_classes(none, None).is_empty(), "{none}");
    }
    let cni = |name: &str| all.distribution(name).unwrap().cni.clone();
    assert_eq!(cni("k3s").as_deref(), Some("flannel"));
    assert_eq!(cni("kubeadm"), None);

    let values = json!({"storageClasses": [{"name": "nfs-fast", "defaultClass": true}], "csiDriver": {"name": "org.example.nfs"}});
    let chart = all.chart("democratic-csi", None).unwrap();
    let scope = TemplateScope {
        values: Some(&values),
        release: "nas",
        namespace: "storage",
        chart: "democratic-csi",
        ..TemplateScope::default()
    };
    let made: Vec<Value> = chart
        .objects
        .iter()
        .flat_map(|object| object.render_all(&scope))
        .collect();
    assert_eq!(made.len(), 1);
    assert_eq!(
        made[0]["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"],
        "true"
    );
    assert_eq!(made[0]["provisioner"], "org.example.nfs");
}

#[test]
fn flux_minors_serve_what_their_crds_say() {
    let all = Knowledge::builtin();
    assert_eq!(all.flux_releases().count(), 6);
    let served = |version: &str, group: &str, kind: &str| {
        all.flux_release(version).unwrap().served(group, kind).join(",")
    };
    assert_eq!(served("2.9", "helm.toolkit.fluxcd.io", "HelmRelease"), "v2");
    assert_eq!(
        served("v2.7.3", "helm.toolkit.fluxcd.io", "HelmRelease"),
        "v2,v2beta2"
    );
    assert_eq!(
        served("2.5", "source.toolkit.fluxcd.io", "OCIRepository"),
        "v1beta2"
    );
    assert_eq!(served("2.6", "source.toolkit.fluxcd.io", "ExternalArtifact"), "");
    assert!(all.flux_release("2.3").is_none());
}

#[test]
fn manifests_are_known_by_their_url() {
    let all = Knowledge::builtin();
    let name = |url: &str| all.manifest(url).map(|manifest| manifest.name.clone());
    let table = [
        (
            "https://github.com/kubernetes-sigs/gateway-api/releases/download/v1.5.1/standard-install.yaml",
            "gateway-api-standard",
        ),
        (
            "https://github.com/kubernetes-sigs/gateway-api/releases/download/v1.4.0/experimental-install.yaml",
            "gateway-api-experimental",
        ),
        (
            "https://raw.githubusercontent.com/dragonflydb/dragonfly-operator/v1.5.0/manifests/crd.yaml",
            "dragonfly-crd",
        ),
        (
            "https://github.com/rancher/system-upgrade-controller/releases/download/v0.20.1/crd.yaml",
            "system-upgrade-controller-crd",
        ),
        (
            "https://github.com/kubevirt/kubevirt/releases/download/v1.6.0/kubevirt-operator.yaml",
            "kubevirt-operator",
        ),
        (
            "https://github.com/kubernetes-csi/external-snapshotter/client/config/crd?ref=v8.2.0",
            "external-snapshotter-crds",
        ),
    ];
    for (url, wanted) in table {
        assert_eq!(name(url).as_deref(), Some(wanted), "{url}");
    }
    assert_eq!(name("https://example.com/app.yaml"), None);
}

#[test]
fn common_names_need_their_repository() {
    let all = Knowledge::builtin();
    assert!(all.chart("base", None).is_none());
    let istio = ChartRef {
        name: "base",
        version: None,
        repository: Some("https://istio-release.storage.googleapis.com/charts"),
    };
    assert_eq!(all.find_chart(istio).unwrap().file, "knowledge/charts/istio.yaml");
    let oci = ChartRef {
        name: "oci://quay.io/jetstack/charts/cert-manager:v1.19.1",
        ..ChartRef::default()
    };
    assert_eq!(all.find_chart(oci).unwrap().name, "cert-manager");
    assert!(all.chart("a-chart-of-our-own", None).is_none());
}
