//! The order and a comparison, as people see them.

use firstpass_diagnostics::{Tier, TierState, Verdict, WaitingFor, WaitingOn};
use firstpass_object::TierName;
use firstpass_order::{HandList, ListEntry, ListForm, ListProblem, Reason};

use super::*;

const PLAIN: Style = Style {
    color: false,
    width: 100,
    verbose: false,
};

fn name(name: &str) -> TierName {
    TierName::new("flux-system", name)
}

/// A root, many applications, and one tier at the end that something orders.
fn large(applications: usize) -> ShownOrder {
    let row = |place: usize, tier: String, after: &str, ordered: bool| OrderRow {
        place,
        tier: name(&tier),
        ready_at_s: place as f64 * 2.5,
        after: vec![name(after)],
        ordered,
    };
    let mut rows = vec![OrderRow {
        after: Vec::new(),
        ..row(1, "root".to_owned(), "root", true)
    }];
    rows.extend((0..applications).map(|index| row(index + 2, format!("app-{index:02}"), "root", index == 0)));
    rows.push(row(applications + 1, "tie".to_owned(), "app-00", false));
    rows.push(row(applications + 3, "last".to_owned(), "tie", true));
    ShownOrder {
        entry: "clusters/prod".to_owned(),
        verdict: Verdict::Converges,
        duration_s: Some(130.0),
        rows,
        others: Vec::new(),
    }
}

#[test]
fn many_tiers_that_are_alike_share_a_row() {
    insta::assert_snapshot!(order_to_text(&[large(45)], PLAIN));
    let all = order_to_text(
        &[large(45)],
        Style {
            verbose: true,
            ..PLAIN
        },
    );
    assert_eq!(
        all.matches("app-").count(),
        46,
        "each has its row, and one names app-00 again: {all}"
    );
}

#[test]
fn what_never_comes_up_stands_at_the_end() {
    let mut shown = large(2);
    let child = |tier: &str, what: &str, waiting_for, parent: &str| Tier {
        name: name(tier),
        state: TierState::Waiting,
        applied_at_s: None,
        ready_at_s: None,
        attempts: 0,
        failed_attempts: 0,
        depends_on: Vec::new(),
        proves: None,
        blast_radius: None,
        waiting_on: vec![WaitingOn {
            waiting_for,
            what: what.to_owned(),
            tier: Some(name(parent)),
        }],
    };
    shown.verdict = Verdict::Deadlock;
    shown.duration_s = None;
    shown.others = vec![
        child(
            "unborn",
            "Kustomization/flux-system/unborn",
            WaitingFor::Object,
            "root",
        ),
        child("kindless", "Profile.example.org", WaitingFor::Kind, "last"),
    ];
    insta::assert_snapshot!(order_to_text(&[shown], PLAIN));
}

#[test]
fn every_problem_of_a_list_has_its_sentence() {
    let reason = |tier: &str, why: &str| Reason {
        tier: name(tier),
        why: why.to_owned(),
    };
    let shown = ShownCheck {
        entry: "clusters/prod".to_owned(),
        file: "up.sh".to_owned(),
        list: HandList {
            form: ListForm::Shell,
            line: 3,
            entries: vec![ListEntry {
                text: "a".to_owned(),
                line: 3,
            }],
        },
        problems: vec![
            ListProblem::Missing {
                tier: name("cdi"),
                after: Some(name("config")),
                before: Some(name("vms")),
            },
            ListProblem::Missing {
                tier: name("lone"),
                after: None,
                before: None,
            },
            ListProblem::TooEarly {
                tier: name("vms"),
                line: 3,
                follows: vec![
                    reason("config", "dependsOn"),
                    reason("cdi", "brings kind DataVolume"),
                ],
            },
            ListProblem::TooLate {
                tier: name("cilium"),
                line: 9,
                precedes: vec![reason("platform", "dependsOn")],
            },
            ListProblem::Unknown {
                entry: "platfrom".to_owned(),
                line: 4,
                nearest: Some(name("platform")),
            },
            ListProblem::Unknown {
                entry: "$tier".to_owned(),
                line: 5,
                nearest: None,
            },
            ListProblem::Ambiguous {
                entry: "web".to_owned(),
                line: 6,
                tiers: vec![name("web"), TierName::new("other", "web")],
            },
            ListProblem::Twice {
                tier: name("config"),
                line: 8,
                first_line: 4,
            },
        ],
    };
    insta::assert_snapshot!(order_check_to_text(&[shown], PLAIN));
}
