//! Which variables the objects of a tier ask for.

use std::collections::BTreeSet;

use firstpass_envsubst::Template;
use firstpass_render::Tier;
use serde_json::Value;

/// The names of the variables that a tier's objects use; `None` if that cannot be told, because the objects are not
/// known or one of them holds a text that does not parse.
pub(crate) fn names(tier: &Tier) -> Option<BTreeSet<String>> {
    if !tier.is_rendered() {
        return None;
    }
    let mut names = BTreeSet::new();
    for object in tier.objects() {
        let unknown = object.unknown_variables.iter();
        names.extend(unknown.map(|variable| variable.name.clone()));
        let mut parsed = true;
        if let Some(template) = object.template.as_deref() {
            strings(template, &mut |text| {
                parsed &= text.find('$').is_none_or(|_| add_names(text, &mut names));
            });
        }
        if !parsed {
            return None;
        }
    }
    Some(names)
}

fn add_names(text: &str, names: &mut BTreeSet<String>) -> bool {
    let Ok(template) = Template::parse(text) else {
        return false;
    };
    let expressions = template.expressions();
    names.extend(expressions.iter().map(|expression| expression.name.to_owned()));
    true
}

/// Hands over every string of a value, keys included: substitution works on the whole text.
pub(crate) fn strings<'v>(value: &'v Value, see: &mut dyn FnMut(&'v str)) {
    match value {
        Value::String(text) => see(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, see)),
        Value::Object(map) => {
            for (key, item) in map {
                see(key);
                strings(item, see);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
