//! Proposed repairs never put a component on a more critical tier than it is on: whoever follows them would make more of the
//! cluster wait for it.

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{How, directory, overlaid, script};
use firstpass_rehearse::Script;
use firstpass_source::Tree;
use firstpass_testing::cases::{own_cases, shared_cases};

/// What is well as soon as it is stored, so that nobody waits longer for it.
const DATA: [&str; 9] = [
    "ConfigMap/",
    "Secret/",
    "Namespace/",
    "ServiceAccount/",
    "PersistentVolumeClaim/",
    "CustomResourceDefinition/",
    "PriorityClass/",
    "RuntimeClass/",
    "StorageClass/",
];

fn is_data(object: &str) -> bool {
    DATA.iter().any(|kind| object.starts_with(kind))
}

/// The moves that a text proposes: `move X into Y`, both in backticks.
fn moves(help: &str) -> Vec<(String, String)> {
    let parts: Vec<&str> = help.split('`').collect();
    let moves = (1..parts.len()).step_by(2).filter(|at| {
        parts[at - 1].ends_with("move ") && parts.get(at + 1).is_some_and(|between| *between == " into ")
    });
    moves
        .filter_map(|at| Some((parts[at].to_owned(), (*parts.get(at + 2)?).to_owned())))
        .collect()
}

/// What a text proposes to bring earlier: `move X into a tier that Y depends on`, or `before Y`.
fn moves_to_the_front(help: &str) -> Vec<String> {
    let parts: Vec<&str> = help.split('`').collect();
    let front = [" into a tier that ", " into a tier before "];
    let moves = (1..parts.len())
        .step_by(2)
        .filter(|at| parts.get(at + 1).is_some_and(|between| front.contains(between)));
    moves.map(|at| parts[at].to_owned()).collect()
}

/// The repairs of a repository that make more wait, and how many moves were looked at.
fn complaints(name: &str, script: &Script, all: &mut Vec<String>) -> usize {
    let report = script.rehearse(&How::default().options).report;
    let blocks = |tier: &str| {
        let found = report.tiers.iter().find(|view| view.name.to_string() == tier)?;
        Some(found.blast_radius.as_ref()?.blocks.len())
    };
    let mut looked_at = 0;
    for finding in &report.findings {
        for what in moves_to_the_front(&finding.help) {
            looked_at += 1;
            if !is_data(&what) {
                all.push(format!("{name}: {}: {}", finding.rule, finding.help));
            }
        }
        for (what, target) in moves(&finding.help) {
            let holder = script
                .cluster
                .objects()
                .find(|(_, object)| object.id().to_string() == what);
            let (Some((holder, _)), Some(after)) = (holder, blocks(&target)) else {
                continue;
            };
            looked_at += 1;
            let before = blocks(&holder.name.to_string()).unwrap_or(0);
            if after > before && !is_data(&what) {
                all.push(format!(
                    "{name}: {}: `{what}` of {} would go into {target}: {}",
                    finding.rule, holder.name, finding.help
                ));
            }
        }
    }
    looked_at
}

#[expect(clippy::disallowed_methods, reason = "stories are read from disk")]
fn repositories() -> Vec<(String, Arc<dyn Tree>, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cases = own_cases().into_iter().chain(shared_cases());
    let mut found: Vec<(String, Arc<dyn Tree>, String)> = cases
        .map(|case| (case.name, directory(&case.repository), case.entry))
        .collect();
    let example = root.join("examples/home-network");
    let stories = std::fs::read_dir(example.join("stories"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut stories: Vec<PathBuf> = stories.filter(|path| path.is_dir()).collect();
    stories.sort();
    for story in stories {
        found.push((
            story.display().to_string(),
            overlaid(&example, &story),
            "clusters/prod".to_owned(),
        ));
    }
    found
}

#[test]
fn repairs_make_nobody_wait_for_more() {
    let mut all = Vec::new();
    let mut looked_at = 0;
    for (name, tree, entry) in repositories() {
        looked_at += complaints(&name, &script(tree, &entry, &How::default()), &mut all);
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
    assert!(
        looked_at > 0,
        "no repair moves anything, so this test proves nothing"
    );
}

#[test]
fn moves_are_read_out_of_a_text() {
    let help = "move `Secret/a/b` into `flux-system/c` or a tier before it, or `Deployment/a/d` into a tier after `x`";
    assert_eq!(
        moves(help),
        [("Secret/a/b".to_owned(), "flux-system/c".to_owned())]
    );
    let help = "move `HelmRelease/a/b` into a tier that `flux-system/c` depends on, or move `Silence/a` into a tier after `x`";
    assert_eq!(moves_to_the_front(help), ["HelmRelease/a/b"]);
}
