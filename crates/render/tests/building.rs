//! How Flux builds a tier (F-800 to F-816), and what it puts on every object (F-116, F-117).

mod common;

use common::{config_map, find, object, outcome, outline, render, tier};

/// F-802: files in lexical order, directories with a kustomization as such, empty documents tolerated.
#[test]
fn without_a_kustomization_file_every_manifest_is_taken() {
    let fixture = [
        tier("apps", "path: ./apps"),
        config_map("apps/b.yaml", "b", &["k: v"]),
        config_map("apps/a/deep/x.yml", "x", &["k: v"]),
        config_map("apps/c/listed.yaml", "listed", &["k: v"]),
        config_map("apps/c/unlisted.yaml", "unlisted", &["k: v"]),
        "--- apps/c/kustomization.yaml\nresources: [listed.yaml]\n".to_owned(),
        "--- apps/empty.yaml\n---\n# nothing\n---\n".to_owned(),
        "--- apps/README.md\nkind: no\n".to_owned(),
        "--- apps/.hidden/h.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: h, namespace: flux-system}\n".to_owned(),
    ]
    .concat();
    let cluster = render(&fixture);
    assert_eq!(
        outcome(find(&cluster, "apps")),
        "ConfigMap/flux-system/h, ConfigMap/flux-system/x, ConfigMap/flux-system/b, ConfigMap/flux-system/listed"
    );
}

/// F-802: anything that is no Kubernetes object stops the build; the other tiers are rendered.
#[test]
fn a_file_that_is_no_manifest_stops_a_generated_build() {
    let fixture = [
        tier("apps", "path: ./apps"),
        tier("ok", "path: ./ok"),
        config_map("ok/a.yaml", "a", &["k: v"]),
        config_map("apps/a.yaml", "a", &["k: v"]),
        "--- apps/values.yaml\n# of a chart\nreplicas: 2\n".to_owned(),
    ]
    .concat();
    let cluster = render(&fixture);
    let failed = outcome(find(&cluster, "apps"));
    assert!(
        failed.starts_with("apps/values.yaml:2:1: build-failed: "),
        "{failed}"
    );
    assert!(
        failed.contains("failed to decode Kubernetes YAML from `apps/values.yaml`"),
        "{failed}"
    );
    assert_eq!(outcome(find(&cluster, "ok")), "ConfigMap/flux-system/a");
}

/// F-803, F-804: an empty directory builds nothing; F-815: a missing one is an error, and paths cannot leave the root.
#[test]
fn paths_are_joined_inside_the_artifact() {
    let fixture = [
        tier("empty", "path: ./empty"),
        tier("gone", "path: ./gone"),
        tier("outside", "path: ../../apps"),
        "--- empty/README.md\nx\n".to_owned(),
        config_map("apps/a.yaml", "a", &["k: v"]),
    ]
    .concat();
    let cluster = render(&fixture);
    assert_eq!(outcome(find(&cluster, "empty")), "");
    assert_eq!(
        outcome(find(&cluster, "gone")),
        "clusters/prod/gone.yaml:8:9: build-failed: the path `./gone` of `flux-system/gone` does not exist"
    );
    assert_eq!(outcome(find(&cluster, "outside")), "ConfigMap/flux-system/a");
}

/// F-805: an unknown field of the root vanishes, of a nested kustomization it is an error.
#[test]
fn the_root_is_read_leniently() {
    let fixture = [
        tier("root", "path: ./root"),
        tier("nested", "path: ./nested"),
        "--- root/kustomization.yaml\nresorces: [x]\nresources: [a.yaml]\n".to_owned(),
        config_map("root/a.yaml", "a", &["k: v"]),
        "--- nested/kustomization.yaml\nresources: [inner]\n--- nested/inner/kustomization.yaml\nresorces: [x]\n".to_owned(),
    ]
    .concat();
    let cluster = render(&fixture);
    assert_eq!(outcome(find(&cluster, "root")), "ConfigMap/flux-system/a");
    let failed = outcome(find(&cluster, "nested"));
    assert!(
        failed.starts_with("nested/inner/kustomization.yaml:1:1: build-failed:"),
        "{failed}"
    );
}

/// F-806, F-807, F-808.
#[test]
fn the_spec_is_put_into_the_root() {
    let spec = "
path: ./apps
targetNamespace: web
namePrefix: my-
components: [../components/extra, ../components/gone]
ignoreMissingComponents: true
images: [{name: nginx, newTag: '2'}]
patches:
  - patch: |
      - {op: add, path: /metadata/annotations, value: {patched: 'yes'}}
    target: {kind: ConfigMap, name: extra}
";
    let fixture = [
        tier("apps", spec),
        "--- apps/kustomization.yaml\nnamespace: other\nresources: [web.yaml]\nimages: [{name: nginx, newName: mirror/nginx}]\n".to_owned(),
        "--- apps/web.yaml\napiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: 'nginx:1'}]}\n".to_owned(),
        "--- components/extra/kustomization.yaml\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [extra.yaml]\n".to_owned(),
        "--- components/extra/extra.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n".to_owned(),
    ]
    .concat();
    let cluster = render(&fixture);
    let apps = find(&cluster, "apps");
    let pod = object(apps, "Pod/web/my-web");
    assert_eq!(pod.object["spec"]["containers"][0]["image"], "mirror/nginx:2");
    assert_eq!(
        object(apps, "ConfigMap/web/my-extra").object["metadata"]["annotations"]["patched"],
        "yes"
    );
    assert_eq!(pod.origin.file, "apps/web.yaml");
}

#[test]
fn components_have_to_be_local() {
    let fixture = [
        tier("apps", "path: ./apps\ncomponents: ['https://example.com/x']"),
        config_map("apps/a.yaml", "a", &["k: v"]),
    ]
    .concat();
    let failed = outcome(find(&render(&fixture), "apps"));
    assert!(failed.contains("must be local and relative"), "{failed}");
}

/// F-116, F-117.
#[test]
fn objects_carry_their_owner_and_common_metadata() {
    let spec = "path: ./apps\ncommonMetadata:\n  labels: {team: a}\n  annotations: {note: b}";
    let fixture = [tier("apps", spec), config_map("apps/a.yaml", "a", &["k: v"])].concat();
    let cluster = render(&fixture);
    let metadata = &object(find(&cluster, "apps"), "ConfigMap/flux-system/a").object["metadata"];
    assert_eq!(metadata["labels"]["kustomize.toolkit.fluxcd.io/name"], "apps");
    assert_eq!(
        metadata["labels"]["kustomize.toolkit.fluxcd.io/namespace"],
        "flux-system"
    );
    assert_eq!(
        (&metadata["labels"]["team"], &metadata["annotations"]["note"]),
        (&"a".into(), &"b".into())
    );
}

/// F-810, F-812, F-813, F-118.
#[test]
fn remote_parts_are_named_and_left_out() {
    let fixture = [
        tier("apps", "path: ./apps"),
        "--- apps/kustomization.yaml\nresources:\n  - https://example.com/crds.yaml\n  - a.yaml\n".to_owned(),
        config_map("apps/a.yaml", "a", &["k: v"]),
    ]
    .concat();
    let cluster = render(&fixture);
    let apps = find(&cluster, "apps");
    assert_eq!(outcome(apps), "ConfigMap/flux-system/a");
    assert_eq!(
        (apps.remote[0].text.as_str(), apps.remote[0].location.line),
        ("https://example.com/crds.yaml", 2)
    );
    let rules: Vec<String> = cluster
        .findings()
        .into_iter()
        .map(|finding| finding.rule)
        .collect();
    assert_eq!(rules, ["remote-base"]);
}

#[test]
fn the_same_object_twice_is_named() {
    let fixture = [
        tier("apps", "path: ./apps"),
        "--- apps/kustomization.yaml\nresources: [a.yaml, b.yaml]\n".to_owned(),
        config_map("apps/a.yaml", "same", &["k: v"]),
        config_map("apps/b.yaml", "same", &["k: v"]),
    ]
    .concat();
    let cluster = render(&fixture);
    let finding = &cluster.findings()[0];
    assert_eq!(
        (finding.rule.as_str(), finding.object.as_deref()),
        ("duplicate-object", Some("ConfigMap/flux-system/same"))
    );
    assert!(
        finding.message.ends_with("from `apps/a.yaml` and `apps/b.yaml`"),
        "{}",
        finding.message
    );
}

/// Everything in the outcome is the same however often it is asked for.
#[test]
fn rendering_is_deterministic() {
    let fixture = [
        tier("apps", "path: ./apps"),
        config_map("apps/a.yaml", "a", &["k: v"]),
    ]
    .concat();
    assert_eq!(outline(&render(&fixture)), outline(&render(&fixture)));
}
