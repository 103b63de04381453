//! The example repository, as its clusters render it.

mod common;

use std::path::Path;
use std::sync::Arc;

use common::find;
use firstpass_render::{Options, RenderedCluster, Repository, render_cluster};
use firstpass_source::{OverlayTree, RepoPath, WorkTree};

fn render(cluster: &str, story: Option<&str>) -> RenderedCluster {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/home-network");
    let tree = WorkTree::open(&root).unwrap();
    let repository = match story {
        None => Repository::open(Arc::new(tree)),
        Some(story) => {
            let overlay = WorkTree::open(root.join("stories").join(story)).unwrap();
            Repository::open(Arc::new(OverlayTree::new(tree, overlay)))
        }
    };
    let repository = repository.unwrap();
    let entry = repository.entry(&RepoPath::clamped(cluster)).unwrap();
    render_cluster(&repository, &entry, &Options::default())
}

fn kinds(cluster: &RenderedCluster, tier: &str, kind: &str) -> usize {
    let objects = find(cluster, tier).objects().iter();
    objects.filter(|object| object.id().kind == kind).count()
}

#[test]
fn every_tier_of_both_clusters_renders() {
    for entry in ["clusters/dev", "clusters/prod"] {
        let cluster = render(entry, None);
        assert_eq!(cluster.findings(), [], "{entry}");
        assert!(cluster.tiers.iter().all(firstpass_render::Tier::is_rendered));
        assert!(cluster.assumed.is_empty(), "{entry}: {:?}", cluster.assumed);
        assert_eq!(cluster.settings.flux.minor, 9);
        assert_eq!(kinds(&cluster, "platform-config", "StorageProfile"), 0);
        assert_eq!(kinds(&cluster, "platform-config", "CDI"), 1);
        assert_eq!(kinds(&cluster, "platform-config", "KubeVirt"), 1);
        assert_eq!(kinds(&cluster, "platform-config-cdi", "StorageProfile"), 2);
    }
}

#[test]
fn the_first_story_has_the_profiles_beside_the_object_that_brings_their_kind() {
    let cluster = render("clusters/prod", Some("before-cdi-split"));
    assert_eq!(kinds(&cluster, "platform-config", "StorageProfile"), 2);
    assert_eq!(kinds(&cluster, "platform-config", "CDI"), 1);
}

#[test]
fn what_is_quoted_by_a_variable_stays_a_text() {
    let cluster = render("clusters/prod", None);
    let classes = cluster
        .objects()
        .filter(|(_, object)| object.id().kind == "StorageClass");
    let replicas =
        classes.filter_map(|(_, object)| object.object["parameters"].get("numberOfReplicas").cloned());
    let replicas: Vec<_> = replicas.collect();
    assert!(!replicas.is_empty() && replicas.iter().all(serde_json::Value::is_string));
}
