//! A variable that one cluster sets and another leaves at the base's value.

use firstpass_diagnostics::{Finding, Severity};

use crate::fleet::{Overlay, others};
use crate::input::At as _;
use crate::{Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "variable-inherited",
    summary: "a variable that another cluster sets and this one inherits from the base",
    severity: Severity::Info,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/variable-inherited.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    finding(input).into_iter().collect()
}

fn finding(input: &Context<'_>) -> Option<Finding> {
    let overlay = Overlay::of(input, input.cluster)?;
    let vars = overlay.vars_id()?;
    let base = overlay.base.get(&vars)?;
    let names = base.object.get("data")?.as_object()?.keys();
    let same = |objects: &_, name: &str| {
        Overlay::value(objects, &vars, name) == Overlay::value(&overlay.base, &vars, name)
    };
    let theirs: Vec<(&str, Overlay<'_>)> = others(input)
        .filter_map(|other| Some((other.entry.path(), Overlay::of(input, other)?)))
        .collect();
    let mut inherited: Vec<&String> = Vec::new();
    let mut setters: Vec<String> = Vec::new();
    for name in names.filter(|name| same(&overlay.own, name)) {
        let set_by: Vec<String> = theirs
            .iter()
            .filter(|(_, other)| other.own.contains_key(&vars) && !same(&other.own, name))
            .map(|(entry, _)| format!("`{entry}`"))
            .collect();
        if !set_by.is_empty() {
            inherited.push(name);
            setters.extend(
                set_by
                    .into_iter()
                    .filter(|entry| !setters.contains(entry))
                    .collect::<Vec<_>>(),
            );
        }
    }
    let first = inherited.first()?;
    let shown: Vec<String> = inherited.iter().map(|name| format!("`{name}`")).collect();
    let mut finding = RULE
        .finding(format!(
            "`{}` inherits {} from the base",
            input.cluster.entry.path(),
            wording::few(&shown)
        ))
        .with_object(&vars)
        .with_why(format!(
            "{} set other values. That may be meant; it is also how a value is forgotten",
            wording::few(&setters)
        ))
        .with_help("set the value here as well where the base's is not meant for this cluster")
        .at(input.repository.locate(&base.origin, &["data", first]));
    if let Some(root) = input.cluster.roots.first() {
        finding = finding.with_tier(root);
    }
    Some(finding)
}
