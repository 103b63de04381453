//! `firstpass build`: what Flux would apply.

use std::fmt::Write as _;

use firstpass_diagnostics::Severity;
use firstpass_object::TierName;
use firstpass_render::{RenderedCluster, Tier};
use serde_json::{Value, json};

use crate::args::{BuildArgs, Format};
use crate::exit::{Exit, Failure};
use crate::prepare::Session;
use crate::{output, show};

/// Renders the clusters and prints the objects of each tier.
///
/// # Errors
/// If the repository cannot be read, a tier is not there, or the result cannot be written.
pub(crate) fn run(arguments: &BuildArgs) -> Result<Exit, Failure> {
    let session = Session::open(&arguments.common)?;
    let several = session.entries.len() > 1;
    let (mut text, mut documents) = (String::new(), Vec::new());
    let mut exit = Exit::Clean;
    for entry in &session.entries {
        let cluster = session.render(entry);
        let tiers = selected(&cluster, &arguments.tier)?;
        match arguments.common.output.format {
            Format::Text => {
                if several {
                    let _ = writeln!(text, "# cluster {}", entry.path());
                }
                tiers.iter().for_each(|tier| yaml(&mut text, tier));
            }
            Format::Json => documents.push(json!({
                "entry": entry.path(),
                "tiers": tiers.iter().map(|tier| tier_json(tier)).collect::<Vec<Value>>(),
            })),
        }
        for finding in tiers.iter().flat_map(|tier| tier.findings()) {
            if finding.severity == Severity::Error {
                exit = Exit::Findings;
            }
            if finding.severity > Severity::Info || arguments.common.output.verbose {
                let style = show::style(&arguments.common.output);
                eprint!(
                    "{}",
                    firstpass_report::finding_to_text(&finding, &**session.repository.tree(), style)
                );
            }
        }
    }
    if arguments.common.output.format == Format::Json {
        text = serde_json::to_string_pretty(&json!({"clusters": documents})).unwrap_or_default();
        text.push('\n');
    }
    output::write(&text, arguments.common.output.output.as_deref())?;
    Ok(exit)
}

/// The tiers that were asked for, or all, in the order of rendering.
fn selected<'c>(cluster: &'c RenderedCluster, wanted: &[String]) -> Result<Vec<&'c Tier>, Failure> {
    if wanted.is_empty() {
        return Ok(cluster.tiers.iter().collect());
    }
    let names: Vec<TierName> = wanted
        .iter()
        .map(|typed| find_tier(cluster, typed))
        .collect::<Result<_, Failure>>()?;
    Ok(cluster
        .tiers
        .iter()
        .filter(|tier| names.contains(&tier.name))
        .collect())
}

/// The tier that somebody typed: `namespace/name`, or a name that only one tier has.
///
/// # Errors
/// If there is none, or more than one.
pub(crate) fn find_tier(cluster: &RenderedCluster, typed: &str) -> Result<TierName, Failure> {
    let fits = |tier: &&Tier| tier.name.to_string() == typed || tier.name.name == typed;
    let found: Vec<&Tier> = cluster.tiers.iter().filter(fits).collect();
    match found.as_slice() {
        [tier] => Ok(tier.name.clone()),
        [] => {
            let names = cluster.tiers.iter().map(|tier| tier.name.name.as_str());
            let help = match firstpass_yaml::nearest(typed, names) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`firstpass build` without `--tier` prints all tiers".to_owned(),
            };
            Err(Failure::input_with_help(
                format!("there is no tier `{typed}` in `{}`", cluster.entry.path()),
                help,
            ))
        }
        several => {
            let names: Vec<String> = several.iter().map(|tier| format!("`{}`", tier.name)).collect();
            Err(Failure::input_with_help(
                format!("`{typed}` names several tiers"),
                format!("say which: {}", names.join(", ")),
            ))
        }
    }
}

fn yaml(text: &mut String, tier: &Tier) {
    for object in tier.objects() {
        let _ = writeln!(text, "---\n# {} from {}", tier.name, object.origin.file);
        text.push_str(&firstpass_yaml::emit(&object.object));
    }
}

fn tier_json(tier: &Tier) -> Value {
    let objects: Vec<Value> = tier
        .objects()
        .iter()
        .map(|object| json!({"object": &*object.object, "origin": &*object.origin}))
        .collect();
    let problems: Vec<Value> = tier
        .findings()
        .iter()
        .filter_map(|finding| serde_json::to_value(finding).ok())
        .collect();
    json!({"name": tier.name, "parent": tier.parent, "rendered": tier.is_rendered(), "objects": objects, "findings": problems})
}
