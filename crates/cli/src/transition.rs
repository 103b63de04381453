//! The third level of the gate: a cluster at the revision before takes the one at hand.

use firstpass_diagnostics::duration_text;
use firstpass_rehearse::{Gap, Script, Transition};
use firstpass_render::Entry;
use firstpass_report::{GateTest, Outcome, said_of};

use crate::args::{Common, FailOn, FromArgs, GateArgs, ReportFormat};
use crate::exit::{Exit, Failure};
use crate::prepare::Session;
use crate::show;

/// Why it does not run.
const NO_BASE: &str = "no revision to come from: `--from-dir` or `--from-overlay` names one";

/// Gaps beyond this many are counted.
const GAPS_SHOWN: usize = 3;

/// The revision before, opened; `None` if none was named.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn base(session: &Session, arguments: &GateArgs) -> Result<Option<Session>, Failure> {
    let common = |root, overlay| Common::<ReportFormat> {
        entries: Vec::new(),
        root: Some(root),
        overlay,
        ..arguments.common.clone()
    };
    let FromArgs {
        from_dir,
        from_overlay,
    } = &arguments.from;
    let common = match (from_dir, from_overlay) {
        (Some(directory), _) => common(directory.clone(), None),
        (None, Some(overlay)) => common(session.root.clone(), Some(overlay.clone())),
        (None, None) => return Ok(None),
    };
    Session::open(&common).map(Some)
}

/// Plays the move of one cluster to the revision at hand.
pub(crate) fn test(base: Option<&Session>, entry: &Entry, to: &Script, fail_on: FailOn) -> GateTest {
    let (outcome, said) = match base {
        None => (Outcome::Skipped, NO_BASE.to_owned()),
        Some(base) => match base.repository.entry(&entry.directory) {
            Err(_) => (
                Outcome::Skipped,
                "the revision before does not have this cluster".to_owned(),
            ),
            Ok(before) => {
                let from = base.script(base.prepare(&before, &[]));
                judge(&from.transition(to), fail_on)
            }
        },
    };
    GateTest {
        name: "transition".to_owned(),
        cluster: entry.path().to_owned(),
        outcome,
        said,
    }
}

/// It passes if every tier takes the new revision and nothing that both revisions declare goes missing on the way.
fn judge(transition: &Transition, fail_on: FailOn) -> (Outcome, String) {
    let Transition {
        before,
        after,
        gaps,
        pruned,
    } = transition;
    let mut said = said_of(after);
    if before.verdict.is_failure() {
        said = format!("{said}; the revision before was {} itself", before.verdict);
    }
    if !gaps.is_empty() {
        let shown: Vec<String> = gaps.iter().take(GAPS_SHOWN).map(in_words).collect();
        said = format!("{said}; {}", shown.join("; "));
        if gaps.len() > GAPS_SHOWN {
            said = format!("{said}; and {} more", gaps.len() - GAPS_SHOWN);
        }
    }
    match pruned.len() {
        0 => {}
        1 => said = format!("{said}; 1 object pruned: {}", pruned[0]),
        count => said = format!("{said}; {count} objects pruned"),
    }
    let fails = show::exit_of(std::slice::from_ref(after), fail_on) == Exit::Findings || !gaps.is_empty();
    let outcome = if fails { Outcome::Failed } else { Outcome::Passed };
    (outcome, said)
}

fn in_words(gap: &Gap) -> String {
    let Gap { object, window_s } = gap;
    match window_s {
        Some(seconds) => format!("{object} is deleted and missing for {}", duration_text(*seconds)),
        None => format!("{object} is deleted and does not come back"),
    }
}
