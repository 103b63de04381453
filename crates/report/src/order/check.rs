//! A list of tiers that somebody keeps by hand, and in what it differs from the graph.

use std::fmt::Write as _;

use firstpass_order::{ListForm, ListProblem, Reason};
use serde::Serialize;

use super::ShownCheck;
use crate::clean::clean;
use crate::text::{Paint, Style};
use crate::wrap::wrap;

#[derive(Serialize)]
pub(super) struct Json<'a> {
    entry: &'a str,
    file: &'a str,
    line: u32,
    form: ListForm,
    list: Vec<&'a str>,
    problems: &'a [ListProblem],
}

pub(super) fn json(shown: &ShownCheck) -> Json<'_> {
    Json {
        entry: &shown.entry,
        file: &shown.file,
        line: shown.list.line,
        form: shown.list.form,
        list: shown
            .list
            .entries
            .iter()
            .map(|entry| entry.text.as_str())
            .collect(),
        problems: &shown.problems,
    }
}

pub(super) fn text(shown: &ShownCheck, style: Style) -> String {
    let ShownCheck {
        entry,
        file,
        list,
        problems,
    } = shown;
    let entry = if entry.is_empty() { "." } else { entry };
    let place = format!("{file}:{}", list.line);
    let length = list.entries.len();
    if problems.is_empty() {
        let line = format!("{place}: the list of {length} agrees with {entry}");
        return format!("{}\n", style.paint(Paint::Good, &clean(&line)));
    }
    let count = if problems.len() == 1 {
        "1 difference".to_owned()
    } else {
        format!("{} differences", problems.len())
    };
    let head = format!("{place}: the list of {length} and {entry} have {count}");
    let mut text = format!("{}\n", style.paint(Paint::Bad, &clean(&head)));
    for problem in problems {
        let line = sentence(problem, list.line);
        let lines = wrap(&clean(&format!("{file}:{line}")), style.width.saturating_sub(6)).join("\n      ");
        let _ = writeln!(text, "  {lines}");
    }
    text
}

/// The line, and what is wrong there.
fn sentence(problem: &ListProblem, first_line: u32) -> String {
    match problem {
        ListProblem::Missing { tier, after, before } => {
            let place = match (after, before) {
                (Some(after), Some(before)) => format!("; it belongs after `{after}` and before `{before}`"),
                (Some(after), None) => format!("; it belongs after `{after}`"),
                (None, Some(before)) => format!("; it belongs before `{before}`"),
                (None, None) => String::new(),
            };
            format!("{first_line}: `{tier}` is missing{place}")
        }
        ListProblem::TooEarly { tier, line, follows } => {
            format!("{line}: `{tier}` stands too early, before {}", reasons(follows))
        }
        ListProblem::TooLate { tier, line, precedes } => {
            format!("{line}: `{tier}` stands too late, behind {}", reasons(precedes))
        }
        ListProblem::Unknown { entry, line, nearest } => {
            let hint = nearest
                .as_ref()
                .map(|nearest| format!("; did you mean `{nearest}`?"));
            format!("{line}: `{entry}` is no tier{}", hint.unwrap_or_default())
        }
        ListProblem::Ambiguous { entry, line, tiers } => {
            let names: Vec<String> = tiers.iter().map(|tier| format!("`{tier}`")).collect();
            format!("{line}: `{entry}` names several tiers: {}", names.join(", "))
        }
        ListProblem::Twice {
            tier,
            line,
            first_line,
        } => {
            format!("{line}: `{tier}` is listed a second time, after line {first_line}")
        }
    }
}

fn reasons(reasons: &[Reason]) -> String {
    let words = reasons
        .iter()
        .map(|reason| format!("`{}` ({})", reason.tier, reason.why));
    words.collect::<Vec<_>>().join(", ")
}
