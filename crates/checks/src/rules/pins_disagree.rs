//! One version in several files, and not the same one.

use firstpass_diagnostics::{Finding, Location, Severity};
use firstpass_render::{Pin, PinPlace};
use regex::Regex;

use crate::input::At as _;
use crate::{Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "pins-disagree",
    summary: "a version that `pins` in firstpass.yaml finds in several files, and not the same in all of them",
    severity: Severity::Warning,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/pins-disagree.md"),
    check,
};

/// Larger files hold no pins.
const FILE_BYTES_MAX: usize = 1024 * 1024;

fn check(input: &Context<'_>) -> Vec<Finding> {
    input
        .repository
        .config()
        .pins
        .iter()
        .flat_map(|pin| findings(input, pin))
        .collect()
}

/// A value and where it stands.
struct Found {
    value: String,
    place: Location,
}

fn findings(input: &Context<'_>, pin: &Pin) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut all: Vec<Found> = Vec::new();
    for place in &pin.places {
        let found = find(input, place);
        if found.is_empty() {
            let finding = RULE
                .finding(format!(
                    "the pattern for `{}` in `{}` matches nothing",
                    pin.name, place.file
                ))
                .with_why(
                    "a place that is not found is not compared, so the pin guards less than it seems to",
                )
                .with_help("correct the file or the pattern")
                .at(place.location.clone());
            findings.push(finding);
        }
        all.extend(found);
    }
    let Some((first, rest)) = all.split_first() else {
        return findings;
    };
    for other in rest.iter().filter(|other| other.value != first.value) {
        let Location { file, line, .. } = &first.place;
        let finding = RULE
            .finding(format!(
                "`{}` is `{}` here and `{}` in {file}:{line}",
                pin.name, other.value, first.value
            ))
            .with_why("`pins` in firstpass.yaml says that the files name one and the same version")
            .with_help("bring the files in line")
            .at(Some(other.place.clone()));
        findings.push(finding);
    }
    findings
}

fn find(input: &Context<'_>, place: &PinPlace) -> Vec<Found> {
    let Ok(pattern) = Regex::new(&place.pattern) else {
        // The reader of the configuration has refused it.
        return Vec::new();
    };
    let tree = input.repository.tree();
    let mut found = Vec::new();
    for file in firstpass_source::glob(&**tree, &place.file) {
        let Ok(bytes) = tree.read(&file) else { continue };
        if bytes.len() > FILE_BYTES_MAX {
            continue;
        }
        let text = String::from_utf8_lossy(&bytes);
        for captures in pattern.captures_iter(&text) {
            let Some(value) = captures.get(1).or_else(|| captures.get(0)) else {
                continue;
            };
            let before = &text[..value.start()];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            found.push(Found {
                value: value.as_str().to_owned(),
                place: Location::new(file.as_str(), number(line), number(column)),
            });
        }
    }
    found
}
