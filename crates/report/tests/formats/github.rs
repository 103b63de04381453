//! Workflow commands, read as the runner reads them (actions/runner, `ActionCommand.cs`): a line that begins with `::`
//! is a command, its properties are split at commas, and escapes are undone.

use std::collections::BTreeMap;

use crate::report::{HOSTILE, world};

struct Command {
    name: String,
    properties: BTreeMap<String, String>,
    data: String,
}

fn read(line: &str) -> Option<Command> {
    let rest = line.trim_start().strip_prefix("::")?;
    let (head, data) = rest.split_once("::").expect("a command ends with `::`");
    let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
    let properties = properties.split(',').filter(|part| !part.is_empty());
    Some(Command {
        name: name.to_owned(),
        properties: properties
            .map(|part| {
                let (key, value) = part.split_once('=').expect("a property has a value");
                (key.to_owned(), unescape(value))
            })
            .collect(),
        data: unescape(data),
    })
}

fn unescape(text: &str) -> String {
    [
        ("%0D", "\r"),
        ("%0A", "\n"),
        ("%3A", ":"),
        ("%2C", ","),
        ("%25", "%"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[test]
fn commands_read_back() {
    let world = world();
    let text = firstpass_report::to_github(&world.report, world.context());
    let commands: Vec<Command> = text.lines().filter_map(read).collect();
    let names: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
    assert_eq!(
        names,
        ["error", "error", "warning"],
        "the worst first, no notice without -v\n{text}"
    );
    let deadlock = commands
        .iter()
        .find(|command| command.properties["title"].starts_with("second-order"))
        .unwrap();
    assert_eq!(
        deadlock.properties["file"],
        "infra/flux/platform/the profiles.yaml"
    );
    assert_eq!(
        (
            deadlock.properties["line"].as_str(),
            deadlock.properties["col"].as_str()
        ),
        ("2", "7")
    );
    assert!(deadlock.data.starts_with("`StorageProfile` is a kind"));
    assert!(
        deadlock
            .data
            .contains("\nhelp: give the StorageProfiles a tier of their own:\n  dependsOn:")
    );
}

#[test]
fn text_of_the_repository_is_no_command() {
    let world = world();
    let text = firstpass_report::to_github(&world.report, world.context());
    let hostile = text
        .lines()
        .filter_map(read)
        .find(|command| command.data.starts_with("`x`"))
        .unwrap();
    assert_eq!(hostile.properties["file"], "infra/flux/a,b:c|`@me`%.yaml");
    assert!(HOSTILE.contains("::error::no%0A") && hostile.data.contains("\n\u{fffd}:error::no%0A"));
    for line in text.lines().filter(|line| read(line).is_none()) {
        assert!(line.starts_with("firstpass ") && !line.contains("##["), "{line}");
    }
}

#[test]
fn a_lot_of_findings_is_announced() {
    let mut world = world();
    let warning = world.report.clusters[1].findings[0].clone();
    world.report.clusters[1].findings = (0..11)
        .map(|line| {
            let mut finding = warning.clone().with_cause(format!("cause {line}"));
            finding.location.as_mut().unwrap().line = line + 1;
            finding
        })
        .collect();
    world.report.clusters.remove(0);
    let text = firstpass_report::to_github(&world.report, world.context());
    assert!(text.ends_with(
        "firstpass rehearse: 11 causes of severity warning; GitHub shows the first 10 of them as annotations\n"
    ));
}

#[test]
fn commands_as_they_are_seen() {
    let world = world();
    insta::assert_snapshot!(firstpass_report::to_github(&world.report, world.context()));
}
