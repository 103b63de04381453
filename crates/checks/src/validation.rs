//! What the API server would say to an object.

use firstpass_object::ObjectExt as _;
use firstpass_render::RenderedObject;
use serde_json::Value;

use crate::Context;

/// One thing that the API server refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The field, as the API server writes it: `spec.rules[0].host`.
    pub(crate) path: String,
    /// Why.
    pub(crate) message: String,
}

/// What the API server refuses in an object; values that are known only in the cluster are not judged.
pub(crate) fn refusals(input: &Context<'_>, object: &RenderedObject) -> Vec<Refusal> {
    let unknown: Vec<String> = object
        .unknown_variables
        .iter()
        .map(|variable| format!("${{{}", variable.name))
        .chain([firstpass_render::UNKNOWN_VALUE.to_owned()])
        .collect();
    let minor = input.stage.kubernetes_minor();
    let errors = match input.definitions().get(&object.object.gvk().group_kind()) {
        Some(definition) => firstpass_apiserver::validate_custom(&object.object, definition, &unknown),
        None => firstpass_apiserver::validate(&object.object, minor, &unknown),
    };
    // A remark of the server that there may be more is no refusal of its own.
    let judged = errors
        .into_iter()
        .filter(|error| !error.message.contains("some validation rules were not checked"));
    judged
        .map(|error| Refusal {
            path: error.path.trim_start_matches('.').to_owned(),
            message: error.message,
        })
        .collect()
}

impl Refusal {
    /// The field as keys and indices.
    pub(crate) fn field(&self) -> Vec<String> {
        let mut parts = Vec::new();
        let mut part = String::new();
        for letter in self.path.chars() {
            match letter {
                '.' | '[' | ']' => {
                    if !part.is_empty() {
                        parts.push(std::mem::take(&mut part));
                    }
                }
                letter => part.push(letter),
            }
        }
        if !part.is_empty() {
            parts.push(part);
        }
        parts
    }

    /// Whether the field is this one.
    pub(crate) fn is_at(&self, path: &[String]) -> bool {
        self.field() == path
    }

    /// The value of the field.
    pub(crate) fn value<'v>(&self, object: &'v Value) -> Option<&'v Value> {
        self.field().iter().try_fold(object, |value, part| match value {
            Value::Array(items) => items.get(part.parse::<usize>().ok()?),
            other => other.get(part),
        })
    }

    /// Whether the value of the field holds a text.
    pub(crate) fn value_holds(&self, object: &Value, text: &str) -> bool {
        self.value(object)
            .and_then(Value::as_str)
            .is_some_and(|value| value.contains(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_found_by_what_the_server_calls_them() {
        let refusal = Refusal {
            path: "spec.rules[1].host".to_owned(),
            message: String::new(),
        };
        let object = json!({"spec": {"rules": [{}, {"host": "web.${DOMAIN}"}]}});
        assert_eq!(refusal.field(), ["spec", "rules", "1", "host"]);
        assert!(refusal.value_holds(&object, "${"));
        assert!(!refusal.value_holds(&object, "x"));
    }
}
