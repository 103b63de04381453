//! How clusters are found, started and rendered to the end.

mod common;

use common::{BOOTSTRAP, config_map, find, object, outcome, outline, render, render_entry, repository, tier};
use firstpass_render::{EntryError, Sync, TierSource};
use firstpass_source::RepoPath;

fn entries(fixture: &str) -> Vec<String> {
    repository(fixture)
        .entries()
        .iter()
        .map(|entry| entry.directory.to_string())
        .collect()
}

#[test]
fn entries_are_found_by_what_syncs_them() {
    let instance = "--- bootstrap/instance.yaml\napiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux, namespace: flux-system}\n\
                    spec: {sync: {kind: GitRepository, url: 'https://example.com/x', ref: refs/heads/main, path: clusters/home}}\n";
    let release = "--- apps/flux.yaml\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: flux-instance}\n\
                   spec: {interval: 1h, chartRef: {kind: OCIRepository, name: flux-instance}, values: {instance: {sync: {path: clusters/home}}}}\n";
    let values =
        "--- apps/values.yaml\ninstance:\n  sync:\n    kind: OCIRepository\n    path: ./clusters/home\n";
    let home = "--- clusters/home/apps.yaml\n# nothing yet\n";
    let table = [
        (BOOTSTRAP.to_owned(), vec!["clusters/prod"]),
        (format!("{instance}{home}"), vec!["clusters/home"]),
        (format!("{release}{home}"), vec!["clusters/home"]),
        (format!("{values}{home}"), vec!["clusters/home"]),
        (
            format!("--- clusters/home/flux-system/gotk-sync.yaml\n# filled in by bootstrap\n{BOOTSTRAP}"),
            vec!["clusters/home", "clusters/prod"],
        ),
        (
            format!(
                "--- bootstrap/helmfile.yaml\nreleases:\n  - name: flux-instance\n    values:\n      - instance: {{sync: {{path: clusters/home}}}}\n{home}"
            ),
            vec!["clusters/home"],
        ),
        (
            format!(
                "--- bootstrap/values.yaml.gotmpl\ninstance:\n  distribution:\n    version: {{{{ .version }}}}\n  sync: {{path: clusters/home}}\n{home}"
            ),
            vec!["clusters/home"],
        ),
        (
            format!("{home}--- clusters/work/x.yaml\n"),
            vec!["clusters/home", "clusters/work"],
        ),
        (format!("{BOOTSTRAP}{home}"), vec!["clusters/prod"]),
        (
            "--- firstpass.yaml\nclusters: {a: {path: k8s/a}}\n--- k8s/a/x.yaml\n".to_owned(),
            vec!["k8s/a"],
        ),
        ("--- README.md\nnothing\n".to_owned(), vec![]),
    ];
    for (fixture, expected) in table {
        assert_eq!(entries(&fixture), expected, "{fixture}");
    }
}

#[test]
fn what_is_no_entry_says_so() {
    let repository = repository(&format!("{BOOTSTRAP}--- clusters/README.md\nx\n"));
    let error = repository.entry(&RepoPath::clamped("clusters/prd")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`clusters/prd` does not exist in the repository; did you mean `clusters/prod`?"
    );
    let error = repository
        .entry(&RepoPath::clamped("clusters/README.md"))
        .unwrap_err();
    assert!(matches!(error, EntryError::IsFile(_)));
}

#[test]
fn an_unsynced_directory_is_built_by_an_assumed_root() {
    let cluster = render_entry(&config_map("clusters/new/a.yaml", "a", &["k: v"]), "clusters/new");
    assert_eq!(cluster.entry.sync, Sync::Assumed);
    assert_eq!(
        outline(&cluster),
        "flux-system/flux-system: ConfigMap/flux-system/a\n"
    );
    assert_eq!(cluster.assumptions[0].about, "sync");
    assert_eq!(cluster.seeds.len(), 3);
}

/// The root applies itself with a patch: what it applies is what counts.
#[test]
fn a_root_that_changes_itself_is_adopted() {
    let fixture = "--- clusters/prod/kustomization.yaml
resources: [flux-system.yaml, app.yaml]
patches:
  - patch: |
      - {op: add, path: /spec/postBuild, value: {substitute: {NAME: web}}}
    target: {kind: Kustomization, name: flux-system}
";
    let cluster = render(
        &[
            fixture.to_owned(),
            config_map("clusters/prod/app.yaml", "'${NAME}'", &["k: v"]),
        ]
        .concat(),
    );
    let root = find(&cluster, "flux-system");
    assert!(root.kustomization.spec.post_build.is_some());
    object(root, "ConfigMap/flux-system/web");
    assert_eq!(root.parent, None);
    assert_eq!(
        root.location.as_ref().unwrap().file,
        "clusters/prod/flux-system.yaml"
    );
}

#[test]
fn an_instance_is_started_as_flux_operator_does_it() {
    let instance = "--- k8s/bootstrap/instance.yaml
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {name: flux, namespace: flux-system}
spec:
  distribution: {version: 2.8.x}
  sync: {kind: OCIRepository, url: 'oci://example.com/fleet', ref: latest, path: clusters/home}
  kustomize:
    patches:
      - patch: |
          - {op: add, path: /spec/ignore, value: '/secret'}
        target: {kind: OCIRepository}
      - patch: |
          - {op: add, path: /spec/template/spec/containers/0/args/-, value: --concurrent=10}
        target: {kind: Deployment, name: kustomize-controller}
";
    let fixture = [
        instance.to_owned(),
        "--- k8s/clusters/home/ks.yaml\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n\
         spec: {interval: 1h, prune: true, path: ./apps, sourceRef: {kind: OCIRepository, name: flux-system}}\n"
            .to_owned(),
        config_map("k8s/apps/a.yaml", "a", &["k: v"]),
    ]
    .concat();
    let cluster = render_entry(&fixture, "k8s/clusters/home");
    assert_eq!(
        outline(&cluster),
        "flux-system/flux-system: Kustomization/flux-system/apps\nflux-system/apps: ConfigMap/flux-system/a\n"
    );
    assert_eq!(cluster.settings.flux.to_string(), "2.8.8");
    assert_eq!(cluster.settings.kustomize_concurrent, 10);
    assert_eq!(cluster.seeds[1].object["spec"]["ignore"], "/secret");
    assert_eq!(find(&cluster, "apps").origin.file, "k8s/clusters/home/ks.yaml");
}

#[test]
fn sources_tell_what_can_be_seen() {
    let source = |name: &str, url: &str, more: &str| {
        format!(
            "--- clusters/prod/{name}-source.yaml\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: {name}, namespace: flux-system}}\nspec: {{interval: 1m, url: '{url}'{more}}}\n"
        )
    };
    let from = |name: &str| format!("path: ./apps\nsourceRef: {{kind: GitRepository, name: {name}}}");
    let fixture = [
        tier("mirror", &from("mirror")),
        source(
            "mirror",
            "ssh://git@git.example.com/platform/fleet",
            ", ref: {branch: main}",
        ),
        tier("branch", &from("branch")),
        source(
            "branch",
            "https://git.example.com/platform/fleet",
            ", ref: {branch: other}",
        ),
        tier("team", &from("team")),
        source("team", "https://git.example.com/platform/team", ""),
        tier(
            "undefined",
            "path: ./nowhere\nsourceRef: {kind: GitRepository, name: undefined}",
        ),
        tier("none", "path: ./apps\nsourceRef: {kind: Folder, name: x}"),
        config_map("apps/a.yaml", "a", &["k: v"]),
    ]
    .concat();
    let cluster = render(&fixture);
    let outcomes: Vec<String> = ["mirror", "branch", "team", "undefined", "none"]
        .iter()
        .map(|name| outcome(find(&cluster, name)))
        .collect();
    assert_eq!(
        outcomes,
        [
            "ConfigMap/flux-system/a",
            "unrendered: its source GitRepository/flux-system/branch is another revision of this repository",
            "unrendered: its source GitRepository/flux-system/team is somewhere else (https://git.example.com/platform/team)",
            "unrendered: no object in the repository defines its source GitRepository/flux-system/undefined",
            "unrendered: it names no source that Flux knows",
        ]
    );
    assert!(cluster.findings().iter().all(|finding| finding.verdict.is_none()));
}

#[test]
fn configured_sources_are_read() {
    let fixture = [
        BOOTSTRAP.to_owned(),
        "--- firstpass.yaml\nclusters: {prod: {path: clusters/prod, sources: {GitRepository/flux-system/infra: {path: vendor/infra}}}}\n".to_owned(),
        tier("infra", "path: ./apps\nsourceRef: {kind: GitRepository, name: infra}"),
        config_map("vendor/infra/apps/a.yaml", "a", &["k: v"]),
    ]
    .concat();
    let cluster = render_entry(&fixture, "clusters/prod");
    let infra = find(&cluster, "infra");
    assert!(matches!(infra.source, TierSource::Local { .. }));
    assert_eq!(
        object(infra, "ConfigMap/flux-system/a").origin.file,
        "vendor/infra/apps/a.yaml"
    );
}

/// F-905: what the source does not pack cannot be built.
#[test]
fn ignored_files_are_not_there() {
    let fixture = [
        tier("apps", "path: ./apps"),
        config_map("apps/a.yaml", "a", &["k: v"]),
        config_map("apps/.sops.yaml", "sops", &["k: v"]),
        config_map("apps/skip.yaml", "skip", &["k: v"]),
        "--- apps/.sourceignore\nskip.yaml\n.sops.yaml\n".to_owned(),
    ]
    .concat();
    assert_eq!(
        outcome(find(&render(&fixture), "apps")),
        "ConfigMap/flux-system/a"
    );
}

#[test]
fn suspended_tiers_and_their_children_are_left_out() {
    let child = "--- apps/ks.yaml\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: child, namespace: flux-system}\nspec: {}\n";
    let cluster = render(&[tier("apps", "path: ./apps\nsuspend: true"), child.to_owned()].concat());
    assert_eq!(
        outcome(find(&cluster, "apps")),
        "suspended (Kustomization/flux-system/child)"
    );
    assert!(cluster.tiers.iter().all(|tier| tier.name.name != "child"));
    assert_eq!(cluster.findings()[0].rule, "suspended");
}

/// A Kustomization that makes a new one under another name each time ends at a limit, not in a hang.
#[test]
fn endless_nesting_ends() {
    let ks = "--- apps/ks.yaml\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
              metadata: {name: '${NAME}x', namespace: flux-system}\nspec:\n  interval: 1h\n  prune: true\n  path: ./apps\n  \
              sourceRef: {kind: GitRepository, name: flux-system}\n  postBuild: {substitute: {NAME: '${NAME}x'}}\n";
    let cluster = render(
        &[
            tier("apps", "path: ./apps\npostBuild: {substitute: {NAME: a}}"),
            ks.to_owned(),
        ]
        .concat(),
    );
    assert!(cluster.tiers.len() < 60);
    assert!(
        cluster
            .tiers
            .iter()
            .any(|tier| outcome(tier).contains("nested deeper"))
    );
}

/// A Kustomization in flow style, as a document of a fixture.
fn kustomization(name: &str, path: &str, more: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\n\
         spec: {{interval: 10m, path: '{path}', prune: true, sourceRef: {{kind: GitRepository, name: flux-system}}{more}}}\n"
    )
}

#[test]
fn what_another_tier_applies_is_no_entry() {
    // Beside the kustomization file that it builds, and listed by the one above.
    let apps = format!(
        "--- apps/kustomization.yaml\nresources: [web/ks.yaml]\n--- apps/web/kustomization.yaml\nresources: [cm.yaml]\n\
         --- apps/web/cm.yaml\nkind: ConfigMap\n--- apps/web/ks.yaml\n{}",
        kustomization("web", "./apps/web", "")
    );
    assert_eq!(entries(&format!("{BOOTSTRAP}{apps}")), ["clusters/prod"]);
    // Left over: nobody lists it, and it does not build itself.
    let left_over = apps.replace("[web/ks.yaml]", "[]");
    assert_eq!(entries(&format!("{BOOTSTRAP}{left_over}")), ["clusters/prod"]);
    // Only `clusters/a` is started by somebody; it brings what builds `clusters/b`.
    let tier = format!(
        "--- clusters/a/b.yaml\n{}--- clusters/b/x.yaml\n",
        kustomization("b", "./clusters/b", "")
    );
    assert_eq!(entries(&tier), ["clusters/a"]);
}

#[test]
fn clusters_may_share_a_base_beside_them() {
    let shared = "--- clusters/prod/00/kustomization.yaml\nresources: [../base]\n--- clusters/prod/01/kustomization.yaml\nresources: [../base]\n\
                  --- clusters/prod/base/kustomization.yaml\nresources: [cm.yaml]\n--- clusters/prod/base/cm.yaml\nkind: ConfigMap\n";
    assert_eq!(entries(shared), ["clusters/prod/00", "clusters/prod/01"]);
}

#[test]
fn a_sync_is_started_as_its_kustomization_file_shapes_it() {
    let patch = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: flux-system, namespace: flux-system}\n\
                 spec: {path: ./clusters/prod, decryption: {provider: sops}}\n";
    let decrypts = |fixture: &str| {
        let repository = repository(fixture);
        let entries = repository.entries();
        assert_eq!(entries.len(), 1, "{fixture}");
        assert_eq!(entries[0].path(), "clusters/prod");
        assert!(matches!(entries[0].sync, Sync::Kustomization { .. }), "{fixture}");
        let cluster = render_entry(fixture, "clusters/prod");
        let seed = cluster
            .seeds
            .iter()
            .find(|seed| seed.object["kind"] == "Kustomization")
            .unwrap();
        seed.object["spec"]["decryption"]["provider"] == "sops"
    };
    let in_directory = BOOTSTRAP.replace("flux-system.yaml", "flux-system/gotk-sync.yaml");
    let beside = format!(
        "{in_directory}--- clusters/prod/flux-system/kustomization.yaml\nresources: [gotk-sync.yaml]\npatches: [{{path: patch.yaml}}]\n\
         --- clusters/prod/flux-system/patch.yaml\n{patch}"
    );
    assert!(decrypts(&beside));
    let outside = |path: &str| {
        format!(
            "--- flux/kustomization.yaml\nresources: [sync.yaml]\n--- flux/sync.yaml\n{}--- flux/patch.yaml\n{patch}\
             --- clusters/prod/kustomization.yaml\nresources: [../../flux]\npatches: [{{path: ../../flux/patch.yaml}}]\n",
            kustomization("flux-system", path, "")
        )
    };
    assert!(decrypts(&outside("./clusters/prod")));
    assert!(decrypts(&outside("./clusters/${ENVIRONMENT}")));
}
