//! `firstpass rehearse`: the cold start, played.

use firstpass_apiserver::Duration;
use firstpass_flux::Duration as FluxDuration;
use firstpass_object::GroupKind;
use firstpass_rehearse::{BrokenLaw, FaultError, Options, Troubles};
use firstpass_report::Places;

use crate::args::RehearseArgs;
use crate::build::find_tier;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::prepare::Session;
use crate::rules;
use crate::show::{self, Shown};

/// Rehearses the clusters and prints what came of it.
///
/// # Errors
/// If the repository cannot be read, an argument means nothing, or the result cannot be written.
pub(crate) fn run(arguments: &RehearseArgs) -> Result<Exit, Failure> {
    let session = Session::open(&arguments.common)?;
    let options = Options {
        seed: arguments.schedules.seed,
        schedules: arguments.schedules.schedules,
        until: until(&arguments.until)?,
        troubles: Troubles::default(),
    };
    let warm = arguments
        .with_kind
        .iter()
        .map(|typed| kind(&session, typed))
        .collect::<Result<Vec<_>, _>>()?;
    let mut places = Places::default();
    let (mut reports, mut traces, mut reasons) = (Vec::new(), String::new(), String::new());
    let mut has_broken_laws = false;
    for entry in &session.entries {
        let script = session.script(session.prepare(entry, &warm));
        let troubles = script
            .faults(&arguments.faults)
            .map_err(|FaultError { message, help }| {
                Failure::input_with_help(format!("--faults: {message}"), help)
            })?;
        let rehearsal = script.rehearse(&Options {
            troubles,
            ..options.clone()
        });
        for BrokenLaw { broken, seed } in &rehearsal.broken {
            let path = entry.path();
            anstream::eprintln!("{path}: the run of seed {seed} broke a law of the simulator: {broken}");
        }
        has_broken_laws |= !rehearsal.broken.is_empty();
        if arguments.trace.is_some() {
            if session.entries.len() > 1 {
                traces.push_str(&format!("# {}\n", entry.path()));
            }
            traces.push_str(&rehearsal.trace());
        }
        if let Some(typed) = &arguments.why {
            let tier = find_tier(&script.cluster, typed)?;
            if session.entries.len() > 1 {
                reasons.push_str(&format!("# {}\n", entry.path()));
            }
            reasons.push_str(
                &rehearsal
                    .why(&tier)
                    .unwrap_or_else(|| format!("`{tier}` was never created\n")),
            );
        }
        let mut report = rehearsal.report.clone();
        report.findings = session.at_their_levels(report.findings);
        show::add_places(&mut places, &report, &script.cluster);
        reports.push(report);
        // Freeing a large cluster takes a while, and nothing waits for it.
        rayon::spawn(move || drop((rehearsal, script)));
    }
    let rules = rules::all();
    session.suppress(&mut reports, &rules);
    if let Some(file) = &arguments.trace {
        output::write(&traces, Some(file))?;
    }
    if has_broken_laws {
        return Err(Failure::Internal);
    }
    if arguments.why.is_some() {
        output::write(&reasons, arguments.common.output.output.as_deref())?;
        return Ok(show::exit_of(&reports, arguments.fail.fail_on));
    }
    show::report(
        "rehearse",
        reports,
        &Shown {
            session: &session,
            places: &places,
            rules: &rules,
        },
        &arguments.common.output,
        arguments.fail.fail_on,
    )
}

fn until(typed: &str) -> Result<Duration, Failure> {
    let parsed: Result<FluxDuration, _> = typed.parse();
    match parsed {
        Ok(duration) if duration.as_secs_f64() > 0.0 => {
            Ok(Duration::from_secs(duration.as_secs_f64().ceil() as u64))
        }
        _ => Err(Failure::input_with_help(
            format!("`--until {typed}` is no time"),
            "write it like `30m` or `12h`",
        )),
    }
}

/// `Kind.group` of a kind that knowledge knows.
fn kind(session: &Session, typed: &str) -> Result<GroupKind, Failure> {
    let known = typed
        .split_once('.')
        .filter(|(kind, group)| session.knowledge.custom_kind(group, kind).is_some());
    known
        .map(|(kind, group)| GroupKind::new(group, kind))
        .ok_or_else(|| {
            Failure::input_with_help(
                format!("`--with-kind {typed}` names no kind that is known"),
                "write it like `StorageProfile.cdi.kubevirt.io`; `--knowledge FILE` adds kinds",
            )
        })
}
