//! `firstpass gate`: every level for every cluster as named tests, and the requirements that they hold.

use firstpass_diagnostics::{ClusterReport, Finding, Report, Severity};
use firstpass_rehearse::{Options, Script};
use firstpass_report::{
    Context, Gate, GateTest, HeldBy, HeldRequirement, Outcome, Places, gate_to_concise, gate_to_github,
    gate_to_json, gate_to_junit, gate_to_markdown, gate_to_sarif, gate_to_text, said_of,
};
use firstpass_source::RepoPath;

use crate::args::{Common, FailOn, GateArgs, ReportFormat};
use crate::conformance::{Conformance, FILE, Level, Names, Story};
use crate::exit::{Exit, Failure};
use crate::prepare::{self, Session};
use crate::{check, output, repository, rules, show, transition};

/// Runs everything and prints one summary.
///
/// # Errors
/// If the repository or the mapping cannot be read, or the result not written.
pub(crate) fn run(arguments: &GateArgs) -> Result<Exit, Failure> {
    let session = Session::open(&arguments.common)?;
    let rules = Rules::new();
    let conformance = conformance(&session, arguments, &rules)?;
    let base = transition::base(&session, arguments)?;
    let Levels {
        tests,
        checks,
        rehearsals,
        places,
    } = levels(&session, base.as_ref(), &rules, arguments);
    let mut gate = Gate {
        tests,
        checks,
        rehearsals: Report::new("gate", env!("CARGO_PKG_VERSION"), rehearsals),
        requirements: Vec::new(),
    };
    for (name, story) in &conformance.stories {
        gate.tests.push(told(name, story, &session, &rules, arguments)?);
    }
    gate.requirements = held(&conformance, &gate);
    output::write(
        &shown(&gate, &session, &places, &rules, arguments),
        arguments.common.output.output.as_deref(),
    )?;
    Ok(if gate.has_failed() && arguments.fail.fail_on != FailOn::Never {
        Exit::Findings
    } else {
        Exit::Clean
    })
}

/// The rules of both levels.
struct Rules {
    of_files: Vec<firstpass_report::RuleInfo>,
    all: Vec<firstpass_report::RuleInfo>,
}

impl Rules {
    fn new() -> Rules {
        Rules {
            of_files: rules::of_files(),
            all: rules::all(),
        }
    }
}

fn conformance(session: &Session, arguments: &GateArgs, rules: &Rules) -> Result<Conformance, Failure> {
    let static_rules: Vec<&str> = rules.of_files.iter().map(|rule| rule.name).collect();
    let all_rules: Vec<&str> = rules.all.iter().map(|rule| rule.name).collect();
    let names = Names {
        static_rules: &static_rules,
        all_rules: &all_rules,
    };
    if let Some(file) = &arguments.conformance {
        let bytes = prepare::read(file, arguments.common.file_limit)?;
        return Conformance::parse(&bytes, &file.display().to_string(), &names);
    }
    let path = RepoPath::clamped(FILE);
    let tree = session.repository.tree();
    if !tree.is_file(&path) {
        return Ok(Conformance::default());
    }
    let bytes = tree
        .read(&path)
        .map_err(|error| Failure::input(error.to_string()))?;
    Conformance::parse(&bytes, FILE, &names)
}

/// What the three levels came to, cluster by cluster.
struct Levels {
    tests: Vec<GateTest>,
    checks: Vec<ClusterReport>,
    rehearsals: Vec<ClusterReport>,
    places: Places,
}

/// Every cluster is prepared once, for all levels.
fn levels(session: &Session, base: Option<&Session>, rules: &Rules, arguments: &GateArgs) -> Levels {
    let fail_on = arguments.fail.fail_on;
    let (mut checks, mut rehearsals, mut transitions) = (Vec::new(), Vec::new(), Vec::new());
    let mut places = Places::default();
    for entry in &session.entries {
        let prepared = session.prepare_with_coverage(entry);
        let check = check::report(entry, &prepared);
        show::add_places(&mut places, &check, &prepared.cluster);
        checks.push(check);
        let script = session.script(prepared);
        rehearsals.push(rehearsal(session, &script, arguments));
        transitions.push(transition::test(base, entry, &script, fail_on));
    }
    session.suppress(&mut checks, &rules.of_files);
    session.suppress(&mut rehearsals, &rules.all);
    let test = |name: &str, report: &ClusterReport| GateTest {
        name: name.to_owned(),
        cluster: report.entry.clone(),
        outcome: match show::exit_of(std::slice::from_ref(report), fail_on) {
            Exit::Clean => Outcome::Passed,
            Exit::Findings => Outcome::Failed,
        },
        said: said_of(report),
    };
    let mut tests = Vec::new();
    for ((check, rehearsal), transition) in checks.iter().zip(&rehearsals).zip(transitions) {
        tests.extend([test("static", check), test("rehearsal", rehearsal), transition]);
    }
    Levels {
        tests,
        checks,
        rehearsals,
        places,
    }
}

fn rehearsal(session: &Session, script: &Script, arguments: &GateArgs) -> ClusterReport {
    let options = Options {
        seed: arguments.schedules.seed,
        schedules: arguments.schedules.schedules,
        ..Options::default()
    };
    let mut report = script.rehearse(&options).report;
    report.findings = session.at_their_levels(report.findings);
    report
}

/// One story: the repository with its overlay, and whether it comes to what is expected.
fn told(
    name: &str,
    story: &Story,
    session: &Session,
    rules: &Rules,
    arguments: &GateArgs,
) -> Result<GateTest, Failure> {
    let test = |outcome, said: String| GateTest {
        name: format!("story/{name}"),
        cluster: story.entry.clone(),
        outcome,
        said,
    };
    if arguments.common.overlay.is_some() {
        return Ok(test(
            Outcome::Skipped,
            "a story is an overlay, and another one was asked for".to_owned(),
        ));
    }
    if !session
        .entries
        .iter()
        .any(|entry| entry.path() == story.entry.trim_end_matches('/'))
    {
        return Ok(test(Outcome::Skipped, "its cluster was not asked for".to_owned()));
    }
    let common = Common {
        entries: vec![story.entry.clone()],
        root: Some(session.root.clone()),
        overlay: Some(session.root.join(&story.overlay)),
        ..arguments.common.clone()
    };
    let session = Session::open(&common)?;
    let reports = match story.level {
        Level::Static => check::reports(&session, &rules.of_files).0,
        Level::Rehearsal => {
            let script = |entry| session.script(session.prepare(entry, &[]));
            let entries = session.entries.iter();
            let mut reports: Vec<ClusterReport> = entries
                .map(|entry| rehearsal(&session, &script(entry), arguments))
                .collect();
            session.suppress(&mut reports, &rules.all);
            reports
        }
    };
    let Some(report) = reports.first() else {
        return Ok(test(Outcome::Failed, "it has no cluster".to_owned()));
    };
    let said = said_of(report);
    if report.verdict != story.expect {
        return Ok(test(
            Outcome::Failed,
            format!("{said}; expected is {}", story.expect),
        ));
    }
    let speaks = |rule: &String| {
        report
            .findings
            .iter()
            .any(|finding| finding.rule == *rule && is_loud(finding))
    };
    match story.finds.as_ref().filter(|rule| !speaks(rule)) {
        Some(rule) => Ok(test(
            Outcome::Failed,
            format!("{said}; expected is a finding of `{rule}`"),
        )),
        None => Ok(test(Outcome::Passed, format!("{said}, as expected"))),
    }
}

/// What the tests say about each requirement.
fn held(conformance: &Conformance, gate: &Gate) -> Vec<HeldRequirement> {
    let requirements = conformance.requirements.iter().map(|(id, requirement)| {
        let tests: Vec<HeldBy> = requirement.tests.iter().map(|test| held_by(test, gate)).collect();
        HeldRequirement {
            id: id.clone(),
            says: requirement.says.clone(),
            outcome: tests
                .iter()
                .map(|test| test.outcome)
                .max()
                .unwrap_or(Outcome::Skipped),
            tests,
        }
    });
    requirements.collect()
}

/// The worst of a test over all clusters. A rule holds if it says nothing at warning or above: whoever maps a
/// requirement to it means it.
fn held_by(test: &str, gate: &Gate) -> HeldBy {
    let of_rule = |reports: &[ClusterReport], rule: &str| {
        let found = reports.iter().find_map(|report| {
            let mut findings = report.findings.iter();
            let finding = findings.find(|finding| finding.rule == rule && is_loud(finding))?;
            Some(format!("{}: {}", report.entry, finding.message))
        });
        match found {
            Some(said) => (Outcome::Failed, said),
            None => (Outcome::Passed, String::new()),
        }
    };
    let (outcome, said) = match test.split_once('/') {
        Some(("static", rule)) => of_rule(&gate.checks, rule),
        Some(("rehearsal", rule)) => of_rule(&gate.rehearsals.clusters, rule),
        _ => {
            let worst = gate
                .tests
                .iter()
                .filter(|it| it.name == test)
                .max_by_key(|it| it.outcome);
            match worst {
                Some(worst) if worst.outcome == Outcome::Passed => (Outcome::Passed, String::new()),
                Some(worst) => (worst.outcome, format!("{}: {}", worst.cluster, worst.said)),
                None => (Outcome::Skipped, "it did not run".to_owned()),
            }
        }
    };
    HeldBy {
        test: test.to_owned(),
        outcome,
        said,
    }
}

fn is_loud(finding: &Finding) -> bool {
    finding.severity >= Severity::Warning
}

fn shown(gate: &Gate, session: &Session, places: &Places, rules: &Rules, arguments: &GateArgs) -> String {
    let tree = &**session.repository.tree();
    let prefix = repository::prefix_in_checkout(&session.root);
    let style = show::style(&arguments.common.output);
    let context = Context {
        tree,
        rules: &rules.all,
        places,
        prefix: &prefix,
        threshold: show::threshold(arguments.fail.fail_on),
        verbose: arguments.common.output.verbose,
    };
    match arguments.common.output.format {
        ReportFormat::Text => gate_to_text(gate, tree, style),
        ReportFormat::Concise => gate_to_concise(gate, style),
        ReportFormat::Json => gate_to_json(gate),
        ReportFormat::Sarif => gate_to_sarif(gate, context),
        ReportFormat::Junit => gate_to_junit(gate, &rules.of_files, context),
        ReportFormat::Github => gate_to_github(gate, context),
        ReportFormat::Markdown => gate_to_markdown(gate, context),
    }
}
