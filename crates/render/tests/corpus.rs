//! Public repositories: nothing panics, every reachable Kustomization is rendered or listed with its reason.

use std::fmt::Write as _;
use std::sync::Arc;

use firstpass_render::{Options, Outcome, RenderedCluster, Repository, render_cluster};
use firstpass_source::{RepoPath, WorkTree};
use firstpass_testing::CORPUS;

fn summary(cluster: &RenderedCluster) -> String {
    let mut text = format!("{} (Flux {})\n", cluster.entry.directory, cluster.settings.flux);
    for tier in &cluster.tiers {
        let outcome = match &tier.outcome {
            Outcome::Rendered(objects) => format!("{} objects", objects.len()),
            Outcome::Suspended(objects) => format!("suspended, {} objects", objects.len()),
            Outcome::Failed(failures) => {
                let first = &failures[0];
                let place = first
                    .location
                    .as_ref()
                    .map(|l| format!(" at {}:{}:{}", l.file, l.line, l.column))
                    .unwrap_or_default();
                format!("FAILED {}: {}{place}", first.rule, first.message)
            }
            Outcome::Unrendered(unrendered) => {
                format!("unrendered ({}): {}", unrendered.reason, unrendered.text)
            }
        };
        let remote = if tier.remote.is_empty() {
            String::new()
        } else {
            format!(", {} remote", tier.remote.len())
        };
        let _ = writeln!(text, "  {}: {outcome}{remote}", tier.name);
    }
    for assumption in cluster.assumptions.iter() {
        let _ = writeln!(
            text,
            "  assume {} {}: {} [{}]",
            assumption.about, assumption.subject, assumption.assumed, assumption.source
        );
    }
    text
}

#[test]
fn every_reachable_kustomization_is_rendered_or_listed() {
    let Some(corpus) = firstpass_testing::shared("corpus") else {
        return;
    };
    for (name, entries) in CORPUS {
        let repository = Repository::open(Arc::new(WorkTree::open(corpus.join(name)).unwrap())).unwrap();
        let found: Vec<String> = repository
            .entries()
            .iter()
            .map(|entry| entry.directory.to_string())
            .collect();
        assert_eq!(found, entries, "{name}");
        let mut text = String::new();
        for entry in entries {
            let entry = repository.entry(&RepoPath::clamped(entry)).unwrap();
            let cluster = render_cluster(&repository, &entry, &Options::default());
            text.push_str(&summary(&cluster));
        }
        insta::assert_snapshot!(name, text);
    }
}
