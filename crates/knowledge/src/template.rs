//! Placeholders in data files: `{object.spec.crd.spec.names.kind}`, `{release}-controller`, `{values.name:default}`.
//!
//! A text that is one placeholder and nothing else becomes the value itself, so that numbers and maps survive;
//! `{text values.flag:false}` makes it a text all the same, as annotations need.
//! What cannot be found and has no default makes the whole template void: the fact does not apply.

use crate::condition::lookup;
use serde_json::{Map, Value};

/// What placeholders may refer to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope<'v> {
    /// `{object.…}`: the object that a controller reconciles.
    pub object: Option<&'v Value>,
    /// `{each.…}`: the one of `for_each` at hand.
    pub each: Option<&'v Value>,
    /// `{values.…}`: the values of the release.
    pub values: Option<&'v Value>,
    /// `{release}`: the name of the Helm release.
    pub release: &'v str,
    /// `{namespace}`: the namespace of the Helm release or of the operator.
    pub namespace: &'v str,
    /// `{chart}`: the name of the chart, for `{fullname}`.
    pub chart: &'v str,
    /// `{now}`: the time as it appears in conditions.
    pub now: &'v str,
}

impl Scope<'_> {
    /// Fills the placeholders of a text; None where one of them cannot be found.
    pub fn text(&self, template: &str) -> Option<String> {
        if !template.contains('{') {
            return Some(template.to_owned());
        }
        let mut text = String::new();
        let mut rest = template;
        while let Some((head, tail)) = rest.split_once('{') {
            let (name, tail) = tail.split_once('}')?;
            text.push_str(head);
            match self.resolve(name)? {
                Value::String(value) => text.push_str(&value),
                value => text.push_str(&value.to_string()),
            }
            rest = tail;
        }
        text.push_str(rest);
        Some(text)
    }

    /// Fills the placeholders of a value, keys included. Nesting is that of a data file, which its parser bounds.
    pub fn value(&self, template: &Value) -> Option<Value> {
        match template {
            Value::String(text) => match whole_placeholder(text) {
                Some(name) => self.resolve(name),
                None => self.text(text).map(Value::String),
            },
            Value::Array(list) => list
                .iter()
                .map(|item| self.value(item))
                .collect::<Option<Vec<_>>>()
                .map(Value::Array),
            Value::Object(map) => {
                let filled = map
                    .iter()
                    .map(|(key, value)| Some((self.text(key)?, self.value(value)?)));
                filled.collect::<Option<Map<_, _>>>().map(Value::Object)
            }
            plain => Some(plain.clone()),
        }
    }

    fn resolve(&self, placeholder: &str) -> Option<Value> {
        if let Some(placeholder) = placeholder.strip_prefix("text ") {
            return self.resolve(placeholder).map(|value| match value {
                Value::String(text) => Value::String(text),
                value => Value::String(value.to_string()),
            });
        }
        let (name, default) = match placeholder.split_once(':') {
            Some((name, default)) => (name, Some(default)),
            None => (placeholder, None),
        };
        self.find(name).or_else(|| default.map(parse_default))
    }

    fn find(&self, name: &str) -> Option<Value> {
        let (head, path) = name.split_once('.').unwrap_or((name, ""));
        let below = |root: Option<&Value>| root.and_then(|root| lookup(root, path)).cloned();
        match head {
            "object" => below(self.object),
            "each" => below(self.each),
            "values" => below(self.values),
            "release" => Some(self.release.into()),
            "namespace" => Some(self.namespace.into()),
            "now" => Some(self.now.into()),
            "fullname" => Some(self.fullname().into()),
            "fullname26" => Some(
                self.fullname()
                    .chars()
                    .take(26)
                    .collect::<String>()
                    .trim_end_matches('-')
                    .into(),
            ),
            _ => None,
        }
    }

    /// The name that `helm create`'s helper gives: the release's name if it contains the chart's, else both.
    fn fullname(&self) -> String {
        let text = |path: &str| {
            self.values
                .and_then(|values| lookup(values, path))
                .and_then(Value::as_str)
        };
        if let Some(name) = text("fullnameOverride").filter(|name| !name.is_empty()) {
            return name.to_owned();
        }
        let chart = text("nameOverride")
            .filter(|name| !name.is_empty())
            .unwrap_or(self.chart);
        if self.release.contains(chart) {
            self.release.to_owned()
        } else {
            format!("{}-{chart}", self.release)
        }
    }
}

fn whole_placeholder(text: &str) -> Option<&str> {
    text.strip_prefix('{')?
        .strip_suffix('}')
        .filter(|name| !name.strip_suffix(":{}").unwrap_or(name).contains(['{', '}']))
}

/// A default is JSON where it reads as such (`true`, `3`), else text.
fn parse_default(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fills_texts_and_keeps_types() {
        let object = json!({"metadata": {"name": "longhorn", "generation": 3}});
        let scope = Scope {
            object: Some(&object),
            release: "cnpg",
            namespace: "db",
            ..Scope::default()
        };
        assert_eq!(
            scope.text("{object.metadata.name}-{release}.{namespace}"),
            Some("longhorn-cnpg.db".to_owned())
        );
        assert_eq!(
            scope.value(&json!("{object.metadata.generation}")),
            Some(json!(3))
        );
        assert_eq!(
            scope.value(&json!({"{release}": ["g{object.metadata.generation}"]})),
            Some(json!({"cnpg": ["g3"]}))
        );
    }

    #[test]
    fn what_cannot_be_found_voids_the_template_unless_it_has_a_default() {
        let scope = Scope::default();
        assert_eq!(scope.text("{object.spec.name}"), None);
        assert_eq!(scope.value(&json!("{values.replicas:2}")), Some(json!(2)));
        assert_eq!(scope.value(&json!("{values.spec:{}}")), Some(json!({})));
        assert_eq!(
            scope.value(&json!("{text values.flag:false}")),
            Some(json!("false"))
        );
        assert_eq!(scope.text("{values.name:longhorn}"), Some("longhorn".to_owned()));
        assert_eq!(scope.text("{unclosed"), None);
        assert_eq!(scope.text("{nonsense}"), None);
    }

    #[test]
    fn fullname_follows_helms_helper() {
        let name = |release, values: Value| {
            Scope {
                release,
                chart: "cert-manager",
                values: Some(&values),
                ..Scope::default()
            }
            .text("{fullname}")
            .unwrap()
        };
        assert_eq!(name("cert-manager", json!({})), "cert-manager");
        assert_eq!(name("tls", json!({})), "tls-cert-manager");
        assert_eq!(name("tls", json!({"nameOverride": "cm"})), "tls-cm");
        assert_eq!(name("tls", json!({"fullnameOverride": "certs"})), "certs");
    }
}
