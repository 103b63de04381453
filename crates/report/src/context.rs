//! What renderers for programs and code hosts need beside the report.

use std::collections::BTreeMap;

use firstpass_diagnostics::{Location, Severity, Verdict};
use firstpass_source::Tree;

/// Everything around a report.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The files, for the words that findings point at.
    pub tree: &'a dyn Tree,
    /// Every rule that was looked at.
    pub rules: &'a [RuleInfo],
    /// Where named things are.
    pub places: &'a Places,
    /// The path of the root inside its checkout, such as `infra/flux`; empty if they are the same. Code hosts know files
    /// by their path in the checkout.
    pub prefix: &'a str,
    /// The severity from which on a finding is a failure; none if nothing is.
    pub threshold: Option<Severity>,
    /// Whether to show informations as well.
    pub verbose: bool,
}

/// A rule as it is explained to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleInfo {
    /// Its name.
    pub name: &'static str,
    /// What it finds, in one line.
    pub summary: &'static str,
    /// The severity of its findings, unless a finding knows better.
    pub severity: Severity,
    /// The verdict that its findings imply.
    pub verdict: Option<Verdict>,
    /// Its page in Markdown.
    pub page: &'static str,
}

/// Where the objects and tiers are that findings name as related, by cluster entry and name.
#[derive(Clone, Debug, Default)]
pub struct Places {
    places: BTreeMap<String, BTreeMap<String, Location>>,
}

impl Places {
    /// Says where `name`, an object as `Kind/namespace/name` or a tier, is in a cluster. The first place counts.
    pub fn insert(&mut self, entry: &str, name: String, location: Location) {
        let of_cluster = self.places.entry(entry.to_owned()).or_default();
        of_cluster.entry(name).or_insert(location);
    }

    /// Where it is.
    pub fn get(&self, entry: &str, name: &str) -> Option<&Location> {
        self.places.get(entry)?.get(name)
    }
}

impl Context<'_> {
    /// The path of a file from the root of the checkout.
    pub(crate) fn in_checkout(&self, file: &str) -> String {
        match self.prefix.trim_matches('/') {
            "" => file.to_owned(),
            prefix if file.is_empty() => prefix.to_owned(),
            prefix => format!("{prefix}/{file}"),
        }
    }

    /// The rule of that name.
    pub(crate) fn rule(&self, name: &str) -> Option<&RuleInfo> {
        self.rules.iter().find(|rule| rule.name == name)
    }
}
