//! A small graph in all its forms. The pictures are snapshots: look at them when they change.

use firstpass_diagnostics::{Tier, TierState, Verdict, WaitingFor, WaitingOn};
use firstpass_object::TierName;
use firstpass_order::{Comes, EdgeView, GraphView, NeedSort, NeedView, Order, TierView, WaitsFor};

use super::*;
use crate::Style;

const PLAIN: Style = Style {
    color: false,
    width: 100,
    verbose: false,
};

fn name(name: &str) -> TierName {
    TierName::new("flux-system", name)
}

fn tier(text: &str, layer: usize, waits_for: WaitsFor) -> TierView {
    TierView {
        name: name(text),
        layer,
        waits_for,
        suspended: false,
        rendered: true,
        missing_dependencies: Vec::new(),
        unmet: Vec::new(),
    }
}

fn edge(from: &str, to: &str, depends_on: bool, needs: Vec<NeedView>) -> EdgeView {
    EdgeView {
        from: name(from),
        to: name(to),
        depends_on,
        parent: from == "root",
        needs,
    }
}

fn need(what: &str, order: Order, because: &str) -> NeedView {
    NeedView {
        sort: NeedSort::Kind,
        what: what.to_owned(),
        by: "Profile/a".to_owned(),
        objects: 2,
        brought_by: Some("Operator/a".to_owned()),
        comes: Some(Comes::AfterObject),
        order,
        because: Some(because.to_owned()),
    }
}

/// A root, two tiers of which the second has a need without a barrier, one that needs something without an edge, and
/// leaves.
fn sample() -> ShownGraph {
    let mut tiers = vec![
        tier("root", 0, WaitsFor::Nothing),
        tier("operators", 1, WaitsFor::Everything),
        tier("profiles", 2, WaitsFor::Everything),
        tier("stray", 2, WaitsFor::Nothing),
    ];
    let mut edges = vec![
        edge("root", "operators", false, vec![]),
        edge(
            "operators",
            "profiles",
            true,
            vec![
                need(
                    "Profile.example.org",
                    Order::WithoutBarrier,
                    "an `Operator` says nothing",
                ),
                need(
                    "Operator.example.org",
                    Order::Guaranteed,
                    "`flux-system/operators` has applied it before",
                ),
            ],
        ),
        edge("root", "profiles", false, vec![]),
        edge(
            "operators",
            "stray",
            false,
            vec![need("Profile.example.org", Order::WithoutEdge, "")],
        ),
        edge("root", "stray", false, vec![]),
    ];
    for index in 1..=6 {
        tiers.push(tier(&format!("app-{index}"), 3, WaitsFor::Nothing));
        edges.push(edge("profiles", &format!("app-{index}"), true, vec![]));
    }
    let mut shown = ShownGraph::new("clusters/dev".to_owned(), GraphView { tiers, edges }, None);
    shown.entries.push("clusters/prod".to_owned());
    shown
}

fn rehearsed() -> ShownGraph {
    let mut shown = sample();
    let tiers = shown.view.tiers.iter().enumerate().map(|(place, tier)| {
        let is_ready = place < 2;
        let state = match place {
            0 | 1 => TierState::Ready,
            2 => TierState::Failed,
            _ => TierState::Waiting,
        };
        let wait = WaitingOn {
            waiting_for: if place == 2 {
                WaitingFor::Kind
            } else {
                WaitingFor::Dependency
            },
            what: if place == 2 {
                "Profile.example.org".to_owned()
            } else {
                "flux-system/profiles".to_owned()
            },
            tier: Some(name(if place == 2 { "operators" } else { "profiles" })),
        };
        let seen = Tier {
            name: tier.name.clone(),
            state,
            applied_at_s: None,
            ready_at_s: is_ready.then_some(place as f64 * 60.0 + 2.5),
            attempts: 1,
            failed_attempts: u32::from(place == 2),
            depends_on: Vec::new(),
            waiting_on: if is_ready { Vec::new() } else { vec![wait] },
            proves: None,
            blast_radius: None,
        };
        (tier.name.clone(), seen)
    });
    shown.rehearsal = Some(Rehearsed {
        verdict: Verdict::Deadlock,
        tiers: tiers.collect(),
    });
    shown
}

#[test]
fn the_text_reads_from_the_first_layer_to_what_guarantees_it() {
    insta::assert_snapshot!(graph_to_text(&[sample()], PLAIN));
}

#[test]
fn the_text_of_a_rehearsal_says_what_became_of_each_tier() {
    insta::assert_snapshot!(graph_to_text(
        &[rehearsed()],
        Style {
            verbose: true,
            ..PLAIN
        }
    ));
}

#[test]
fn dot_and_mermaid() {
    insta::assert_snapshot!("dot", graph_to_dot(&[sample()]));
    insta::assert_snapshot!("mermaid", graph_to_mermaid(&rehearsed()));
}

#[test]
fn the_picture() {
    insta::assert_snapshot!("svg", graph_to_svg(&sample()));
    insta::assert_snapshot!("svg_rehearsed", graph_to_svg(&rehearsed()));
}

#[test]
fn a_single_graph_carries_no_name_of_a_cluster() {
    let one = graph_to_json(&[sample()]);
    assert!(!one.contains("clusters"), "{one}");
    let mut other = sample();
    other.entries = vec!["clusters/test".to_owned()];
    other.view.tiers.pop();
    other.view.edges.pop();
    let both: serde_json::Value = serde_json::from_str(&graph_to_json(&[sample(), other])).unwrap();
    assert_eq!(
        both["graphs"][1]["clusters"],
        serde_json::json!(["clusters/test"])
    );
}

#[test]
fn pictures_are_well_formed_and_boxes_keep_apart() {
    let mut shown = sample();
    shown.view.edges[1].needs[0].what = "<b attr='&'>\"".to_owned();
    for shown in [shown, rehearsed()] {
        let picture = graph_to_svg(&shown);
        let document = roxmltree::Document::parse(&picture).unwrap();
        let number = |node: &roxmltree::Node<'_, '_>, name: &str| {
            node.attribute(name).unwrap().parse::<f64>().unwrap()
        };
        let is_box = |node: &roxmltree::Node<'_, '_>| {
            node.attribute("class") == Some("block")
                || node.attribute("class") == Some("box") && node.attribute("rx") == Some("6")
        };
        let boxes: Vec<(f64, f64, f64, f64)> = document
            .descendants()
            .filter(is_box)
            .map(|node| {
                (
                    number(&node, "x"),
                    number(&node, "y"),
                    number(&node, "width"),
                    number(&node, "height"),
                )
            })
            .collect();
        assert_eq!(boxes.len(), 5, "four tiers, and a frame around the six leaves");
        for (place, one) in boxes.iter().enumerate() {
            for other in &boxes[place + 1..] {
                let apart = one.0 + one.2 <= other.0
                    || other.0 + other.2 <= one.0
                    || one.1 + one.3 <= other.1
                    || other.1 + other.3 <= one.1;
                assert!(apart, "{one:?} {other:?}");
            }
        }
    }
}

#[test]
fn text_of_a_repository_cannot_break_a_picture() {
    let mut shown = sample();
    shown.view.edges[1].needs[0].what = "A\"<b>&\n\u{1b}[1m.example.org".to_owned();
    for picture in [
        graph_to_svg(&shown),
        graph_to_dot(&[shown.clone()]),
        graph_to_mermaid(&shown),
    ] {
        assert!(!picture.contains("A\"<b>"), "{picture}");
        assert!(!picture.contains('\u{1b}'), "{picture}");
    }
}
