//! The facts that `firstpass.yaml` says must hold: what their expressions see, and what they come to.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_object::ObjectExt;
use firstpass_render::{Datum, Invariant, RenderedObject};
use serde_json::{Value, json};

use crate::expression::Expression;
use crate::variables::Variables;
use crate::{CheckInput, uses};

/// What an invariant comes to on one cluster.
pub(crate) enum Outcome {
    /// It holds.
    Holds,
    /// It does not.
    Broken,
    /// Nobody can tell yet, and why.
    Unknown(String),
    /// The expression cannot be used, and why.
    Invalid(String),
}

/// The values of a cluster.
pub(crate) struct Values {
    /// Variables by name.
    pub(crate) vars: BTreeMap<String, Datum>,
    /// Further variables may be there.
    open: bool,
}

impl Values {
    pub(crate) fn of(input: &CheckInput<'_>) -> Values {
        let (vars, open) = Variables::of(input.cluster).values(input.repository.config().overlays.as_ref());
        Values { vars, open }
    }

    /// The value of a variable, if it is known.
    pub(crate) fn known(&self, name: &str) -> Option<&str> {
        match self.vars.get(name) {
            Some(Datum::Known(value)) => Some(value),
            _ => None,
        }
    }
}

/// `TBD-PROD-VIP`: a value that is still to be decided.
pub(crate) fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    value == "TBD" || value.starts_with("TBD-") || value.starts_with("TBD_")
}

/// What an invariant comes to.
pub(crate) fn evaluate(input: &CheckInput<'_>, values: &Values, invariant: &Invariant) -> Outcome {
    let expression = match Expression::compile(&invariant.expr) {
        Ok(expression) => expression,
        Err(error) => return Outcome::Invalid(first_part(&error)),
    };
    for name in variables_of(&invariant.expr) {
        match values.vars.get(&name) {
            Some(Datum::Known(value)) if is_placeholder(value) => {
                return Outcome::Unknown(format!("`{name}` is `{value}`"));
            }
            Some(Datum::Known(value)) if value.contains("${") => {
                return Outcome::Unknown(format!("`{name}` is put together from `{value}`"));
            }
            Some(Datum::Unknown) => {
                return Outcome::Unknown(format!("`{name}` is known only in the cluster"));
            }
            None if values.open => {
                return Outcome::Unknown(format!("`{name}` may be known only in the cluster"));
            }
            None | Some(Datum::Known(_)) => {}
        }
    }
    let reads = |word: &str| mentions(&invariant.expr, word);
    match expression.is_true(&context(input, values, reads("objects"))) {
        Ok(true) => Outcome::Holds,
        Ok(false) if reads("objects") => match unseen(input, &invariant.expr) {
            Some(why) => Outcome::Unknown(why),
            None => Outcome::Broken,
        },
        Ok(false) => Outcome::Broken,
        Err(error) => Outcome::Invalid(first_part(&error)),
    }
}

/// The variables that the invariants of the configuration read.
pub(crate) fn variables_of_all(input: &CheckInput<'_>) -> BTreeSet<String> {
    let invariants = &input.repository.config().invariants;
    invariants
        .iter()
        .flat_map(|invariant| variables_of(&invariant.expr))
        .collect()
}

/// The names in `vars.NAME` and `vars["NAME"]`, in the order in which they stand there.
pub(crate) fn variables_of(expression: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (at, word) in expression.match_indices("vars") {
        let before = expression[..at].chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.')) {
            continue;
        }
        let rest = &expression[at + word.len()..];
        let name: String = if let Some(rest) = rest.strip_prefix('.') {
            rest.chars()
                .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
                .collect()
        } else if let Some(rest) = rest.strip_prefix("['").or_else(|| rest.strip_prefix("[\"")) {
            rest.chars()
                .take_while(|letter| !matches!(letter, '\'' | '"'))
                .collect()
        } else {
            continue;
        };
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What expressions see: `vars`, `objects` as they are applied, `tiers`.
fn context(input: &CheckInput<'_>, values: &Values, with_objects: bool) -> Value {
    let vars: serde_json::Map<String, Value> = values
        .vars
        .iter()
        .filter_map(|(name, datum)| match datum {
            Datum::Known(value) => Some((name.clone(), Value::from(value.as_str()))),
            Datum::Unknown => None,
        })
        .collect();
    let objects: Vec<Value> = if with_objects {
        input
            .cluster
            .objects()
            .map(|(_, object)| (*object.object).clone())
            .collect()
    } else {
        Vec::new()
    };
    let tiers: Vec<Value> = input
        .cluster
        .tiers
        .iter()
        .map(|tier| {
            let spec = &tier.kustomization.spec;
            let depends_on: Vec<String> = tier
                .kustomization
                .dependencies()
                .map(|on| on.to_string())
                .collect();
            json!({
                "name": tier.name.name,
                "namespace": tier.name.namespace,
                "path": spec.path,
                "dependsOn": depends_on,
                "wait": spec.wait,
                "prune": spec.prune,
                "suspend": spec.suspend,
                "spec": tier.object.get("spec").cloned().unwrap_or_default(),
            })
        })
        .collect();
    json!({"vars": vars, "objects": objects, "tiers": tiers})
}

/// Why an expression about objects that came out false may still be true: something is not seen, or an object of a kind
/// that it names holds a value that nobody knows yet.
fn unseen(input: &CheckInput<'_>, expression: &str) -> Option<String> {
    let hidden = input.cluster.tiers.iter().find(|tier| !tier.is_rendered());
    if let Some(tier) = hidden {
        return Some(format!("the objects of `{}` are not known", tier.name));
    }
    let named = |object: &RenderedObject| {
        let kind = object.object.kind();
        [format!("'{kind}'"), format!("\"{kind}\"")]
            .iter()
            .any(|quoted| expression.contains(quoted.as_str()))
    };
    let mut objects = input.cluster.objects().map(|(_, object)| object);
    let vague = objects.find(|object| named(object) && is_vague(object))?;
    Some(format!("`{}` holds a value that is not known yet", vague.id()))
}

fn is_vague(object: &RenderedObject) -> bool {
    let mut found = false;
    uses::strings(&object.object, &mut |text| found |= is_placeholder(text));
    found || !object.is_certain(&[])
}

fn mentions(expression: &str, word: &str) -> bool {
    expression.match_indices(word).any(|(at, _)| {
        let before = expression[..at].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '\'' | '"'))
    })
}

/// The parser draws the expression below its message.
fn first_part(error: &str) -> String {
    error.split(" | ").next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_an_expression_are_found() {
        let names = |text: &str| variables_of(text).join(" ");
        assert_eq!(names("ip(vars.A).between(vars.B, vars.A)"), "A B");
        assert_eq!(names("vars['C-D'] == \"x\" && has(vars.E_1)"), "C-D E_1");
        assert_eq!(names("o.vars.A == myvars.B"), "");
        assert!(
            mentions("objects.exists(o, true)", "objects") && !mentions("vars.objects == '1'", "objects")
        );
    }

    #[test]
    fn placeholders_are_told_from_values() {
        assert!(is_placeholder("TBD") && is_placeholder("TBD-PROD-VIP"));
        assert!(!is_placeholder("TBDeal") && !is_placeholder("a TBD-x"));
    }
}
