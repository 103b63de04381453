//! Rendering a repository that is written in a test.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::fmt::Write as _;
use std::sync::Arc;

use firstpass_render::{Options, Outcome, RenderedCluster, Repository, Tier, render_cluster};
use firstpass_source::RepoPath;
pub(crate) use firstpass_testing::BOOTSTRAP;

pub(crate) fn repository(fixture: &str) -> Repository {
    Repository::open(Arc::new(firstpass_testing::tree(fixture))).unwrap()
}

pub(crate) fn render_entry(fixture: &str, entry: &str) -> RenderedCluster {
    let repository = repository(fixture);
    let entry = repository.entry(&RepoPath::clamped(entry)).unwrap();
    render_cluster(&repository, &entry, &Options::default())
}

/// Renders `clusters/prod` of the bootstrap and what the fixture adds.
pub(crate) fn render(fixture: &str) -> RenderedCluster {
    render_entry(&format!("{BOOTSTRAP}{fixture}"), "clusters/prod")
}

/// A Kustomization in `clusters/prod`, with the given lines in its spec.
pub(crate) fn tier(name: &str, spec: &str) -> String {
    let mut text = format!(
        "--- clusters/prod/{name}.yaml\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
         metadata: {{name: {name}, namespace: flux-system}}\nspec:\n  interval: 10m\n  prune: true\n"
    );
    if !spec.contains("sourceRef") {
        text.push_str("  sourceRef: {kind: GitRepository, name: flux-system}\n");
    }
    for line in spec.trim_matches('\n').lines() {
        let _ = writeln!(text, "  {line}");
    }
    text
}

pub(crate) fn find<'c>(cluster: &'c RenderedCluster, name: &str) -> &'c Tier {
    let known: Vec<String> = cluster.tiers.iter().map(|tier| tier.name.to_string()).collect();
    let found = cluster.tiers.iter().find(|tier| tier.name.name == name);
    found.unwrap_or_else(|| panic!("no tier `{name}` among {known:?}"))
}

/// One line a tier: what it applies, or why nothing.
pub(crate) fn outline(cluster: &RenderedCluster) -> String {
    let mut text = String::new();
    for tier in &cluster.tiers {
        let _ = writeln!(text, "{}: {}", tier.name, outcome(tier));
    }
    text
}

pub(crate) fn outcome(tier: &Tier) -> String {
    let ids = |objects: &[firstpass_render::RenderedObject]| {
        let ids: Vec<String> = objects.iter().map(|object| object.id().to_string()).collect();
        ids.join(", ")
    };
    match &tier.outcome {
        Outcome::Rendered(objects) => ids(objects),
        Outcome::Suspended(objects) => format!("suspended ({})", ids(objects)),
        Outcome::Unrendered(unrendered) => format!("unrendered: {}", unrendered.text),
        Outcome::Failed(failures) => {
            let lines = failures.iter().map(|failure| {
                let place = failure.location.as_ref();
                let place = place.map(|place| format!("{}:{}:{}: ", place.file, place.line, place.column));
                format!(
                    "{}{}: {}",
                    place.unwrap_or_default(),
                    failure.rule,
                    failure.message
                )
            });
            lines.collect::<Vec<_>>().join("\n  ")
        }
    }
}

/// The object `Kind/…` of a tier.
pub(crate) fn object<'c>(tier: &'c Tier, id: &str) -> &'c firstpass_render::RenderedObject {
    let found = tier.objects().iter().find(|object| object.id().to_string() == id);
    found.unwrap_or_else(|| panic!("no `{id}` in {}", outcome(tier)))
}

/// A ConfigMap in a file, with the given lines in its data.
pub(crate) fn config_map(path: &str, name: &str, data: &[&str]) -> String {
    let mut text = format!(
        "--- {path}\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: flux-system}}\ndata:\n"
    );
    for line in data {
        let _ = writeln!(text, "  {line}");
    }
    text
}
