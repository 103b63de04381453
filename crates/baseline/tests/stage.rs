//! What is taken to be there before Flux's first pass.

use std::sync::Arc;

use firstpass_baseline::{Stage, StageOptions};
use firstpass_knowledge::Knowledge;
use firstpass_object::GroupKind;
use firstpass_render::{Options, Repository, render_cluster};
use firstpass_source::RepoPath;
use firstpass_testing::BOOTSTRAP;

const TRAEFIK: &str = "
--- clusters/prod/traefik.yaml
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: traefik, namespace: flux-system}
spec: {interval: 1h, url: https://traefik.github.io/charts}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: traefik, namespace: flux-system}
spec:
  interval: 30m
  chart: {spec: {chart: traefik, version: 37.x, sourceRef: {kind: HelmRepository, name: traefik}}}
";

fn stage(files: &str) -> Stage {
    let repository = Repository::open(Arc::new(firstpass_testing::tree(files))).unwrap();
    let entry = repository.entry(&RepoPath::clamped("clusters/prod")).unwrap();
    let cluster = render_cluster(&repository, &entry, &Options::default());
    let helmfiles = repository.helmfiles(&entry);
    let knowledge = Knowledge::builtin();
    Stage::set(
        &cluster,
        &**repository.tree(),
        &helmfiles,
        &knowledge,
        &StageOptions::default(),
    )
}

#[test]
fn what_can_be_switched_off_is_off_where_the_repository_brings_its_own() {
    let middleware = GroupKind::new("traefik.io", "Middleware");
    let chart = GroupKind::new("helm.cattle.io", "HelmChart");
    let alone = stage(BOOTSTRAP);
    assert!(alone.kinds.contains_key(&middleware) && alone.kinds.contains_key(&chart));

    let beside = stage(&format!("{BOOTSTRAP}{TRAEFIK}"));
    assert!(
        !beside.kinds.contains_key(&middleware),
        "k3s's Traefik would collide with the repository's"
    );
    assert!(beside.kinds.contains_key(&chart), "the rest of k3s is there");
    let told = beside
        .assumptions
        .iter()
        .find(|assumption| assumption.assumed.starts_with("without its own"));
    assert!(
        told.is_some_and(|assumption| assumption.source.contains("HelmRelease/flux-system/traefik")),
        "{told:?}"
    );
}
