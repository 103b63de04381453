//! Whole builds of small trees: what comes out, where it came from, and what the errors say.

use firstpass_kustomize::file::KustomizationFile;
use firstpass_kustomize::{Build, Error, Options, build};
use firstpass_object::Step;
use firstpass_source::RepoPath;

fn run(fixture: &str, directory: &str, options: &Options) -> Result<Build, Error> {
    build(
        &firstpass_testing::tree(fixture),
        &RepoPath::clamped(directory),
        options,
    )
}

/// Builds as the command line does, and compares the text.
fn check(fixture: &str, directory: &str, expected: &str) {
    let built = run(fixture, directory, &Options::command_line()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(built.to_yaml(), expected.trim_start());
}

/// Builds as the command line does, and compares the error, printed in full.
fn fails(fixture: &str, directory: &str, expected: &str) {
    let error = run(fixture, directory, &Options::command_line()).expect_err("an error is expected");
    assert_eq!(error.to_string(), expected.trim());
}

#[test]
fn overlays_change_bases() {
    check(
        "
--- base/kustomization.yaml
resources: [web.yaml]
configMapGenerator:
- name: web
  literals: [COLOR=blue]
--- base/web.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      containers:
      - name: web
        image: nginx:1.0
        envFrom:
        - configMapRef:
            name: web
--- prod/kustomization.yaml
resources: [../base]
namespace: prod
namePrefix: eu-
images:
- name: nginx
  newTag: 1.10-alpine
patches:
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec: {replicas: 3}
configMapGenerator:
- name: web
  behavior: merge
  literals: [SIZE=7]
",
        "prod",
        "
apiVersion: v1
data:
  COLOR: blue
  SIZE: \"7\"
kind: ConfigMap
metadata:
  name: eu-web-cmg924b2k8
  namespace: prod
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: eu-web
  namespace: prod
spec:
  replicas: 3
  template:
    spec:
      containers:
      - envFrom:
        - configMapRef:
            name: eu-web-cmg924b2k8
        image: nginx:1.10-alpine
        name: web
",
    );
}

#[test]
fn components_work_on_what_their_parent_has() {
    check(
        "
--- app/kustomization.yaml
resources: [cm.yaml]
components: [../component]
--- app/cm.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
--- component/kustomization.yaml
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
nameSuffix: -v2
patches:
- target: {kind: ConfigMap}
  patch: '- {op: add, path: /data/c, value: d}'
",
        "app",
        "
apiVersion: v1
data:
  a: b
  c: d
kind: ConfigMap
metadata:
  name: settings-v2
",
    );
}

/// kustomize shares the node of a label between the places that it puts it into.
#[test]
fn selectors_follow_a_label_that_is_patched() {
    check(
        "
--- base/kustomization.yaml
resources: [web.yaml]
labels:
- pairs: {app: one}
  includeSelectors: true
--- base/web.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
--- kustomization.yaml
resources: [base]
patches:
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web, labels: {app: two}}
",
        "",
        "
apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    app: two
  name: web
spec:
  selector:
    matchLabels:
      app: two
  template:
    metadata:
      labels:
        app: two
",
    );
}

#[test]
fn objects_that_renaming_made_one_are_refused() {
    fails(
        "
--- kustomization.yaml
resources: [both.yaml]
patches:
- target: {kind: ConfigMap, name: b}
  patch: '[{\"op\": \"replace\", \"path\": \"/metadata/name\", \"value\": \"a\"}]'
--- both.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
",
        "",
        "
kustomization.yaml: may not add resource with an already registered id: ConfigMap.v1.[noGrp]/a.[noNs]
  why: the first one is in both.yaml:1
  help: keep one of them, or change the other with a patch
",
    );
}

#[test]
fn lists_are_expanded_and_local_configuration_dropped() {
    check(
        "
--- kustomization.yaml
resources: [all.yaml]
--- all.yaml
apiVersion: v1
kind: ConfigMapList
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {config.kubernetes.io/local-config: 'true'}}}
---
# nothing here
---
apiVersion: v1
kind: Namespace
metadata: {name: a, annotations: {count: 1}}
",
        "",
        "
apiVersion: v1
kind: Namespace
metadata:
  annotations:
    count: \"1\"
  name: a
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: b
",
    );
}

#[test]
fn names_are_followed_across_namespaces() {
    check(
        "
--- kustomization.yaml
resources: [all.yaml]
nameSuffix: -x
--- all.yaml
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot, namespace: one}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot, namespace: two}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: binding}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects:
- {kind: ServiceAccount, name: robot, namespace: two}
",
        "",
        "
apiVersion: v1
kind: ServiceAccount
metadata:
  name: robot-x
  namespace: one
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: robot-x
  namespace: two
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: binding-x
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: view
subjects:
- kind: ServiceAccount
  name: robot-x
  namespace: two
",
    );
}

const TWO_OBJECTS: &str = "
--- kustomization.yaml
resources: [base, zebra.yaml]
--- zebra.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: zebra}
--- base/kustomization.yaml
resources: [../shared/service.yaml]
namePrefix: my-
--- shared/service.yaml
# A service.
apiVersion: v1
kind: Service
metadata: {name: ant}
";

#[test]
fn flux_keeps_the_order_and_reads_anywhere_below_the_root() {
    let built = run(TWO_OBJECTS, "", &Options::flux()).unwrap();
    let kinds: Vec<_> = built
        .resources
        .iter()
        .map(|resource| &resource.value["kind"])
        .collect();
    assert_eq!(kinds, ["Service", "ConfigMap"]);
    fails(
        TWO_OBJECTS,
        "",
        "
base/kustomization.yaml:1:13: security; file 'shared/service.yaml' is not in or below 'base'
  why: kustomization.yaml:1 names it
  help: move the file below the directory, or make a kustomization of its directory and list that
",
    );
}

#[test]
fn origins_tell_where_objects_came_from_and_what_shaped_them() {
    let built = run(TWO_OBJECTS, "", &Options::flux()).unwrap();
    let origin = &built.resources[0].origin;
    assert_eq!(
        (origin.file.as_str(), origin.document, origin.line),
        ("shared/service.yaml", 0, 2)
    );
    let prefixed = Step::Transformed {
        by: "base/kustomization.yaml".to_owned(),
        what: "namePrefix".to_owned(),
    };
    assert_eq!(origin.steps, [prefixed]);
    assert_eq!(built.resources[1].origin.steps, []);
}

#[test]
fn build_metadata_puts_origins_into_the_output() {
    check(
        "
--- kustomization.yaml
buildMetadata: [originAnnotations, transformerAnnotations, managedByLabel]
resources: [base]
namePrefix: a-
--- base/kustomization.yaml
resources: [cm.yaml]
--- base/cm.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
",
        "",
        "
apiVersion: v1
kind: ConfigMap
metadata:
  annotations:
    alpha.config.kubernetes.io/transformations: |
      - configuredIn: kustomization.yaml
        configuredBy:
          apiVersion: builtin
          kind: PrefixTransformer
    config.kubernetes.io/origin: |
      path: base/cm.yaml
  labels:
    app.kubernetes.io/managed-by: kustomize-v5.8.1
  name: a-settings
",
    );
}

#[test]
fn a_rewritten_root_takes_the_place_of_the_file() {
    let fixture = "
--- app/kustomization.yaml
resources: [nowhere.yaml]
unknown: true
--- app/cm.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
";
    let mut root = KustomizationFile::default();
    root.resources.push("cm.yaml".to_owned().into());
    "prod".clone_into(&mut root.namespace);
    let built = run(fixture, "app", &Options::flux_with_root(root)).unwrap();
    assert_eq!(built.resources[0].value["metadata"]["namespace"], "prod");
}

#[test]
fn flux_reads_its_root_leniently() {
    let file = RepoPath::clamped("kustomization.yaml");
    let text = "resourcez: [a]\nimages: [{name: nginx, newTag: 1.10}]\nresources: []\n";
    let root = KustomizationFile::read_leniently(text, &file).unwrap();
    assert_eq!(root.images[0].new_tag, "1.1");
    let error = KustomizationFile::read(text, &file).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kustomization.yaml:2:32: `newTag` must be a string, not the number 1.10\n  help: quote it: \"1.10\""
    );
    assert!(
        KustomizationFile::read("resources: [a]\nresources:\n---\n- [", &file)
            .unwrap()
            .is_empty()
    );
    assert!(
        KustomizationFile::read_leniently("resources: []", &file)
            .unwrap()
            .is_empty()
    );
    assert!(
        !KustomizationFile::read("resources: []", &file)
            .unwrap()
            .is_empty()
    );
}

const REMOTE: &str = "
--- kustomization.yaml
resources:
- cm.yaml
- https://example.com/crds.yaml
- github.com/owner/repository//deploy?ref=v1
replicas:
- name: lives-elsewhere
  count: 2
patches:
- patch: |
    apiVersion: v1
    kind: Service
    metadata: {name: lives-elsewhere}
--- cm.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
";

#[test]
fn parts_that_lie_elsewhere_are_noted_and_the_rest_is_built() {
    let root = KustomizationFile::read(
        &String::from_utf8_lossy(
            &firstpass_source::Tree::read(
                &firstpass_testing::tree(REMOTE),
                &RepoPath::clamped("kustomization.yaml"),
            )
            .unwrap(),
        ),
        &RepoPath::clamped("kustomization.yaml"),
    )
    .unwrap();
    let built = run(REMOTE, "", &Options::flux_with_root(root)).unwrap();
    assert_eq!(built.resources.len(), 1);
    let remote: Vec<_> = built
        .remote
        .iter()
        .map(|remote| (remote.text.as_str(), remote.line))
        .collect();
    assert_eq!(
        remote,
        [
            ("github.com/owner/repository//deploy?ref=v1", 4),
            ("https://example.com/crds.yaml", 3)
        ]
    );
    fails(
        REMOTE,
        "",
        "
kustomization.yaml:3:3: 'https://example.com/crds.yaml' lies elsewhere, and nothing is fetched
  help: copy it into the repository
",
    );
}

#[test]
fn unknown_fields_name_the_nearest_known_one() {
    fails(
        "
--- app/kustomization.yaml
namespace: prod
resource: [a.yaml]
",
        "app",
        "
app/kustomization.yaml:2:1: `resource` is an unknown field
  help: did you mean `resources`?
",
    );
}

#[test]
fn kustomizations_that_build_themselves_are_cycles() {
    fails(
        "
--- a/kustomization.yaml
resources: [../b]
--- b/kustomization.yaml
resources:
- ../a
",
        "a",
        "
b/kustomization.yaml:2:3: cycle detected: candidate root 'a' contains visited root 'a'
  why: a/kustomization.yaml:1 names it
  help: a kustomization cannot build itself or a directory that contains it
",
    );
}

#[test]
fn objects_that_come_twice_are_refused() {
    fails(
        "
--- kustomization.yaml
resources: [one.yaml, two.yaml]
--- one.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: same}
--- two.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: same, namespace: default}
",
        "",
        "
two.yaml:1:1: may not add resource with an already registered id: ConfigMap.v1.[noGrp]/same.default
  why: the first one is in one.yaml:1; kustomization.yaml:1 names it
  help: keep one of them, or change the other with a patch
",
    );
}

#[test]
fn patches_for_nothing_say_what_is_near() {
    fails(
        "
--- kustomization.yaml
resources: [web.yaml]
patches:
- path: patch.yaml
--- web.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
--- patch.yaml
apiVersion: apps/v1beta1
kind: Deployment
metadata: {name: web}
",
        "",
        "
kustomization.yaml:3:3: no resource matches strategic merge patch \"Deployment.v1beta1.apps/web.[noNs]\": no matches for Id Deployment.v1beta1.apps/web.[noNs]; failed to find unique target for patch Deployment.v1beta1.apps/web.[noNs]
  help: there is Deployment.v1.apps/web.[noNs]; group, version, kind, name and namespace must all be the same
",
    );
}

#[test]
fn objects_without_names_are_refused() {
    fails(
        "
--- kustomization.yaml
resources: [job.yaml]
--- job.yaml
apiVersion: batch/v1
kind: Job
metadata: {generateName: job-}
",
        "",
        "
job.yaml:1:1: missing metadata.name in object of kind Job
  why: kustomization.yaml:1 names it
  help: kustomize needs a name; generateName alone is not enough
",
    );
}

#[test]
fn keys_that_look_like_numbers_cannot_be_generated() {
    fails(
        "
--- kustomization.yaml
configMapGenerator:
- name: ports
  literals: ['8080=web']
",
        "",
        "
kustomization.yaml:2:1: ConfigMap.v1.[noGrp]/ports-m4k2gg6tc2.[noNs] cannot be written: a mapping key must be a string, `8080` is a !!int: quote it
  help: kustomize writes the keys of labels, annotations and generated data without quotes: they may not look like numbers or booleans
",
    );
}

#[test]
fn plugins_that_execute_and_helm_charts_are_refused() {
    for (fixture, what) in [
        (
            "
--- kustomization.yaml
helmCharts: [{name: nginx}]
",
            "must specify --enable-helm",
        ),
        (
            "
--- kustomization.yaml
transformers: [plugin.yaml]
--- plugin.yaml
apiVersion: example.com/v1
kind: SedTransformer
metadata: {name: sed}
",
            "external plugins disabled; unable to load external plugin 'SedTransformer'",
        ),
    ] {
        assert_eq!(run(fixture, "", &Options::flux()).unwrap_err().what, what);
    }
}

#[test]
fn deprecated_fields_are_worth_a_warning() {
    let fixture = "
--- kustomization.yaml
resources: [cm.yaml]
commonLabels: {a: b}
--- cm.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
";
    let built = run(fixture, "", &Options::command_line()).unwrap();
    assert_eq!(
        (built.warnings[0].message.as_str(), built.warnings[0].line),
        ("'commonLabels' is deprecated. Please use 'labels' instead.", 2)
    );
}

#[test]
fn long_chains_of_bases_are_an_error_and_no_crash() {
    use std::fmt::Write as _;

    let chain = |length: usize| {
        let mut fixture = String::new();
        for level in 0..length {
            let _ = write!(
                fixture,
                "--- d{level}/kustomization.yaml\nresources: [../d{}]\n",
                level + 1
            );
        }
        let _ = write!(
            fixture,
            "--- d{length}/kustomization.yaml\nresources: [cm.yaml]\n--- d{length}/cm.yaml\napiVersion: v1\n\
             kind: ConfigMap\nmetadata: {{name: deep}}\n"
        );
        fixture
    };
    assert_eq!(
        run(&chain(60), "d0", &Options::flux()).unwrap().resources.len(),
        1
    );
    let error = run(&chain(100), "d0", &Options::flux()).unwrap_err();
    assert_eq!(
        error.what,
        "kustomizations name each other more than 64 levels deep"
    );
}
