//! `firstpass order`: the order in which tiers come up, a list kept by hand, and what un-wedges a stuck cluster.

use std::path::Path;

use firstpass_diagnostics::{ClusterReport, TierState};
use firstpass_object::TierName;
use firstpass_order::find_list;
use firstpass_rehearse::{Options, Script};
use firstpass_report::{
    OrderRow, ShownCheck, ShownOrder, ShownPreApply, order_check_to_json, order_check_to_text, order_to_json,
    order_to_text, pre_apply_to_json, pre_apply_to_yaml,
};

use crate::args::{Format, OrderArgs};
use crate::exit::{Exit, Failure};
use crate::prepare::{self, Session};
use crate::{output, show};

/// Prints the order of each cluster, or one of the two things that can be asked about it.
///
/// # Errors
/// If the repository or the list cannot be read, or the result cannot be written.
pub(crate) fn run(arguments: &OrderArgs) -> Result<Exit, Failure> {
    let session = Session::open(&arguments.common)?;
    let format = arguments.common.output.format;
    let style = show::style(&arguments.common.output);
    let (text, exit) = match &arguments.check {
        Some(file) => {
            let checks = check(&session, file, arguments.common.file_limit)?;
            let exit = exit_if(checks.iter().any(|check| !check.problems.is_empty()));
            match format {
                Format::Text => (order_check_to_text(&checks, style), exit),
                Format::Json => (order_check_to_json(&checks), exit),
            }
        }
        None if arguments.pre_apply => {
            let found = pre_apply(&session);
            let exit = exit_if(found.iter().any(|shown| !shown.found.still_stuck.is_empty()));
            match format {
                Format::Text => (pre_apply_to_yaml(&found), exit),
                Format::Json => (pre_apply_to_json(&found), exit),
            }
        }
        None => {
            let orders: Vec<ShownOrder> = session
                .entries
                .iter()
                .map(|entry| {
                    let script = session.script(session.prepare(entry, &[]));
                    let report = script.rehearse(&Options::default()).report;
                    order(&script, report)
                })
                .collect();
            let exit = exit_if(orders.iter().any(|order| order.verdict.is_failure()));
            match format {
                Format::Text => (order_to_text(&orders, style), exit),
                Format::Json => (order_to_json(&orders), exit),
            }
        }
    };
    output::write(&text, arguments.common.output.output.as_deref())?;
    Ok(exit)
}

fn exit_if(is_bad: bool) -> Exit {
    if is_bad { Exit::Findings } else { Exit::Clean }
}

fn order(script: &Script, report: ClusterReport) -> ShownOrder {
    let (ready, others): (Vec<_>, Vec<_>) = report
        .tiers
        .into_iter()
        .partition(|tier| tier.ready_at_s.is_some());
    let mut rows: Vec<OrderRow> = Vec::new();
    for tier in ready {
        let ready_at_s = tier.ready_at_s.unwrap_or_default();
        let place = match rows.last() {
            Some(row) if row.ready_at_s >= ready_at_s => row.place,
            _ => rows.len() + 1,
        };
        let parent = || {
            script
                .cluster
                .tier(&tier.name)
                .and_then(|tier| tier.parent.clone())
        };
        let after = if tier.depends_on.is_empty() {
            parent().into_iter().collect()
        } else {
            tier.depends_on
        };
        let ordered = rows
            .last()
            .is_none_or(|row| comes_after(script, &tier.name, &row.tier));
        rows.push(OrderRow {
            place,
            tier: tier.name,
            ready_at_s,
            after,
            ordered,
        });
    }
    let others = others
        .into_iter()
        .filter(|tier| tier.state != TierState::Suspended)
        .collect();
    ShownOrder {
        entry: report.entry,
        verdict: report.verdict,
        duration_s: report.duration_s,
        rows,
        others,
    }
}

/// Whether something guarantees that a tier is Ready after another.
fn comes_after(script: &Script, tier: &TierName, other: &TierName) -> bool {
    let tiers = &script.graph.tiers;
    let (Some(tier), Some(other)) = (tiers.find(tier), tiers.find(other)) else {
        return false;
    };
    tiers.before(tier).certainty(other).is_some() || tiers.gated(tier).contains(&other)
}

fn check(session: &Session, file: &Path, file_limit: Option<u64>) -> Result<Vec<ShownCheck>, Failure> {
    let text = String::from_utf8_lossy(&prepare::read(file, file_limit)?).into_owned();
    let check = |entry| {
        let prepared = session.prepare(entry, &[]);
        let list = find_list(&text, &prepared.graph.tiers).ok_or_else(|| {
            Failure::input_with_help(
                format!("`{}` holds no list that names a tier of `{}`", file.display(), entry.path()),
                "write an array in a shell script, a YAML list, or one name per line; `firstpass order` prints the names",
            )
        })?;
        let problems = list.problems(&prepared.graph);
        Ok(ShownCheck {
            entry: entry.path().to_owned(),
            file: file.display().to_string(),
            list,
            problems,
        })
    };
    session.entries.iter().map(check).collect()
}

fn pre_apply(session: &Session) -> Vec<ShownPreApply> {
    let of = |entry: &firstpass_render::Entry| {
        let rehearsal = session
            .script(session.prepare(entry, &[]))
            .rehearse(&Options::default());
        let tiers = rehearsal
            .report
            .tiers
            .iter()
            .filter(|tier| tier.state != TierState::Suspended)
            .count();
        ShownPreApply {
            entry: entry.path().to_owned(),
            verdict: rehearsal.report.verdict,
            tiers,
            found: rehearsal.pre_apply(),
        }
    };
    session.entries.iter().map(of).collect()
}
