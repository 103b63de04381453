//! SARIF, read by structs that know the standard's required properties and nothing that we did not mean to write.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_diagnostics::{SuppressedBy, SuppressedFinding};
use serde::Deserialize;
use serde_json::Value;

use crate::report::{HOSTILE, world};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Log {
    #[serde(rename = "$schema")]
    schema: String,
    version: String,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Run {
    tool: Tool,
    automation_details: BTreeMap<String, String>,
    invocations: Vec<Invocation>,
    column_kind: ColumnKind,
    results: Vec<Finding>,
    properties: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum ColumnKind {
    UnicodeCodePoints,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    driver: Driver,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Driver {
    name: String,
    version: String,
    semantic_version: String,
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Rule {
    id: String,
    short_description: Option<Text>,
    full_description: Option<Text>,
    help: Option<Text>,
    default_configuration: Option<Configuration>,
    #[serde(default)]
    properties: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    level: Level,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
enum Level {
    None,
    Note,
    Warning,
    Error,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    text: String,
    markdown: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Finding {
    rule_id: String,
    rule_index: usize,
    level: Level,
    message: Text,
    locations: Vec<Location>,
    #[serde(default)]
    related_locations: Vec<Location>,
    partial_fingerprints: BTreeMap<String, String>,
    suppressions: Option<Vec<Suppression>>,
    properties: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Suppression {
    kind: SuppressionKind,
    justification: String,
    location: Location,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
enum SuppressionKind {
    InSource,
    External,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Location {
    id: Option<u64>,
    physical_location: Physical,
    #[serde(default)]
    logical_locations: Vec<Logical>,
    message: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Physical {
    artifact_location: Artifact,
    region: Option<Region>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Artifact {
    uri: String,
    uri_base_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Region {
    start_line: u32,
    start_column: u32,
    end_column: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Logical {
    fully_qualified_name: String,
    kind: String,
}

fn read(text: &str) -> Log {
    let log: Log = serde_json::from_str(text).unwrap();
    assert!(log.schema.ends_with("sarif-schema-2.1.0.json"));
    assert_eq!(log.version, "2.1.0");
    for run in &log.runs {
        let driver = &run.tool.driver;
        assert!(!driver.name.is_empty() && !driver.version.is_empty() && !driver.semantic_version.is_empty());
        assert!(matches!(run.column_kind, ColumnKind::UnicodeCodePoints));
        assert!(
            run.invocations
                .iter()
                .all(|invocation| invocation.execution_successful)
        );
        assert!(run.automation_details["id"].ends_with('/'));
        let ids: BTreeSet<&str> = driver.rules.iter().map(|rule| rule.id.as_str()).collect();
        assert_eq!(ids.len(), driver.rules.len(), "rules are unique");
        for finding in &run.results {
            read_finding(driver, finding);
        }
    }
    log
}

fn read_finding(driver: &Driver, finding: &Finding) {
    assert_eq!(driver.rules[finding.rule_index].id, finding.rule_id);
    assert!(!finding.message.text.is_empty() && finding.message.markdown.is_none());
    assert_eq!(finding.locations.len(), 1, "code hosts want one place");
    assert!(
        finding
            .partial_fingerprints
            .values()
            .all(|print| !print.is_empty())
    );
    let ids: Vec<u64> = finding
        .related_locations
        .iter()
        .filter_map(|location| location.id)
        .collect();
    assert_eq!(ids.len(), finding.related_locations.len());
    assert_eq!(
        ids.iter().collect::<BTreeSet<_>>().len(),
        ids.len(),
        "ids are unique in a result"
    );
    for location in finding.locations.iter().chain(&finding.related_locations) {
        let artifact = &location.physical_location.artifact_location;
        assert_eq!(artifact.uri_base_id, "%SRCROOT%");
        assert!(
            !artifact.uri.starts_with('/') && !artifact.uri.contains(':'),
            "{}",
            artifact.uri
        );
        assert!(
            artifact
                .uri
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && !b"\\\"<>^`{|}".contains(&byte))
        );
        if let Some(region) = &location.physical_location.region {
            assert!(region.start_line >= 1 && region.start_column >= 1);
            assert!(region.end_column.is_none_or(|end| end > region.start_column));
        }
        for logical in &location.logical_locations {
            assert!(!logical.fully_qualified_name.is_empty());
            assert!(["object", "module"].contains(&logical.kind.as_str()));
        }
        assert!(
            location
                .message
                .as_ref()
                .is_none_or(|message| !message.text.is_empty())
        );
    }
}

#[test]
fn every_finding_reads_back() {
    let world = world();
    let log = read(&firstpass_report::to_sarif(&world.report, world.context()));
    let [run] = log.runs.as_slice() else {
        panic!("one run");
    };
    // Two clusters share one.
    assert_eq!(run.results.len(), 5);
    let of_rule = |rule: &str| {
        run.results
            .iter()
            .find(|finding| finding.rule_id == rule)
            .unwrap()
    };

    let deadlock = of_rule("second-order-kind-in-same-pass");
    assert_eq!(deadlock.level, Level::Error);
    assert_eq!(deadlock.properties["verdict"], "deadlock");
    assert_eq!(deadlock.properties["tier"], "flux-system/platform-config");
    assert_eq!(
        deadlock.properties["clusters"],
        serde_json::json!(["clusters/prod"])
    );
    let place = &deadlock.locations[0].physical_location;
    assert_eq!(
        place.artifact_location.uri,
        "infra/flux/platform/the%20profiles.yaml"
    );
    let region = place.region.as_ref().unwrap();
    assert_eq!(
        (region.start_line, region.start_column, region.end_column),
        (2, 7, Some(21))
    );
    let related: Vec<&str> = deadlock
        .related_locations
        .iter()
        .map(|location| location.message.as_ref().unwrap().text.as_str())
        .collect();
    assert_eq!(related, ["CDI/cdi takes part", "flux-system/apps never applies"]);

    let shared = of_rule("kind-without-barrier");
    assert_eq!(
        shared.properties["clusters"],
        serde_json::json!(["clusters/prod", "clusters/dev"])
    );
    let placeless = of_rule("suspended");
    assert_eq!(placeless.level, Level::Note);
    assert_eq!(
        placeless.locations[0].physical_location.artifact_location.uri,
        "infra/flux/clusters/prod"
    );

    let rule = &run.tool.driver.rules[shared.rule_index];
    assert_eq!(rule.short_description.as_ref().unwrap().text.len(), 66);
    assert_eq!(
        rule.full_description.as_ref().unwrap().text,
        "It comes up by luck."
    );
    assert!(
        rule.help
            .as_ref()
            .unwrap()
            .markdown
            .as_ref()
            .unwrap()
            .starts_with("# kind-")
    );
    assert_eq!(rule.default_configuration.as_ref().unwrap().level, Level::Warning);
    assert_eq!(rule.properties["tags"], serde_json::json!(["flux", "hazard"]));
    assert_eq!(run.properties["clusters"][0]["verdict"], "deadlock");
}

#[test]
fn suppressed_findings_stay_visible() {
    let mut world = world();
    let cluster = &mut world.report.clusters[0];
    for by in [SuppressedBy::Comment, SuppressedBy::Configuration] {
        let finding = cluster.findings.remove(0);
        cluster.suppressed.push(SuppressedFinding {
            finding,
            by,
            reason: "it is so".to_owned(),
            location: firstpass_diagnostics::Location::new("a.yaml", 3, 1),
        });
    }
    let log = read(&firstpass_report::to_sarif(&world.report, world.context()));
    let results = &log.runs[0].results;
    assert_eq!(results.len(), 5);
    let suppressions = results.iter().filter_map(|result| result.suppressions.as_ref());
    let kinds: Vec<&SuppressionKind> = suppressions
        .flatten()
        .map(|suppression| {
            assert_eq!(suppression.justification, "it is so");
            assert!(suppression.location.physical_location.region.is_some());
            &suppression.kind
        })
        .collect();
    assert_eq!(kinds, [&SuppressionKind::InSource, &SuppressionKind::External]);
}

#[test]
fn text_of_the_repository_makes_no_links_and_shows_no_secret() {
    let world = world();
    let text = firstpass_report::to_sarif(&world.report, world.context());
    let log = read(&text);
    let hostile = log.runs[0]
        .results
        .iter()
        .find(|finding| finding.rule_id == "not-listed")
        .unwrap();
    assert!(HOSTILE.contains("](http") && !hostile.message.text.replace("\\](", "").contains("]("));
    assert!(!text.contains("hunter2"));
    let region = hostile.locations[0].physical_location.region.as_ref().unwrap();
    assert_eq!(region.end_column, None, "not even how long the secret is");
}

#[test]
fn fingerprints_stay_when_lines_move_and_differ_otherwise() {
    let prints = |lines: u32| {
        let mut world = world();
        for finding in world
            .report
            .clusters
            .iter_mut()
            .flat_map(|cluster| &mut cluster.findings)
        {
            if let Some(location) = &mut finding.location {
                location.line += lines;
            }
        }
        let log = read(&firstpass_report::to_sarif(&world.report, world.context()));
        let results = log.runs.into_iter().flat_map(|run| run.results);
        let print = |finding: Finding| finding.partial_fingerprints["firstpassFinding/v1"].clone();
        results.map(print).collect::<Vec<_>>()
    };
    let before = prints(0);
    assert_eq!(before, prints(12));
    assert_eq!(before.iter().collect::<BTreeSet<_>>().len(), before.len());
}
