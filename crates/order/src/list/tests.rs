//! Lists in the forms that people write, and what is said about them.

use super::*;
use crate::tiers::{Gate, TierGraph, TierIndex, TierNode};
use crate::{OrderGraph, Unknowns};

/// root ─► cilium ─► platform ─► config ─┬─► config-cdi ─► vms
///                                       └─► wave-0 ─► wave-1
fn graph() -> OrderGraph {
    let tiers: [(&str, &[usize]); 8] = [
        ("root", &[]),
        ("cilium", &[]),
        ("platform", &[1]),
        ("config", &[2]),
        ("config-cdi", &[3]),
        ("wave-0", &[3]),
        ("wave-1", &[5]),
        ("vms", &[3, 4]),
    ];
    let nodes = tiers
        .iter()
        .enumerate()
        .map(|(place, (name, depends_on))| TierNode {
            name: TierName::new("flux-system", *name),
            depends_on: depends_on.iter().map(|index| TierIndex(*index)).collect(),
            missing: Vec::new(),
            parent: (place > 0).then_some(TierIndex(0)),
            gate: Gate::Everything,
            suspended: false,
            rendered: true,
        });
    OrderGraph {
        tiers: TierGraph::new(nodes.collect()),
        needs: Vec::new(),
        unknowns: Unknowns::default(),
    }
}

fn names(text: &str) -> Vec<String> {
    let list = find_list(text, &graph().tiers).expect("a list");
    list.entries
        .into_iter()
        .map(|entry| format!("{}:{}", entry.line, entry.text))
        .collect()
}

#[test]
fn lists_are_found_in_whatever_form() {
    let table = [
        (
            "an array",
            "TIERS=(cilium platform)\n",
            vec!["1:cilium", "1:platform"],
        ),
        (
            "an array over lines, with comments and quotes",
            "set -eu\ndeclare -a ORDER=(\n  \"cilium\"  # the network\n  # not: vms\n  'flux-system/platform'\n)\n",
            vec!["3:cilium", "5:flux-system/platform"],
        ),
        (
            "a loop",
            "for t in cilium platform config; do\n  flux get ks \"$t\"\ndone\n",
            vec!["1:cilium", "1:platform", "1:config"],
        ),
        (
            "words in a string",
            "ORDER=\"cilium\n  platform\"\n",
            vec!["1:cilium", "2:platform"],
        ),
        (
            "arrays of arrays",
            "CORE=(cilium platform)\nAPPS=(wave-0 wave-1)\nALL=(\"${CORE[@]}\" config \"${APPS[@]}\")\n",
            vec!["1:cilium", "1:platform", "3:config", "2:wave-0", "2:wave-1"],
        ),
        (
            "an array that grows",
            "T=(cilium)\nT+=(platform)\n",
            vec!["1:cilium", "2:platform"],
        ),
        (
            "YAML",
            "order:\n  - cilium\n  - platform # operators\n",
            vec!["2:cilium", "3:platform"],
        ),
        (
            "YAML maps",
            "tiers:\n- name: cilium\n  timeout: 5m\n- timeout: 5m\n  name: platform\n",
            vec!["2:cilium", "5:platform"],
        ),
        (
            "a flow list",
            "order: [cilium, platform,\n  config]\n",
            vec!["1:cilium", "1:platform", "2:config"],
        ),
        (
            "one per line",
            "# order\ncilium\nplatform\n\nconfig\n",
            vec!["2:cilium", "3:platform", "5:config"],
        ),
        (
            "a numbered list",
            "Bring up:\n\n1. `cilium`\n2. `platform`\n",
            vec!["3:cilium", "4:platform"],
        ),
        (
            "calls",
            "wait_for() { flux get ks \"$1\"; }\nwait_for cilium\nwait_for platform 10m\n",
            vec!["2:cilium", "3:platform"],
        ),
        (
            "commands",
            "flux reconcile kustomization cilium --with-source\nkubectl -n flux-system wait ks/platform --for=condition=Ready\n",
            vec!["1:cilium", "2:platform"],
        ),
    ];
    for (what, text, expected) in table {
        assert_eq!(names(text), expected, "{what}");
    }
}

#[test]
fn the_list_that_names_the_most_tiers_wins() {
    let script = "#!/bin/sh\nTOOLS=(flux kubectl)\nDEBUG=(cilium)\nORDER=(cilium platform confg)\nfor tool in \"${TOOLS[@]}\"; do :; done\n";
    assert_eq!(names(script), ["4:cilium", "4:platform", "4:confg"]);
    assert!(find_list("nothing here names a tier\nTOOLS=(flux)\n", &graph().tiers).is_none());
}

fn problems(list: &str) -> Vec<String> {
    let graph = graph();
    let list = find_list(list, &graph.tiers).expect("a list");
    let problems = list.problems(&graph);
    problems
        .iter()
        .map(|problem| {
            serde_json::to_string(problem)
                .unwrap()
                .replace("flux-system/", "")
        })
        .collect()
}

#[test]
fn a_right_list_in_any_right_order_is_right() {
    assert_eq!(
        problems("T=(cilium platform config config-cdi wave-0 wave-1 vms)"),
        [""; 0]
    );
    assert_eq!(
        problems("T=(root cilium platform config wave-0 wave-1 config-cdi vms)"),
        [""; 0]
    );
}

#[test]
fn a_missing_tier_is_named_with_its_place() {
    assert_eq!(
        problems("T=(cilium platform config wave-0 wave-1 vms)"),
        [r#"{"problem":"missing","tier":"config-cdi","after":"config","before":"vms"}"#]
    );
}

#[test]
fn what_stands_wrong_is_named_once() {
    assert_eq!(
        problems("T=(cilium config platform config-cdi wave-0 wave-1 vms)"),
        [
            r#"{"problem":"too-early","tier":"config","line":1,"follows":[{"tier":"platform","why":"dependsOn"}]}"#
        ]
    );
    assert_eq!(
        problems("platform\nconfig\nconfig-cdi\nwave-0\nwave-1\nvms\ncilium\n"),
        [
            r#"{"problem":"too-late","tier":"cilium","line":7,"precedes":[{"tier":"platform","why":"dependsOn"}]}"#
        ]
    );
    assert_eq!(
        problems("vms\ncilium\nplatform\nconfig\nconfig-cdi\nwave-0\nwave-1\n"),
        [
            r#"{"problem":"too-early","tier":"vms","line":1,"follows":[{"tier":"config","why":"dependsOn"},{"tier":"config-cdi","why":"dependsOn"}]}"#
        ]
    );
}

#[test]
fn misspelt_and_doubled_names_are_told() {
    assert_eq!(
        problems("cilium\nplatfrom\nplatform\nconfig\nconfig-cdi\nwave-0\nwave-1\ncilium\nvms\n"),
        [
            r#"{"problem":"unknown","entry":"platfrom","line":2,"nearest":"platform"}"#,
            r#"{"problem":"twice","tier":"cilium","line":8,"first_line":1}"#,
        ]
    );
}
