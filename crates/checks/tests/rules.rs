//! What the pages do not show: small differences that decide whether a rule speaks.

mod support;

use firstpass_testing::BOOTSTRAP;
use support::{findings, is_loud};

/// A cluster with one tier `web` that builds `./web`; `spec` is added to it, indented by two.
fn check(spec: &str, files: &str) -> Vec<String> {
    let tree = firstpass_testing::tree(&format!(
        "{BOOTSTRAP}
--- clusters/prod/web.yaml
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: web, namespace: flux-system}}
spec:
  interval: 10m
  path: ./web
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
{spec}
{files}"
    ));
    let found = findings(tree, "clusters/prod");
    let loud = found.iter().filter(|finding| is_loud(finding));
    loud.map(|finding| {
        let verdict = finding
            .verdict
            .map(|verdict| verdict.to_string())
            .unwrap_or_default();
        format!(
            "{} {verdict} {}",
            finding.rule,
            finding.object.clone().unwrap_or_default()
        )
    })
    .collect()
}

fn config_map(data: &str) -> String {
    format!(
        "--- web/config.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: config, namespace: default}}\ndata:\n{data}"
    )
}

const SUBSTITUTE: &str = "  postBuild: {substitute: {DOMAIN: example.com}}";

#[test]
fn an_older_flux_renders_undefined_variables_as_nothing() {
    let files = config_map("  region: ${REGION}\n");
    assert_eq!(
        check(SUBSTITUTE, &files),
        ["undefined-variable invalid ConfigMap/default/config"]
    );
    let older =
        format!("{files}--- firstpass.yaml\nclusters: {{prod: {{path: clusters/prod, flux: \"2.8\"}}}}\n");
    assert_eq!(
        check(SUBSTITUTE, &older),
        ["undefined-variable hazard ConfigMap/default/config"]
    );
}

#[test]
fn text_that_was_never_meant_for_flux_stays_unflagged() {
    let table = [
        // Escaped, never touched, or with a default that nothing else defines.
        (SUBSTITUTE, "  run.sh: 'echo $HOME $${1:-x} $(id) $$DOMAIN'\n"),
        (SUBSTITUTE, "  url: 'https://${DOMAIN}/${REGION:=local}'\n"),
        // No tier substitutes, and nothing in the cluster is called so.
        ("", "  run: 'echo ${HOME} ${1:-x}'\n"),
        (
            "",
            "  board.json: |\n    {\"uid\": \"${DS_PROMETHEUS}\",\n    \"x\": 1}\n",
        ),
    ];
    for (spec, data) in table {
        assert_eq!(check(spec, &config_map(data)), [""; 0], "{data}");
    }
}

#[test]
fn a_post_build_without_a_variable_leaves_literals() {
    let files = config_map("  region: ${REGION:=local}\n");
    let literal = ["literal-variable hazard ConfigMap/default/config"];
    assert_eq!(check("  postBuild: {substitute: {}}", &files), literal);
    assert_eq!(
        check("", &files),
        literal,
        "`:=` is how defaults are written for Flux"
    );
    assert_eq!(check(SUBSTITUTE, &files), [""; 0]);
    let disabled = "--- web/config.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: config, namespace: default, annotations: \
                    {kustomize.toolkit.fluxcd.io/substitute: disabled}}\ndata: {region: '${REGION:=local}'}\n";
    assert_eq!(check("", disabled), [""; 0]);
}

#[test]
fn custom_resources_are_held_against_their_crd() {
    let crd = "--- web/crd.yaml
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, required: [size], properties: {size: {type: integer, minimum: 1}}}
";
    let widget = |spec: &str| {
        format!(
            "{crd}--- web/widget.yaml\napiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: a, namespace: default}}\nspec: {spec}\n"
        )
    };
    assert_eq!(check("", &widget("{size: 2}")), [""; 0]);
    for spec in ["{size: 0}", "{}", "{size: big}"] {
        assert_eq!(
            check("", &widget(spec)),
            ["invalid-object invalid Widget/default/a"],
            "{spec}"
        );
    }
    let no_namespace = widget("{size: 2}").replace(", namespace: default", "");
    assert_eq!(
        check("", &no_namespace),
        ["object-without-namespace invalid Widget/a"]
    );
}

#[test]
fn the_same_object_in_two_tiers_counts_only_where_it_differs() {
    let other = |data: &str| {
        format!(
            "{}--- clusters/prod/other.yaml
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: other, namespace: flux-system}}
spec:
  interval: 10m
  path: ./other
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
--- other/config.yaml
apiVersion: v1
kind: ConfigMap
metadata: {{name: config, namespace: default}}
data: {{a: {data}}}
",
            config_map("  a: one\n")
        )
    };
    assert_eq!(check("", &other("one")), [""; 0]);
    assert_eq!(
        check("", &other("two")),
        ["object-in-two-tiers hazard ConfigMap/default/config"]
    );
}

/// All findings of a rule about the entry `clusters/prod` of a tree: severity and headline.
fn of_rule(rule: &str, files: &str) -> Vec<String> {
    let found = findings(firstpass_testing::tree(files), "clusters/prod");
    let of_rule = found.iter().filter(|finding| finding.rule == rule);
    of_rule
        .map(|finding| format!("{}: {}", finding.severity, finding.message))
        .collect()
}

/// A cluster whose tier `web` reads `cluster-vars` and builds `./web`, with a configuration.
fn with_config(config: &str, vars: &str, files: &str) -> String {
    format!(
        "
--- firstpass.yaml
{config}
--- clusters/prod/vars.yaml
apiVersion: v1
kind: ConfigMap
metadata: {{name: cluster-vars, namespace: flux-system}}
data: {vars}
--- clusters/prod/web.yaml
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: web, namespace: flux-system}}
spec:
  interval: 10m
  path: ./web
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
  postBuild: {{substituteFrom: [{{kind: ConfigMap, name: cluster-vars}}]}}
{files}"
    )
}

const SETTINGS: &str = "--- web/config.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: config, namespace: default}\ndata: {vip: '${VIP}'}\n";

#[test]
fn an_invariant_holds_or_breaks_or_waits_for_its_values() {
    let table: [(&str, &str, &[&str]); 8] = [
        ("ip(vars.VIP).between('10.0.0.1', '10.0.0.9')", "10.0.0.5", &[]),
        (
            "ip(vars.VIP).between('10.0.0.1', '10.0.0.9')",
            "10.0.0.99",
            &["error: invariant `i` does not hold: `VIP` is `10.0.0.99`"],
        ),
        (
            "ip(vars.VIP).between('10.0.0.1', '10.0.0.9')",
            "TBD-PROD-VIP",
            &["info: invariant `i` cannot be decided yet: `VIP` is `TBD-PROD-VIP`"],
        ),
        ("cidr('10.0.0.0/24').contains(vars.VIP)", "10.0.0.99", &[]),
        (
            "objects.exists(o, o.kind == 'ConfigMap' && o.data.vip == vars.VIP)",
            "10.0.0.5",
            &[],
        ),
        (
            "objects.exists(o, o.kind == 'Gateway')",
            "10.0.0.5",
            &["error: invariant `i` does not hold"],
        ),
        (
            "tiers.all(t, t.prune) && tiers.exists(t, t.name == 'web')",
            "10.0.0.5",
            &[],
        ),
        ("!has(vars.OTHER) || vars.OTHER == 'x'", "10.0.0.5", &[]),
    ];
    for (expression, vip, expected) in table {
        let config = format!("invariants: [{{name: i, message: m, expr: \"{expression}\"}}]");
        let tree = with_config(&config, &format!("{{VIP: {vip}}}"), SETTINGS);
        assert_eq!(
            of_rule("invariant-broken", &tree),
            expected,
            "{expression} with {vip}"
        );
        assert_eq!(
            of_rule("invariant-invalid", &tree),
            [""; 0],
            "{expression} with {vip}"
        );
    }
    let warning = "invariants: [{name: i, message: m, severity: warning, expr: \"vars.VIP == ''\"}]";
    let found = of_rule("invariant-broken", &with_config(warning, "{VIP: x}", SETTINGS));
    assert_eq!(found, ["warning: invariant `i` does not hold: `VIP` is `x`"]);
}

#[test]
fn an_invariant_without_an_answer_has_a_place_in_the_configuration() {
    for expression in [
        "vars.VIP ==",
        "vars.VIPP == 'x'",
        "ip(vars.VIP) == 'x'",
        "vars.VIP",
    ] {
        let config = format!("invariants:\n  - name: i\n    message: m\n    expr: \"{expression}\"");
        let tree = firstpass_testing::tree(&with_config(&config, "{VIP: web}", SETTINGS));
        let found = findings(tree, "clusters/prod");
        let finding = found.iter().find(|finding| finding.rule == "invariant-invalid");
        let place = finding
            .unwrap_or_else(|| panic!("{expression}"))
            .location
            .clone()
            .unwrap();
        assert_eq!(
            (place.file.as_str(), place.line, place.column),
            ("firstpass.yaml", 4, 11),
            "{expression}"
        );
    }
}

#[test]
fn placeholders_are_information_on_paper() {
    let design = |on: bool| format!("clusters: {{prod: {{path: clusters/prod, design_only: {on}}}}}");
    let tree = |on: bool| with_config(&design(on), "{VIP: TBD-PROD-VIP}", SETTINGS);
    let found = |severity: &str| {
        vec![format!(
            "{severity}: `VIP` of `ConfigMap/flux-system/cluster-vars` is still `TBD-PROD-VIP`"
        )]
    };
    assert_eq!(of_rule("placeholder", &tree(false)), found("error"));
    assert_eq!(of_rule("placeholder", &tree(true)), found("info"));
    let literal = "--- web/config.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: config, namespace: default}\ndata: {vip: TBD-VIP, note: to be decided (TBD)}\n";
    let found = of_rule("placeholder", &with_config("{}", "{VIP: x}", literal));
    assert_eq!(found, ["error: `ConfigMap/default/config` still holds `TBD-VIP`"]);
}

#[test]
fn an_overlay_may_not_bring_a_variable_of_its_own() {
    let overlay = |cluster: &str, data: &str| {
        format!(
            "--- clusters/{cluster}/kustomization.yaml
resources: [../base]
patches: [{{path: vars.yaml}}]
--- clusters/{cluster}/vars.yaml
apiVersion: v1
kind: ConfigMap
metadata: {{name: cluster-vars, namespace: flux-system}}
data: {data}
"
        )
    };
    let tree = |prod: &str| {
        let files = with_config(
            "clusters: {dev: {path: clusters/dev}, prod: {path: clusters/prod}}
overlays: {base: clusters/base, vars: ConfigMap/flux-system/cluster-vars}",
            "{VIP: 10.0.0.1}",
            SETTINGS,
        );
        let files = files.replace("clusters/prod/vars.yaml", "clusters/base/vars.yaml");
        let files = files.replace("clusters/prod/web.yaml", "clusters/base/web.yaml");
        let kustomization = "--- clusters/base/kustomization.yaml\nresources: [vars.yaml, web.yaml]\n";
        format!(
            "{files}{kustomization}{}{}",
            overlay("dev", "{VIP: 10.0.1.1}"),
            overlay("prod", prod)
        )
    };
    assert_eq!(of_rule("overlay-patches-more", &tree("{VIP: 10.0.2.1}")), [""; 0]);
    assert_eq!(
        of_rule("overlay-patches-more", &tree("{VIP: 10.0.2.1, NEW: x}")),
        ["error: `clusters/prod` changes `data.NEW` of `ConfigMap/flux-system/cluster-vars`"]
    );
    // The address of dev, copied: prod has no other address, so it lives there.
    assert_eq!(of_rule("foreign-address", &tree("{VIP: 10.0.1.7}")), [""; 0]);
}

#[test]
fn secrets_are_told_from_settings() {
    let secret = |body: &str| {
        let file = format!(
            "--- web/secret.yaml\napiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: default}}\n{body}\n"
        );
        of_rule("plain-secret", &with_config("{}", "{VIP: x}", &file)).len()
    };
    assert_eq!(secret("stringData: {password: correct-horse}"), 1);
    assert_eq!(secret("data: {api-token: Y29ycmVjdC1ob3JzZQ==}"), 1);
    for body in [
        "stringData: {password: '${VIP}'}",
        "stringData: {password: changeme}",
        "stringData: {url: 'https://example.com', username: web}",
        "type: kubernetes.io/service-account-token",
        "data: {token: ''}",
    ] {
        assert_eq!(secret(body), 0, "{body}");
    }
}

#[test]
fn a_dashboard_is_read_by_flux_before_grafana() {
    let board = |text: &str| {
        let json = format!("{{\"panels\": [], \"schemaVersion\": 39, \"title\": \"{text}\"}}");
        let file = format!(
            "--- web/board.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: board, namespace: default}}\ndata:\n  board.json: |\n    {json}\n"
        );
        of_rule("shell-expansion-rewritten", &with_config("{}", "{VIP: x}", &file))
    };
    assert_eq!(
        board("${node:-all}"),
        [
            "warning: substitution rewrites `${node:-all}` in the dashboard `board.json` of `ConfigMap/default/board`"
        ]
    );
    assert_eq!(board("$${node} ${VIP:-x} $node"), [""; 0]);
}

#[test]
fn a_release_that_depends_on_a_tier_is_told_what_it_named() {
    let release = "--- web/release.yaml
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: default}
spec: {interval: 1h, url: https://charts.example.com}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: default}
spec:
  interval: 1h
  chart: {spec: {chart: web, version: 1.0.0, sourceRef: {kind: HelmRepository, name: charts}}}
  dependsOn: [{name: flux-system}]
";
    let found = of_rule(
        "release-dependency-missing",
        &with_config("{}", "{VIP: x}", release),
    );
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("`flux-system/flux-system` is a Flux Kustomization"),
        "{found:?}"
    );
}

#[test]
fn a_chart_without_its_repository_has_a_place() {
    let release = "--- web/release.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: default}
spec:
  interval: 1h
  chart:
    spec:
      chart: web
      version: 1.0.0
      sourceRef: {kind: HelmRepository, name: charts}
";
    let tree = firstpass_testing::tree(&with_config("{}", "{VIP: x}", release));
    let found = findings(tree, "clusters/prod");
    let finding = found
        .iter()
        .find(|finding| finding.rule == "source-missing")
        .unwrap();
    let place = finding.location.clone().unwrap();
    assert_eq!((place.file.as_str(), place.line), ("web/release.yaml", 10));
    assert!(
        finding.message.contains("`HelmRepository/default/charts`"),
        "{}",
        finding.message
    );
}

#[test]
fn a_source_of_the_wrong_kind_is_named() {
    let files = with_config("{}", "{VIP: x}", SETTINGS).replace(
        "sourceRef: {kind: GitRepository, name: flux-system}",
        "sourceRef: {kind: OCIRepository, name: flux-system}",
    );
    let found = of_rule("source-missing", &format!("{files}{BOOTSTRAP}"));
    assert_eq!(
        found,
        [
            "error: `flux-system/web` is built from `OCIRepository/flux-system/flux-system`, which nothing makes: did you mean \
             `GitRepository/flux-system/flux-system`?"
        ]
    );
}

#[test]
fn variables_beside_a_sync_in_config_are_applied_by_hand() {
    let tree = |directory: &str| {
        firstpass_testing::tree(&format!(
            "
--- kubernetes/flux/{directory}/cluster.yaml
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {{name: home, namespace: flux-system}}
spec: {{interval: 1m, url: https://git.example.com/home.git}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: cluster, namespace: flux-system}}
spec:
  interval: 10m
  path: ./kubernetes/flux
  prune: true
  sourceRef: {{kind: GitRepository, name: home}}
  postBuild: {{substituteFrom: [{{kind: ConfigMap, name: cluster-settings}}]}}
--- kubernetes/flux/vars/settings.yaml
apiVersion: v1
kind: ConfigMap
metadata: {{name: cluster-settings, namespace: flux-system}}
data: {{DOMAIN: example.com}}
--- kubernetes/flux/host.yaml
apiVersion: v1
kind: ConfigMap
metadata: {{name: host, namespace: default}}
data: {{host: 'web.${{DOMAIN}}'}}
"
        ))
    };
    let loud = |directory: &str| {
        let found = findings(tree(directory), "kubernetes/flux");
        found
            .iter()
            .filter(|finding| is_loud(finding))
            .map(|finding| finding.rule.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(loud("config"), [""; 0]);
    assert_eq!(loud("sync"), ["variables-come-too-late"]);
}

#[test]
fn a_forgotten_stanza_is_an_error_where_everybody_else_has_one() {
    let other = |name: &str| {
        format!(
            "--- clusters/prod/{name}.yaml
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec:
  interval: 10m
  path: ./{name}
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
  postBuild: {{substitute: {{A: b}}}}
--- {name}/config.yaml
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: default}}
data: {{a: '${{A}}'}}
"
        )
    };
    let files = format!(
        "{}{}{}{}",
        other("a"),
        other("b"),
        other("c"),
        config_map("  x: '${NOPE}'\n")
    );
    assert_eq!(
        check("", &files),
        ["literal-variable hazard ConfigMap/default/config"]
    );
    let two = format!("{}{}{}", other("a"), other("b"), config_map("  x: '${NOPE}'\n"));
    assert_eq!(
        check("", &two),
        [""; 0],
        "two others are no custom of the repository"
    );
}

#[test]
fn clusters_differ_by_an_edge_that_a_value_makes() {
    let overlay = |cluster: &str, data: &str| {
        format!(
            "--- clusters/{cluster}/kustomization.yaml
resources: [../base]
patches: [{{path: vars.yaml}}]
--- clusters/{cluster}/vars.yaml
apiVersion: v1
kind: ConfigMap
metadata: {{name: cluster-vars, namespace: flux-system}}
data: {data}
"
        )
    };
    let namespace = "--- spaces/a.yaml
apiVersion: v1
kind: Namespace
metadata: {name: a}
--- clusters/base/spaces.yaml
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: spaces, namespace: flux-system}
spec:
  interval: 10m
  path: ./spaces
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
";
    let tree = |prod: &str| {
        let files = with_config(
            "clusters: {dev: {path: clusters/dev}, prod: {path: clusters/prod}}
overlays: {base: clusters/base, vars: ConfigMap/flux-system/cluster-vars}",
            "{SPACE: default}",
            "--- web/config.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: config, namespace: '${SPACE}'}\n",
        );
        let files = files.replace("clusters/prod/vars.yaml", "clusters/base/vars.yaml");
        let files = files.replace("clusters/prod/web.yaml", "clusters/base/web.yaml");
        let kustomization =
            "--- clusters/base/kustomization.yaml\nresources: [vars.yaml, web.yaml, spaces.yaml]\n";
        format!(
            "{files}{namespace}{kustomization}{}{}",
            overlay("dev", "{SPACE: default}"),
            overlay("prod", prod)
        )
    };
    assert_eq!(of_rule("graph-differs", &tree("{SPACE: kube-system}")), [""; 0]);
    assert_eq!(
        of_rule("graph-differs", &tree("{SPACE: a}")),
        ["error: the graph of `clusters/prod` is not that of `clusters/dev`: 1 difference"]
    );
}
