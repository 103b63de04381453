//! Variables and encryption as a whole cluster sees them (F-600 to F-667, F-700 to F-712).

mod common;

use common::{BOOTSTRAP, config_map, find, object, outcome, outline, render, render_entry, tier};
use firstpass_render::{Encryption, MadeBy};

const FROM_VARS: &str = "postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}";

/// F-603, F-605: variables come from a ConfigMap that another tier brings, wherever that is in the order.
#[test]
fn variables_come_from_other_tiers() {
    let fixture = [
        tier("apps", &format!("path: ./apps\n{FROM_VARS}")),
        tier("vars", "path: ./vars"),
        config_map("vars/vars.yaml", "vars", &["HOST: web.example.com"]),
        config_map("apps/a.yaml", "a", &["host: ${HOST}"]),
    ]
    .concat();
    let cluster = render(&fixture);
    let rendered = object(find(&cluster, "apps"), "ConfigMap/flux-system/a");
    assert_eq!(rendered.object["data"]["host"], "web.example.com");
    assert_eq!(rendered.template.as_ref().unwrap()["data"]["host"], "${HOST}");
    assert!(cluster.assumed.is_empty());
}

/// Kustomizations whose name and path come from variables, made by a Kustomization that is patched by its parent.
#[test]
fn children_are_made_by_substitution_and_patched_by_parents() {
    let spec = "
path: ./apps
postBuild: {substitute: {APP: web}}
patches:
  - patch: |
      apiVersion: kustomize.toolkit.fluxcd.io/v1
      kind: Kustomization
      metadata: {name: _}
      spec:
        targetNamespace: from-parent
    target: {group: kustomize.toolkit.fluxcd.io, kind: Kustomization}
";
    let child = "--- apps/ks.yaml\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
                 metadata: {name: '${APP}-db', namespace: flux-system}\nspec:\n  interval: 1h\n  prune: true\n  \
                 path: ./${APP}/db\n  sourceRef: {kind: GitRepository, name: flux-system}\n";
    let fixture = [
        tier("apps", spec),
        child.to_owned(),
        "--- web/db/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n".to_owned(),
    ]
    .concat();
    let cluster = render(&fixture);
    assert_eq!(
        outline(&cluster),
        "flux-system/flux-system: Kustomization/flux-system/apps, GitRepository/flux-system/flux-system, Kustomization/flux-system/flux-system\n\
         flux-system/apps: Kustomization/flux-system/web-db\n\
         flux-system/web-db: ConfigMap/from-parent/a\n"
    );
    assert_eq!(find(&cluster, "web-db").parent.as_ref().unwrap().name, "apps");
}

/// F-650: all variables that are not defined, each once, where they stand.
#[test]
fn undefined_variables_are_told_with_their_place() {
    let fixture = [
        tier("apps", &format!("path: ./apps\n{FROM_VARS}")),
        config_map("clusters/prod/vars.yaml", "vars", &["CLUSTER_DOMAIN: x"]),
        config_map(
            "apps/a.yaml",
            "a",
            &["one: \"${CLUSTER_DOMAN}\"", "two: a ${OTHER} b"],
        ),
        config_map("apps/b.yaml", "b", &["three: ${OTHER}"]),
    ]
    .concat();
    let cluster = render(&fixture);
    assert_eq!(
        outcome(find(&cluster, "apps")),
        "apps/a.yaml:5:9: undefined-variable: variable `CLUSTER_DOMAN` is not defined\n  \
         apps/a.yaml:6:10: undefined-variable: variable `OTHER` is not defined"
    );
    let findings = cluster.findings();
    assert!(
        findings[0].help.contains("did you mean `CLUSTER_DOMAIN`?"),
        "{}",
        findings[0].help
    );
    assert_eq!(findings[1].related, ["ConfigMap/flux-system/b"]);
}

/// F-1760: before Flux 2.9 an undefined variable is empty.
#[test]
fn before_2_9_undefined_variables_are_empty() {
    let fixture = [
        BOOTSTRAP.to_owned(),
        tier("apps", &format!("path: ./apps\n{FROM_VARS}")),
        config_map("clusters/prod/vars.yaml", "vars", &["A: x"]),
        config_map("apps/a.yaml", "a", &["one: <${B}>"]),
        "--- firstpass.yaml\nclusters: {prod: {path: clusters/prod, flux: '2.8'}}\n".to_owned(),
    ]
    .concat();
    let cluster = render_entry(&fixture, "clusters/prod");
    assert_eq!(cluster.settings.flux.to_string(), "2.8.8");
    assert_eq!(
        object(find(&cluster, "apps"), "ConfigMap/flux-system/a").object["data"]["one"],
        "<>"
    );
}

/// F-611: an expression that Flux cannot parse, in a file that a generator reads.
#[test]
fn places_inside_generated_objects_are_found() {
    let fixture = [
        tier("apps", &format!("path: ./apps\n{FROM_VARS}")),
        config_map("clusters/prod/vars.yaml", "vars", &["A: x"]),
        "--- apps/kustomization.yaml\nconfigMapGenerator:\n  - {name: dashboards, files: [board.json]}\n"
            .to_owned(),
        "--- apps/board.json\n{\n  \"datasource\": \"${DS_PROMETHEUS}\"\n}\n".to_owned(),
    ]
    .concat();
    let cluster = render(&fixture);
    assert_eq!(
        outcome(find(&cluster, "apps")),
        "apps/board.json:2:18: undefined-variable: variable `DS_PROMETHEUS` is not defined"
    );
}

/// F-606.
#[test]
fn keys_that_are_no_names_stop_the_build() {
    let fixture = [
        tier("apps", &format!("path: ./apps\n{FROM_VARS}")),
        config_map("clusters/prod/vars.yaml", "vars", &["A: x", "app.yaml: y"]),
        config_map("apps/a.yaml", "a", &["one: x"]),
    ]
    .concat();
    assert_eq!(
        outcome(find(&render(&fixture), "apps")),
        "clusters/prod/vars.yaml:6:3: substitution-failed: `app.yaml` in `ConfigMap/flux-system/vars` is no name for a variable"
    );
}

/// F-602, F-267.
#[test]
fn disabled_objects_are_left_alone() {
    let mut disabled = config_map("apps/a.yaml", "a", &["one: ${UNDEFINED}"]);
    disabled = disabled.replace(
        "namespace: flux-system}",
        "namespace: flux-system, annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}",
    );
    let spec = "path: ./apps\npostBuild: {substituteFrom: [{kind: ConfigMap, name: gone}]}";
    let cluster = render(&[tier("apps", spec), disabled].concat());
    assert_eq!(
        object(find(&cluster, "apps"), "ConfigMap/flux-system/a").object["data"]["one"],
        "${UNDEFINED}"
    );
    assert!(cluster.assumed.is_empty(), "nothing is read for it");
}

/// F-609.
#[test]
fn substitution_can_make_two_objects_one() {
    let fixture = [
        tier(
            "apps",
            "path: ./apps\npostBuild: {substitute: {A: same, B: same}}",
        ),
        config_map("apps/a.yaml", "'${A}'", &["k: v"]),
        config_map("apps/b.yaml", "'${B}'", &["k: v"]),
    ]
    .concat();
    let failed = outcome(find(&render(&fixture), "apps"));
    assert_eq!(
        failed,
        "apps/b.yaml:1:1: duplicate-object: substitution makes two objects `ConfigMap/flux-system/same`"
    );
}

/// Objects that are not in the repository are assumed to exist, with whatever is taken from them.
#[test]
fn variables_from_the_cluster_stay_as_written() {
    let fixture = [
        tier(
            "apps",
            "path: ./apps\npostBuild: {substituteFrom: [{kind: Secret, name: cluster-secrets}]}",
        ),
        config_map(
            "apps/a.yaml",
            "a",
            &["host: web.${SECRET_DOMAIN}", "size: ${SIZE:=1Gi}"],
        ),
    ]
    .concat();
    let cluster = render(&fixture);
    let rendered = object(find(&cluster, "apps"), "ConfigMap/flux-system/a");
    assert_eq!(rendered.object["data"]["host"], "web.${SECRET_DOMAIN}");
    assert_eq!(rendered.object["data"]["size"], "1Gi");
    assert!(!rendered.is_certain(&["data", "host"]) && rendered.is_certain(&["metadata"]));
    let assumed = &cluster.assumed[0];
    assert_eq!(
        (assumed.name.as_str(), &assumed.made_by),
        ("cluster-secrets", &MadeBy::Nobody)
    );
    assert!(cluster.findings().is_empty(), "what is not known is not bad");
}

/// A value that is made of one that is not known is not known either, through ConfigMaps and through what a parent puts
/// into its children.
#[test]
fn what_is_not_known_stays_so_from_tier_to_tier() {
    let from =
        |kind: &str, name: &str| format!("postBuild: {{substituteFrom: [{{kind: {kind}, name: {name}}}]}}");
    let child = "--- parent/ks.yaml\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
                 metadata: {name: child, namespace: flux-system}\nspec:\n  interval: 1h\n  prune: true\n  path: ./child\n  \
                 sourceRef: {kind: GitRepository, name: flux-system}\n  postBuild: {substitute: {ZONE: 'x.${DOMAIN}'}}\n";
    let fixture = [
        tier(
            "settings",
            &format!("path: ./settings\n{}", from("Secret", "cluster-secrets")),
        ),
        config_map(
            "settings/vars.yaml",
            "vars",
            &["HOST: web.${DOMAIN}", "PORT: \"80\""],
        ),
        tier("apps", &format!("path: ./apps\n{}", from("ConfigMap", "vars"))),
        config_map("apps/a.yaml", "a", &["url: http://${HOST}:${PORT}"]),
        tier(
            "parent",
            &format!("path: ./parent\n{}", from("Secret", "cluster-secrets")),
        ),
        child.to_owned(),
        config_map("child/b.yaml", "b", &["zone: ${ZONE}"]),
    ]
    .concat();
    let cluster = render(&fixture);
    let apps = object(find(&cluster, "apps"), "ConfigMap/flux-system/a");
    assert_eq!(apps.object["data"]["url"], "http://${HOST}:80");
    assert!(!apps.is_certain(&["data", "url"]));
    let child = object(find(&cluster, "child"), "ConfigMap/flux-system/b");
    assert_eq!(child.object["data"]["zone"], "${ZONE}");
}

/// Known keys: the configuration's, and those of an ExternalSecret. A key that neither has is undefined.
#[test]
fn keys_of_secrets_in_the_cluster_can_be_known() {
    let external = "--- apps/es.yaml\napiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: es, namespace: flux-system}\n\
                    spec: {data: [{secretKey: FROM_ES}]}\n";
    let from = "postBuild: {substituteFrom: [{kind: Secret, name: listed}, {kind: Secret, name: es}]}";
    let fixture = [
        BOOTSTRAP.to_owned(),
        "--- firstpass.yaml\nclusters: {prod: {path: clusters/prod, baseline: {secrets: {flux-system/listed: [LISTED]}}}}\n".to_owned(),
        tier("apps", &format!("path: ./apps\n{from}")),
        external.to_owned(),
        config_map("apps/a.yaml", "a", &["a: ${LISTED} ${FROM_ES} ${NEITHER}"]),
    ]
    .concat();
    let cluster = render_entry(&fixture, "clusters/prod");
    assert_eq!(
        outcome(find(&cluster, "apps")),
        "apps/a.yaml:5:27: undefined-variable: variable `NEITHER` is not defined"
    );
}

const ENCRYPTED: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: flux-system}\nFIELD:\n    token: ENC[AES256_GCM,data:x]\nsops:\n    mac: ENC[x]\n";

fn encrypted(path: &str, field: &str) -> String {
    format!("--- {path}\n{}", ENCRYPTED.replace("FIELD", field))
}

/// F-704, F-709, F-710.
#[test]
fn encrypted_secrets_need_decryption() {
    let decryption = "decryption: {provider: sops, secretRef: {name: sops-age}}";
    let fixture = [
        tier("decrypted", &format!("path: ./decrypted\n{decryption}")),
        encrypted("decrypted/s.yaml", "data"),
        tier("refused", "path: ./refused"),
        encrypted("refused/s.yaml", "data"),
        tier("applied", "path: ./applied"),
        encrypted("applied/s.yaml", "stringData"),
    ]
    .concat();
    let cluster = render(&fixture);
    let decrypted = object(find(&cluster, "decrypted"), "Secret/flux-system/s");
    assert_eq!(decrypted.encryption, Encryption::Decrypted);
    assert_eq!(decrypted.object.get("sops"), None);
    assert!(!decrypted.is_certain(&["data", "token"]));
    let refused = outcome(find(&cluster, "refused"));
    assert!(
        refused.starts_with("refused/s.yaml:1:1: encrypted-without-decryption: `Secret/flux-system/s`"),
        "{refused}"
    );
    let applied = find(&cluster, "applied");
    assert_eq!(
        object(applied, "Secret/flux-system/s").encryption,
        Encryption::Ciphertext
    );
    assert_eq!(applied.warnings[0].rule, "ciphertext-applied");
}

/// F-701: generator inputs are decrypted before the build, their keys are known; variables from them are unknown values.
#[test]
fn encrypted_generator_inputs_bring_known_keys() {
    let fixture = [
        tier("secrets", "path: ./secrets\ndecryption: {provider: sops}"),
        "--- secrets/kustomization.yaml\nnamespace: flux-system\nsecretGenerator:\n  - {name: vars, envs: [vars.env], options: {disableNameSuffixHash: true}}\n".to_owned(),
        "--- secrets/vars.env\nDOMAIN=ENC[AES256_GCM,data:x]\nsops_mac=ENC[y]\nsops_version=3.9\n".to_owned(),
        tier("apps", "path: ./apps\npostBuild: {substituteFrom: [{kind: Secret, name: vars}]}"),
        config_map("apps/a.yaml", "a", &["host: ${DOMAIN}", "other: ${OTHER:=x}"]),
    ]
    .concat();
    let cluster = render(&fixture);
    assert_eq!(outcome(find(&cluster, "secrets")), "Secret/flux-system/vars");
    let rendered = object(find(&cluster, "apps"), "ConfigMap/flux-system/a");
    assert_eq!(rendered.object["data"]["host"], "${DOMAIN}");
    assert_eq!(rendered.unknown_variables[0].from, "Secret/flux-system/vars");
}
