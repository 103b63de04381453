//! Rules of building and substituting that no other test names (reference sections 4, 7 and 9).

mod common;

use common::{config_map, find, object, outcome, render, tier};
use firstpass_render::{Outcome, RenderedCluster};

const VARS: &str = "postBuild: {substitute: {A: value, PORT: '8080', BIG: '1', LIST: '[1, 2]', EMPTY: ''}}";

/// The cluster with one tier of these lines and files.
fn one(spec: &str, files: &str) -> RenderedCluster {
    render(&[tier("apps", &format!("path: ./apps\n{spec}")), files.to_owned()].concat())
}

fn flux_message(cluster: &RenderedCluster) -> String {
    match &find(cluster, "apps").outcome {
        Outcome::Failed(failures) => failures[0].flux_message.clone(),
        other => panic!("built: {other:?}"),
    }
}

fn file(name: &str, text: &str) -> String {
    format!("--- apps/{name}\n{text}\n")
}

/// F-305: `targetNamespace` is put on everything that is not known to be cluster-scoped, and renames Namespaces.
#[test]
fn a_target_namespace_goes_everywhere() {
    let files = [
        file(
            "a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: other}",
        ),
        file(
            "b.yaml",
            "apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: b}",
        ),
        file(
            "c.yaml",
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: c}\nrules: []",
        ),
        file("d.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: d}"),
    ]
    .concat();
    let cluster = one("targetNamespace: media", &files);
    assert_eq!(
        outcome(find(&cluster, "apps")),
        "ConfigMap/media/a, Unknown/media/b, ClusterRole/c, Namespace/media"
    );
    let two = [
        files,
        file("e.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: e}"),
    ]
    .concat();
    let cluster = one("targetNamespace: media", &two);
    assert!(
        flux_message(&cluster).contains("namespace transformation produces ID conflict"),
        "{}",
        flux_message(&cluster)
    );
}

/// F-306: prefixes and suffixes leave definitions, APIServices and Namespaces alone.
#[test]
fn prefixes_leave_some_kinds_alone() {
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n\
               spec: {group: example.com, scope: Cluster, names: {kind: Thing, plural: things}, versions: []}";
    let files = [
        file("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: media}"),
        file("b.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: media}"),
        file("c.yaml", crd),
        file("d.yaml", "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.example.com}\nspec: {group: example.com, version: v1, groupPriorityMinimum: 1, versionPriority: 1}"),
    ]
    .concat();
    let cluster = one("namePrefix: x-\nnameSuffix: -y", &files);
    assert_eq!(
        outcome(find(&cluster, "apps")),
        "ConfigMap/media/x-a-y, Namespace/media, CustomResourceDefinition/things.example.com, APIService/v1.example.com"
    );
}

/// F-607, F-643: the chain of words, also for a text that cannot be parsed, in every mode.
#[test]
fn errors_of_substitution_name_the_object() {
    let cluster = one(VARS, &config_map("apps/a.yaml", "a", &["k: '${A.b}'"]));
    let text = flux_message(&cluster);
    assert!(
        text.starts_with(
            "post build failed for 'ConfigMap.v1.[noGrp]/a': envsubst error: variable substitution failed: "
        ),
        "{text}"
    );
    let files = [
        config_map("apps/a.yaml", "a", &["k: '${A.b}'"]),
        "--- firstpass.yaml\nclusters: {prod: {path: clusters/prod, flux: '2.8'}}\n".to_owned(),
    ]
    .concat();
    assert!(flux_message(&one(VARS, &files)).contains("variable substitution failed"));
}

/// F-608, F-665, F-660: the text is read anew, so that a value can become a number, a list or nothing.
#[test]
fn substituted_scalars_get_types() {
    let lines = [
        "port: '${PORT}'",
        "list: '${LIST}'",
        "empty: '${EMPTY}'",
        "text: 'x${PORT}'",
    ];
    let cluster = one(VARS, &config_map("apps/a.yaml", "a", &lines));
    let data = &object(find(&cluster, "apps"), "ConfigMap/flux-system/a").object["data"];
    assert_eq!(data["port"], 8080);
    assert_eq!(data["list"], serde_json::json!([1, 2]));
    assert!(data["empty"].is_null());
    assert_eq!(data["text"], "x8080");
    // A label of another type: Kubernetes' accessor then finds no labels at all, and all are lost (F-250).
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: flux-system, labels: {port: '${PORT}', kept: b}}";
    let cluster = one(VARS, &file("a.yaml", text));
    let labels = &object(find(&cluster, "apps"), "ConfigMap/flux-system/a").object["metadata"]["labels"];
    assert!(
        labels.get("port").is_none() && labels.get("kept").is_none(),
        "{labels}"
    );
}

/// F-610: `data` of a Secret is base64 and stays, `stringData` is substituted.
#[test]
fn only_the_plain_half_of_a_secret_is_substituted() {
    let text = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: flux-system}\n\
                data: {a: JHtBfQ==}\nstringData: {b: 'pass$$word-${A}'}";
    let cluster = one(VARS, &file("s.yaml", text));
    let secret = &object(find(&cluster, "apps"), "Secret/flux-system/s").object;
    assert_eq!(secret["data"]["a"], "JHtBfQ==");
    let plain = secret.get("stringData").and_then(|data| data.get("b"));
    let encoded = secret["data"].get("b");
    let is_substituted = plain.is_some_and(|text| text == "pass$word-value")
        || encoded.is_some_and(|text| text == "cGFzcyR3b3JkLXZhbHVl");
    assert!(is_substituted, "{secret}");
}

/// F-630, F-651: a variable is its value; without any variable nothing is looked at, however strict.
#[test]
fn strictness_matters_only_where_substitution_runs() {
    let files = || config_map("apps/a.yaml", "a", &["k: '${A} ${B:=c}'"]);
    let cluster = one(VARS, &files());
    let at = |cluster: &RenderedCluster| {
        object(find(cluster, "apps"), "ConfigMap/flux-system/a").object["data"]["k"].clone()
    };
    assert_eq!(at(&cluster), "value c");
    let cluster = one("postBuild: {substitute: {}}", &files());
    assert_eq!(at(&cluster), "${A} ${B:=c}");
    let cluster = one("postBuild: {substitute: {X: '1'}}", &files());
    assert!(flux_message(&cluster).contains("variable not set (strict mode): \"A\""));
}

/// F-663, F-666: texts of several lines stay texts, and a round trip changes no text.
#[test]
fn texts_survive_the_round_trip() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: flux-system}\ndata:\n  lines: |\n    # ${A}\n    - ${PORT}: {x}\n\n    end\n  \
                long: 'word word word word word word word word word word word word word word word word word word word word ${A}'\n  \
                yes: 'yes'\n  octal: '0755'\n  date: '2024-01-01'\n  tilde: '~'\n  colon: 'a: b'\n  hash: 'a #b'\n  quote: \"it's\"\n  tab: \"a\\tb\"\n  exp: '1e3'";
    let cluster = one(VARS, &file("a.yaml", text));
    let data = &object(find(&cluster, "apps"), "ConfigMap/flux-system/a").object["data"];
    assert_eq!(data["lines"], "# value\n- 8080: {x}\n\nend\n");
    assert!(data["long"].as_str().unwrap().ends_with("word word value"));
    for (key, value) in [
        ("yes", "yes"),
        ("octal", "0755"),
        ("date", "2024-01-01"),
        ("tilde", "~"),
        ("colon", "a: b"),
        ("hash", "a #b"),
        ("quote", "it's"),
        ("tab", "a\tb"),
        ("exp", "1e3"),
    ] {
        assert_eq!(data[key], value, "{key}");
    }
}

/// F-801: what a build gives has a version, a kind and a name.
#[test]
fn every_object_has_a_version_a_kind_and_a_name() {
    for text in [
        "kind: ConfigMap\nmetadata: {name: a}",
        "apiVersion: v1\nmetadata: {name: a}",
        "apiVersion: v1\nkind: ConfigMap",
    ] {
        let files = [
            file("a.yaml", text),
            file("kustomization.yaml", "resources: [a.yaml]"),
        ]
        .concat();
        let cluster = one("", &files);
        assert!(
            matches!(find(&cluster, "apps").outcome, Outcome::Failed(_)),
            "{text}"
        );
    }
}

/// F-809: objects come as they are listed.
#[test]
fn the_order_is_that_of_the_files() {
    let files = [
        config_map("apps/z.yaml", "z", &["k: v"]),
        config_map("apps/a.yaml", "a", &["k: v"]),
        file("ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: n}"),
        file("kustomization.yaml", "resources: [z.yaml, ns.yaml, a.yaml]"),
    ]
    .concat();
    assert_eq!(
        outcome(find(&one("", &files), "apps")),
        "ConfigMap/flux-system/z, Namespace/n, ConfigMap/flux-system/a"
    );
}

/// F-811: files of the artifact can be anywhere in it, others nowhere.
#[test]
fn files_come_from_anywhere_in_the_artifact_and_from_nowhere_else() {
    let inside = [
        config_map("other/b.yaml", "b", &["k: v"]),
        file("kustomization.yaml", "resources: [../other/b.yaml]"),
    ]
    .concat();
    assert_eq!(
        outcome(find(&one("", &inside), "apps")),
        "ConfigMap/flux-system/b"
    );
    let outside = file("kustomization.yaml", "resources: [../../../etc/passwd]");
    assert!(matches!(
        find(&one("", &outside), "apps").outcome,
        Outcome::Failed(_)
    ));
}

/// F-814: names are compared before substitution, and what becomes one afterwards fails then (F-609).
#[test]
fn the_same_object_twice_is_an_error() {
    let twice = [
        config_map("apps/a.yaml", "a", &["k: v"]),
        config_map("apps/b.yaml", "a", &["k: w"]),
    ]
    .concat();
    assert!(matches!(
        find(&one("", &twice), "apps").outcome,
        Outcome::Failed(_)
    ));
    let different = [
        config_map("apps/a.yaml", "'${A}'", &["k: v"]),
        config_map("apps/b.yaml", "'${A}-2'", &["k: w"]),
    ]
    .concat();
    assert_eq!(
        outcome(find(&one(VARS, &different), "apps")),
        "ConfigMap/flux-system/value, ConfigMap/flux-system/value-2"
    );
}

/// F-268: an annotation, not a label, keeps an object from being decrypted and from being missed as encrypted (F-709).
#[test]
fn decryption_can_be_switched_off_for_an_object() {
    let secret = |field: &str| {
        file(
            "s.yaml",
            &format!(
                "apiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: flux-system, {field}: {{kustomize.toolkit.fluxcd.io/decrypt: Disabled}}}}\n\
                 data: {{a: 'ENC[AES256_GCM,data:x,iv:x,tag:x,type:str]'}}\nsops: {{mac: x, version: 3.9.0}}"
            ),
        )
    };
    let fails = |field: &str| matches!(find(&one("", &secret(field)), "apps").outcome, Outcome::Failed(_));
    assert!(fails("labels"));
    assert!(!fails("annotations"));
}
