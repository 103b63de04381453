//! A user's own file on top of what is built in, and how its mistakes are told.

use firstpass_knowledge::{CrdsPolicy, Knowledge, Scope, VersionPoint};
use serde_json::json;

fn error_of(text: &str) -> String {
    let error = Knowledge::builtin()
        .with_file(text, "own.yaml")
        .expect_err("the file is wrong");
    error.to_string()
}

#[test]
fn new_facts_are_added_and_known_ones_replaced() {
    let all = Knowledge::builtin().with_file(
        "
charts:
  - name: our-operator
    source: https://git.example.com/platform/charts
    kinds: [{mode: templates, include: [example.org/*]}]
    workloads: [{kind: Deployment, name: our-operator, operator: our-operator}]
  - name: cilium
    source: https://git.example.com/platform/charts (a fork that holds its CRDs)
    kinds: [{mode: crds-dir, include: [cilium.io/*]}]
operators:
  - name: our-operator
    images: [platform/our-operator]
    source: https://git.example.com/platform/our-operator
    on_object:
      - kind: example.org/Widget
        effects: [{after: our-delay, kinds: [example.org/Gadget]}]
kinds:
  - group: example.org
    source: https://git.example.com/platform/our-operator
    versions: [v1, {name: v1beta1, until: 1.60}]
    kinds:
      Widget: {scope: Cluster, ready: {after: our-delay}}
      Gadget:
timing:
  our-delay: {nominal: 2s, least: 1s, most: 1m, source: measured}
  reconcile: {nominal: 3s, least: 1s, most: 1m, source: a slow cluster}
",
        "own.yaml",
    );
    let all = all.unwrap_or_else(|error| panic!("{error}"));
    let widget = all.custom_kind("example.org", "Widget").unwrap();
    assert_eq!((widget.scope, widget.file.as_str()), (Scope::Cluster, "own.yaml"));
    assert_eq!(
        widget.serves("v1beta1", VersionPoint::parse("1.59.0")),
        Some(true)
    );
    assert_eq!(
        widget.serves("v1beta1", VersionPoint::parse("1.60.0")),
        Some(false),
        "1.60 is not 1.6"
    );
    assert_eq!(all.providers_of("example.org", "Gadget").len(), 2);
    assert_eq!(
        all.operators_of_workload("x", ["registry.example.com/platform/our-operator:v1"])
            .len(),
        1
    );
    assert_eq!(all.timing("reconcile").unwrap().nominal.as_secs(), 3);

    let cilium = all.chart("cilium", Some("1.17.x")).unwrap();
    assert_eq!(cilium.file, "own.yaml");
    assert!(
        !all.chart_kinds(cilium, None, &json!({}), CrdsPolicy::Install)
            .is_empty()
    );
    let builtin = Knowledge::builtin();
    assert_eq!(
        builtin.chart("cilium", None).unwrap().file,
        "knowledge/charts/cilium.yaml",
        "untouched"
    );
}

#[test]
fn mistakes_are_told_with_file_line_and_the_nearest_name() {
    let table = [
        (
            "chart: []",
            "own.yaml:1:1: unknown key `chart`; did you mean `charts`?",
        ),
        (
            "charts:\n  - name: x\n    sorce: y\n",
            "own.yaml:3:5: in `charts.0`: unknown key `sorce`; did you mean `source`?",
        ),
        (
            "charts:\n  - name: x\n    source: y\n    kinds: [{mode: template, include: []}]\n",
            "own.yaml:4:20: in `charts.0.kinds.0.mode`: unknown value `template`; did you mean `templates`?",
        ),
        (
            "charts:\n  - name: x\n    source: y\n    kinds: [{mode: hook, include: [cert-manager.io/Certificat]}]\n",
            "own.yaml: chart `x` refers to kind `cert-manager.io/Certificat`, which no file describes; \
             did you mean `cert-manager.io/Certificate`?",
        ),
        (
            "operators:\n  - name: x\n    source: y\n    at_start: [{after: reconcil}]\n",
            "own.yaml: operator `x` refers to timing `reconcil`, which no file describes; did you mean `reconcile`?",
        ),
        (
            "operators:\n  - name: x\n    source: y\n    on_object: [{kind: cdi.kubevirt.io/CDI, effects: [{after: reconcile, \
             before_status: deplyed}]}]\n",
            "own.yaml: operator `x` refers to status of `cdi.kubevirt.io/CDI` `deplyed`, which no file describes; \
             did you mean `deployed`?",
        ),
        (
            "charts:\n  - name: x\n    source: ''\n",
            "own.yaml: chart `x` has an empty `source`",
        ),
        (
            "timing:\n  x: {nominal: 1s, least: 2s, most: 3s, source: y}\n",
            "own.yaml: timing `x`: `least`, `nominal`, `most` must not fall",
        ),
        (
            "timing:\n  x: {nominal: 1sec, least: 1s, most: 3s, source: y}\n",
            "own.yaml:2:16: in `timing.x.nominal`: `1sec` is not a duration such as `250ms`, `5s`, `2m` or `1h`",
        ),
    ];
    for (text, message) in table {
        assert_eq!(error_of(text), message);
    }
    assert!(
        error_of("charts: [").starts_with("own.yaml:1"),
        "{}",
        error_of("charts: [")
    );
    assert!(
        error_of("charts: 3").starts_with("own.yaml:1:9: in `charts`: invalid type"),
        "{}",
        error_of("charts: 3")
    );
}

#[test]
fn an_empty_file_says_nothing() {
    for text in ["", "# only a comment\n", "---\n---\n"] {
        let all = Knowledge::builtin()
            .with_file(text, "own.yaml")
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(all.charts().len(), Knowledge::builtin().charts().len());
    }
}
