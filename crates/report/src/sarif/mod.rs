//! The report as SARIF 2.1.0, for code hosts and editors.
//!
//! One run. A result is a finding with all clusters that have it: their files are the same. Paths are those of the
//! checkout, which is what code hosts resolve them against.

mod fingerprint;
mod model;

use std::collections::BTreeMap;

use firstpass_diagnostics::{Finding, Location, Report, Severity, SuppressedBy, SuppressedFinding};
use serde_json::{Value, json};

use self::model::{
    ArtifactLocation, AutomationDetails, Configuration, Driver, Invocation, Log, LogicalLocation,
    PhysicalLocation, Region, ReportingDescriptor, Run, SarifLocation, SarifResult, Suppression, Text, Tool,
};
use crate::clean::clean;
use crate::context::Context;
use crate::findings::{is_about_secret, source_line};
use crate::merged::{self, Merged};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The name of the root of the checkout; whoever reads the file knows where that is.
const BASE: &str = "%SRCROOT%";

/// Related places beyond this many are left out; the JSON report names them all.
const RELATED_MAX: usize = 20;

/// The report as a SARIF log.
///
/// # Panics
/// Never: every part of a log can be written as JSON.
pub fn to_sarif(report: &Report, context: Context<'_>) -> String {
    let mut merged = merged::findings(report);
    merged.extend(merged::suppressed(report));
    let mut rules: Vec<&str> = merged.iter().map(|merged| merged.finding.rule.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let results = merged.iter().map(|merged| {
        let nth = seen.entry(fingerprint::of(merged.finding, 0)).or_default();
        *nth += 1;
        let index = rules
            .binary_search(&merged.finding.rule.as_str())
            .unwrap_or_default();
        result(merged, index, *nth, context)
    });
    let run = Run {
        results: results.collect(),
        tool: Tool {
            driver: Driver {
                name: report.tool.name.clone(),
                version: report.tool.version.clone(),
                semantic_version: report.tool.version.clone(),
                rules: rules.iter().map(|name| descriptor(name, context)).collect(),
            },
        },
        automation_details: AutomationDetails {
            id: format!("firstpass/{}/", report.command),
        },
        invocations: vec![Invocation {
            execution_successful: true,
        }],
        column_kind: "unicodeCodePoints",
        properties: BTreeMap::from([("clusters", clusters(report))]),
    };
    let log = Log {
        schema: SCHEMA,
        version: "2.1.0",
        runs: vec![run],
    };
    let mut text = serde_json::to_string_pretty(&log).expect("a log holds nothing that JSON cannot");
    text.push('\n');
    text
}

/// What came of each cluster: SARIF has no place of its own for that.
fn clusters(report: &Report) -> Value {
    let clusters = report.clusters.iter().map(|cluster| {
        json!({
            "entry": cluster.entry,
            "verdict": cluster.verdict,
            "duration_s": cluster.duration_s,
            "baseline": cluster.baseline,
        })
    });
    clusters.collect()
}

fn descriptor(name: &str, context: Context<'_>) -> ReportingDescriptor {
    let text = |text: &str| Text {
        text: text.to_owned(),
        markdown: None,
    };
    let Some(rule) = context.rule(name) else {
        return ReportingDescriptor {
            id: name.to_owned(),
            short_description: None,
            full_description: None,
            help: None,
            default_configuration: None,
            properties: BTreeMap::new(),
        };
    };
    let mut tags = vec!["flux".to_owned()];
    tags.extend(rule.verdict.map(|verdict| verdict.to_string()));
    ReportingDescriptor {
        id: name.to_owned(),
        short_description: Some(text(rule.summary)),
        full_description: Some(text(
            &why_it_hurts(rule.page).unwrap_or_else(|| rule.summary.to_owned()),
        )),
        help: Some(Text {
            text: rule.page.to_owned(),
            markdown: Some(rule.page.to_owned()),
        }),
        default_configuration: Some(Configuration {
            level: level(rule.severity),
        }),
        properties: BTreeMap::from([
            ("tags", json!(tags)),
            ("problem.severity", json!(problem_severity(rule.severity))),
        ]),
    }
}

/// The part of a page that says why it hurts, in one line.
fn why_it_hurts(page: &str) -> Option<String> {
    let (_, rest) = page.split_once("\n## Why it hurts\n")?;
    let part = rest.split("\n## ").next()?;
    let words: Vec<&str> = part.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn result(merged: &Merged<'_>, rule_index: usize, nth: usize, context: Context<'_>) -> SarifResult {
    let finding = merged.finding;
    let mut properties = BTreeMap::from([("clusters", json!(merged.clusters))]);
    for (name, value) in [
        ("verdict", finding.verdict.map(|verdict| json!(verdict))),
        ("tier", finding.tier.as_ref().map(|tier| json!(tier))),
        ("object", finding.object.as_ref().map(|object| json!(object))),
        (
            "related",
            (!finding.related.is_empty()).then(|| json!(finding.related)),
        ),
        (
            "blocks",
            (!finding.blocks.is_empty()).then(|| json!(finding.blocks)),
        ),
    ] {
        if let Some(value) = value {
            properties.insert(name, value);
        }
    }
    SarifResult {
        rule_id: finding.rule.clone(),
        rule_index,
        level: level(finding.severity),
        message: message(finding),
        locations: vec![primary(merged, context)],
        related_locations: related(merged, context),
        partial_fingerprints: BTreeMap::from([(fingerprint::NAME, fingerprint::of(finding, nth))]),
        // An empty list would say that somebody has looked and suppressed nothing.
        suppressions: merged
            .suppression
            .map(|suppression| vec![suppression_of(suppression, context)]),
        properties,
    }
}

fn suppression_of(suppressed: &SuppressedFinding, context: Context<'_>) -> Suppression {
    Suppression {
        kind: match suppressed.by {
            SuppressedBy::Comment => "inSource",
            SuppressedBy::Configuration => "external",
        },
        justification: clean(&suppressed.reason).into_owned(),
        location: SarifLocation {
            id: None,
            physical_location: physical(&suppressed.location, true, context),
            logical_locations: Vec::new(),
            message: None,
        },
    }
}

fn message(finding: &Finding) -> Text {
    let mut text = clean(&finding.message).into_owned();
    for part in [&finding.why, &finding.help] {
        if !part.is_empty() {
            text.push_str("\n\n");
            text.push_str(&clean(part));
        }
    }
    Text {
        text: without_links(&text),
        markdown: None,
    }
}

/// A message in which nothing is a link to a place: `[text](1)` would be one. Braces stay: the standard wants them
/// doubled where arguments are put in for `{0}`, there are none here, and viewers show what they get.
fn without_links(text: &str) -> String {
    text.replace("](", "\\](")
}

/// Where the finding is; one without a place is shown at its cluster, since code hosts refuse results that are nowhere.
fn primary(merged: &Merged<'_>, context: Context<'_>) -> SarifLocation {
    let finding = merged.finding;
    let physical_location = match &finding.location {
        Some(location) => physical(location, is_about_secret(finding), context),
        None => PhysicalLocation {
            artifact_location: artifact(merged.clusters.first().copied().unwrap_or_default(), context),
            region: None,
        },
    };
    let object = finding.object.iter().map(|name| LogicalLocation {
        fully_qualified_name: name.clone(),
        kind: "object",
    });
    let tier = finding.tier.iter().map(|name| LogicalLocation {
        fully_qualified_name: name.to_string(),
        kind: "module",
    });
    SarifLocation {
        id: None,
        physical_location,
        logical_locations: object.chain(tier).collect(),
        message: None,
    }
}

/// The objects that take part and the tiers that are blocked, as far as it is known where they are.
fn related(merged: &Merged<'_>, context: Context<'_>) -> Vec<SarifLocation> {
    let finding = merged.finding;
    let entry = merged.clusters.first().copied().unwrap_or_default();
    let objects = finding.related.iter().map(|name| (name.clone(), "takes part"));
    let tiers = finding
        .blocks
        .iter()
        .map(|tier| (tier.to_string(), "never applies"));
    objects
        .chain(tiers)
        .filter_map(|(name, role)| Some((context.places.get(entry, &name)?, name, role)))
        .take(RELATED_MAX)
        .enumerate()
        .map(|(index, (location, name, role))| SarifLocation {
            id: Some(index + 1),
            physical_location: physical(location, false, context),
            logical_locations: Vec::new(),
            message: Some(Text {
                text: format!("{} {role}", clean(&name)),
                markdown: None,
            }),
        })
        .collect()
}

fn physical(location: &Location, hidden: bool, context: Context<'_>) -> PhysicalLocation {
    let region = (location.line > 0).then(|| {
        let start_column = location.column.max(1);
        let word = if hidden {
            None
        } else {
            source_line(context.tree, location)
        };
        let end_column = word.and_then(|(line, span)| {
            let length = line.get(span)?.chars().count();
            u32::try_from(length).ok().map(|length| start_column + length)
        });
        Region {
            start_line: location.line,
            start_column,
            end_column,
        }
    });
    PhysicalLocation {
        artifact_location: artifact(&location.file, context),
        region,
    }
}

fn artifact(file: &str, context: Context<'_>) -> ArtifactLocation {
    let path = context.in_checkout(file);
    ArtifactLocation {
        uri: if path.is_empty() {
            "./".to_owned()
        } else {
            uri(&path)
        },
        uri_base_id: BASE,
    }
}

/// A path as a relative reference of RFC 3986: everything but unreserved characters and `/` is percent-encoded.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn problem_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "recommendation",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstpass_object::TierName;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("apps/a b/ü#1%.yaml"), "apps/a%20b/%C3%BC%231%25.yaml");
    }

    #[test]
    fn fingerprints_outlive_lines_and_tell_tiers_apart() {
        let finding = |tier: &str, line| {
            Finding::new("a-rule", Severity::Error, None, "a headline")
                .with_tier(&TierName::new("flux-system", tier))
                .with_location(Location::new("a.yaml", line, 1))
        };
        let of = |finding: Finding| fingerprint::of(&finding, 1);
        assert_eq!(of(finding("a", 3)), of(finding("a", 30)));
        assert_ne!(of(finding("a", 3)), of(finding("b", 3)));
    }
}
