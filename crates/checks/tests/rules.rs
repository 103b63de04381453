//! What the pages do not show: small differences that decide whether a rule speaks.

mod support;

use support::{findings, is_loud};

/// A cluster with one tier `web` that builds `./web`; `spec` is added to it, indented by two.
fn check(spec: &str, files: &str) -> Vec<String> {
    let tree = firstpass_testing::tree(&format!(
        "
--- clusters/prod/flux-system.yaml
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {{name: flux-system, namespace: flux-system}}
spec: {{interval: 1m, url: https://git.example.com/home.git}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: flux-system, namespace: flux-system}}
spec:
  interval: 10m
  path: ./clusters/prod
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
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
