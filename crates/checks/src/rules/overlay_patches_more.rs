//! An overlay that patches more than values.

use firstpass_diagnostics::{Finding, Severity};
use firstpass_flux::Kustomization;
use firstpass_object::ObjectId;
use firstpass_render::BuiltObject;

use crate::fleet::{Overlay, differences, is_allowed};
use crate::input::At as _;
use crate::{Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "overlay-patches-more",
    summary: "a cluster that patches something other than the variables and the fields that `overlays` lists",
    severity: Severity::Error,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/overlay-patches-more.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let Some(overlay) = Overlay::of(input, input.cluster) else {
        return Vec::new();
    };
    let both = overlay
        .own
        .iter()
        .filter_map(|(id, own)| Some((id, overlay.base.get(id)?, own)));
    both.filter_map(|(id, base, own)| finding(input, &overlay, id, base, own))
        .collect()
}

fn finding(
    input: &Context<'_>,
    overlay: &Overlay<'_>,
    id: &ObjectId,
    base: &BuiltObject,
    own: &BuiltObject,
) -> Option<Finding> {
    let is_vars = overlay.vars_id().is_some_and(|vars| vars == *id);
    let is_tier = Kustomization::is(&own.object);
    let fields: Vec<Vec<String>> = differences(&base.object, &own.object)
        .into_iter()
        .filter(|field| {
            // A value of a variable that the base has.
            let is_value = is_vars
                && field.len() == 2
                && field[0] == "data"
                && has(base, &field[1])
                && has(own, &field[1]);
            !(is_value || is_tier && is_allowed(field, &overlay.rules.may_patch))
        })
        .collect();
    let first = fields.first()?;
    let shown: Vec<String> = fields
        .iter()
        .map(|field| format!("`{}`", field.join(".")))
        .collect();
    let path: Vec<&str> = first.iter().map(String::as_str).collect();
    let may: Vec<String> = overlay
        .rules
        .may_patch
        .iter()
        .map(|field| format!("`{field}`"))
        .collect();
    let vars = overlay
        .rules
        .vars
        .as_deref()
        .map(|vars| format!("the values of `{vars}`"));
    let allowed: Vec<String> = vars.into_iter().chain(may).collect();
    let allowed = if allowed.is_empty() {
        "nothing".to_owned()
    } else {
        wording::and(&allowed)
    };
    let help = if is_vars {
        format!(
            "put the variable into `{}` first: a variable that it lacks is missing on every other cluster",
            overlay.rules.base
        )
    } else {
        format!(
            "make it a variable, or change it in `{}`; a field that may differ belongs under `may_patch`",
            overlay.rules.base
        )
    };
    let mut finding = RULE
        .finding(format!("`{}` changes {} of `{id}`", input.cluster.entry.path(), wording::few(&shown)))
        .with_object(id)
        .with_why(format!(
            "`overlays` in firstpass.yaml says that a cluster patches {allowed} and nothing else. What differs in any other way was \
             not tried on the other clusters"
        ))
        .with_help(help)
        .at(input.place_of_key(&own.origin, &path));
    if let Some(root) = input.cluster.roots.first() {
        finding = finding.with_tier(root);
    }
    Some(finding)
}

fn has(object: &BuiltObject, key: &str) -> bool {
    object
        .object
        .get("data")
        .is_some_and(|data| data.get(key).is_some())
}
