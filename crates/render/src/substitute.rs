//! postBuild: variables into built objects (F-600 to F-667).
//!
//! Behaves as `kustomize_varsub.go` of fluxcd/pkg/kustomize:
//! <https://github.com/fluxcd/pkg/blob/kustomize/v1.39.0/kustomize/kustomize_varsub.go>

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use firstpass_envsubst::{Error, ErrorKind, Lookup, Mode, Template};
use firstpass_flux::{
    ControllerSettings, FluxVersion, Kustomization, KustomizeGate, SubstituteStrategy, names,
};
use firstpass_object::{ObjectExt, ObjectId};
use serde_json::Value;

use crate::{DataKind, Datum, UnknownVariable, Variables};

/// Since this version strict mode looks at all operators (F-1761).
const STRICT_OPERATORS_SINCE: u32 = 9;
/// Since this version substitution can be asked for without variables (F-1763).
const STRATEGY_SINCE: u32 = 9;

/// The variables of a tier at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VariableSet {
    /// Values by name, with the object that each comes from.
    values: BTreeMap<String, (Datum, String)>,
    /// Objects that may hold further variables.
    open: Vec<String>,
    mode: Mode,
}

/// Which objects that bring variables hold `${NAME}` because `NAME` was not known when they were substituted. Such a
/// value is not known either.
#[derive(Debug, Default)]
pub(crate) struct Uncertain {
    names: BTreeMap<ObjectId, BTreeSet<String>>,
}

impl Uncertain {
    /// Notes what is not known of an object, if the object can bring variables.
    pub(crate) fn note(&mut self, object: &Value, unknown: &[UnknownVariable]) {
        let brings = DataKind::of(object.kind()).is_some() || Kustomization::is(object);
        if brings && !unknown.is_empty() {
            let names = unknown.iter().map(|variable| variable.name.clone());
            self.names.entry(object.id()).or_default().extend(names);
        }
    }

    fn hide(&self, object: &ObjectId, datum: Datum) -> Datum {
        let names = self.names.get(object);
        match &datum {
            Datum::Known(text)
                if names
                    .is_some_and(|names| names.iter().any(|name| text.contains(&format!("${{{name}")))) =>
            {
                Datum::Unknown
            }
            _ => datum,
        }
    }
}

/// Why variables cannot be had.
#[derive(Debug)]
pub(crate) enum VariablesError {
    /// An object that is not optional does not exist (F-605).
    Missing { kind: DataKind, name: String },
    /// A key that is no name (F-606).
    BadName { name: String, from: String },
}

/// An object with values in it.
#[derive(Debug)]
pub(crate) struct Substituted {
    pub(crate) value: Value,
    pub(crate) unknown: Vec<UnknownVariable>,
}

/// Why an object cannot be substituted.
#[derive(Debug)]
pub(crate) enum SubstituteError {
    /// An expression is wrong or its variable is not set.
    Expression {
        error: Error,
        /// The expression as written.
        text: String,
    },
    /// What came out is no YAML.
    Yaml(firstpass_yaml::ParseError),
}

impl VariableSet {
    /// Reads the variables of a tier; `None` if it asks for no substitution at all.
    pub(crate) fn load(
        tier: &Kustomization,
        settings: &ControllerSettings,
        variables: &dyn Variables,
        uncertain: &Uncertain,
    ) -> Result<Option<VariableSet>, VariablesError> {
        let Some(post_build) = &tier.spec.post_build else {
            return Ok(None);
        };
        let mut set = VariableSet {
            values: BTreeMap::new(),
            open: Vec::new(),
            mode: mode(settings),
        };
        for reference in &post_build.substitute_from {
            let Some(kind) = DataKind::of(&reference.kind) else {
                continue;
            };
            let from = format!("{kind}/{}/{}", tier.name.namespace, reference.name);
            match variables.data(kind, &tier.name.namespace, &reference.name) {
                Some(data) => {
                    let id = ObjectId::new("", kind.as_str(), Some(&tier.name.namespace), &reference.name);
                    let values = data
                        .values
                        .into_iter()
                        .map(|(name, datum)| (name, uncertain.hide(&id, datum)));
                    set.values
                        .extend(values.map(|(name, datum)| (name, (without_newlines(datum), from.clone()))));
                    if data.open {
                        set.open.push(from);
                    }
                }
                None if reference.optional => {}
                None => {
                    return Err(VariablesError::Missing {
                        kind,
                        name: reference.name.clone(),
                    });
                }
            }
        }
        let (namespace, name) = (&tier.name.namespace, &tier.name.name);
        let id = ObjectId::new(
            names::KUSTOMIZE_GROUP,
            names::KUSTOMIZATION,
            Some(namespace),
            name,
        );
        for (name, value) in &post_build.substitute {
            let datum = without_newlines(uncertain.hide(&id, Datum::Known(value.clone())));
            set.values.insert(name.clone(), (datum, id.to_string()));
        }
        let always =
            post_build.strategy == SubstituteStrategy::Always && settings.flux.at_least(STRATEGY_SINCE);
        if set.values.is_empty() && set.open.is_empty() && !always {
            return Ok(None);
        }
        match set.values.iter().find(|(name, _)| !is_name(name)) {
            Some((name, (_, from))) => Err(VariablesError::BadName {
                name: name.clone(),
                from: from.clone(),
            }),
            None => Ok(Some(set)),
        }
    }

    /// The objects that variables come from, in order of their names.
    pub(crate) fn sources(&self) -> Vec<String> {
        let mut sources: Vec<String> = self.values.values().map(|(_, from)| from.clone()).collect();
        sources.extend(self.open.iter().cloned());
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    /// The variables that are set.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Substitutes one object; `None` if that changes nothing.
    pub(crate) fn substitute(&self, object: &Value) -> Result<Option<Substituted>, SubstituteError> {
        if is_plain(object) {
            return Ok(None);
        }
        let text = firstpass_yaml::emit(object);
        let expansion = Template::parse(&text)
            .and_then(|template| template.expand(self.mode, |name| self.lookup(name)))
            .map_err(|error| {
                let text = expression_at(&text, error.offset);
                SubstituteError::Expression { error, text }
            })?;
        let value = crate::retype::read_back(&expansion.text).map_err(SubstituteError::Yaml)?;
        let unknown = expansion.unknown.into_iter().map(|name| UnknownVariable {
            from: self.unknown_from(&name),
            name,
        });
        Ok(Some(Substituted {
            value,
            unknown: unknown.collect(),
        }))
    }

    /// All variables of an object that are not set although they have to be, in the order in which Flux would meet them.
    pub(crate) fn undefined(&self, object: &Value) -> Vec<String> {
        let text = firstpass_yaml::emit(object);
        let Ok(template) = Template::parse(&text) else {
            return Vec::new();
        };
        let mut found: Vec<String> = Vec::new();
        loop {
            let expansion = template.expand(self.mode, |name| match self.lookup(name) {
                Lookup::Unset if found.iter().any(|known| known == name) => Lookup::Known(Cow::Borrowed("")),
                known => known,
            });
            match expansion.as_ref().err().and_then(not_set) {
                Some(name) => found.push(name.to_owned()),
                None => return found,
            }
        }
    }

    fn lookup(&self, name: &str) -> Lookup<'_> {
        match self.values.get(name) {
            Some((Datum::Known(value), _)) => Lookup::Known(Cow::Borrowed(value)),
            Some((Datum::Unknown, _)) => Lookup::Unknown,
            None if self.open.is_empty() => Lookup::Unset,
            None => Lookup::Open,
        }
    }

    fn unknown_from(&self, name: &str) -> String {
        match self.values.get(name) {
            Some((_, from)) => from.clone(),
            None => self.open.last().cloned().unwrap_or_default(),
        }
    }
}

/// Whether substitution is switched off for an object; compared exactly (F-267).
pub(crate) fn is_disabled(object: &Value) -> bool {
    object.label(names::SUBSTITUTE) == Some(names::DISABLED)
        || object.annotation(names::SUBSTITUTE) == Some(names::DISABLED)
}

/// The name of the variable that is not set, if that is what is wrong.
pub(crate) fn not_set(error: &Error) -> Option<&str> {
    match &error.kind {
        ErrorKind::NotSet { name } => Some(name),
        _ => None,
    }
}

fn mode(settings: &ControllerSettings) -> Mode {
    let strict = settings.gate(KustomizeGate::StrictPostBuildSubstitutions);
    match settings.flux {
        _ if !strict => Mode::Loose,
        FluxVersion { minor, .. } if minor >= STRICT_OPERATORS_SINCE => Mode::Strict,
        _ => Mode::StrictBare,
    }
}

/// All newlines vanish from values (F-604).
fn without_newlines(datum: Datum) -> Datum {
    match datum {
        Datum::Known(text) if text.contains('\n') => Datum::Known(text.replace('\n', "")),
        other => other,
    }
}

/// `^[_[:alpha:]][_[:alpha:][:digit:]]*$` (F-606).
fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    let first = bytes
        .next()
        .is_some_and(|byte| byte == b'_' || byte.is_ascii_alphabetic());
    first && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

/// Whether no text in the object, keys included, has anything that substitution would touch.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::String(text) => Template::is_plain(text),
        Value::Array(items) => items.iter().all(is_plain),
        Value::Object(map) => map
            .iter()
            .all(|(key, item)| Template::is_plain(key) && is_plain(item)),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// The expression that starts at a place, cut after its brace or a few characters.
fn expression_at(text: &str, offset: usize) -> String {
    const SHOWN_MAX: usize = 60;
    let rest = text.get(offset..).unwrap_or_default();
    let line = rest.lines().next().unwrap_or_default();
    let end = line.find('}').map_or(line.len(), |end| end + 1);
    line[..end].chars().take(SHOWN_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Data;
    use serde_json::json;

    struct Cluster(BTreeMap<(DataKind, String), Data>);

    impl Variables for Cluster {
        fn data(&self, kind: DataKind, namespace: &str, name: &str) -> Option<Data> {
            assert_eq!(namespace, "flux-system");
            self.0.get(&(kind, name.to_owned())).cloned()
        }
    }

    fn cluster() -> Cluster {
        let data = |pairs: &[(&str, &str)]| {
            let mut data = Data::default();
            data.values.extend(
                pairs
                    .iter()
                    .map(|(key, value)| ((*key).to_owned(), Datum::Known((*value).to_owned()))),
            );
            data
        };
        Cluster(BTreeMap::from([
            (
                (DataKind::ConfigMap, "vars".to_owned()),
                data(&[("A", "1"), ("B", "x\ny")]),
            ),
            ((DataKind::ConfigMap, "more".to_owned()), data(&[("A", "2")])),
            (
                (DataKind::ConfigMap, "files".to_owned()),
                data(&[("app.yaml", "2")]),
            ),
            (
                (DataKind::Secret, "known-keys".to_owned()),
                Data::unknown(["TOKEN"]),
            ),
            ((DataKind::Secret, "open".to_owned()), Data::open()),
        ]))
    }

    fn substitute(post_build: &Value, object: &Value, flux: &str) -> Result<Value, String> {
        let tier = json!({"metadata": {"name": "apps", "namespace": "flux-system"}, "spec": {"postBuild": post_build}});
        let tier = Kustomization::read(&tier).value;
        let settings = ControllerSettings::new(flux.parse().unwrap());
        let set =
            VariableSet::load(&tier, &settings, &cluster(), &Uncertain::default()).map_err(|error| {
                match error {
                    VariablesError::Missing { kind, name } => format!("missing {kind}/{name}"),
                    VariablesError::BadName { name, .. } => format!("bad name {name}"),
                }
            })?;
        let Some(set) = set else {
            return Ok(object.clone());
        };
        match set.substitute(object) {
            Ok(None) => Ok(object.clone()),
            Ok(Some(substituted)) => Ok(substituted.value),
            Err(SubstituteError::Expression { error, text }) => Err(format!("{text}: {error}")),
            Err(SubstituteError::Yaml(error)) => Err(error.to_string()),
        }
    }

    /// F-601, F-603, F-604, F-605, F-606.
    #[test]
    fn variables_come_from_objects_and_the_spec() {
        let from = |names: &[&str]| -> Value {
            names
                .iter()
                .map(|name| json!({"kind": "ConfigMap", "name": name}))
                .collect()
        };
        let object = json!({"a": "${A} and ${B}"});
        let table = [
            (
                json!({"substituteFrom": from(&["vars"])}),
                Ok(json!({"a": "1 and xy"})),
            ),
            (
                json!({"substituteFrom": from(&["vars", "more"])}),
                Ok(json!({"a": "2 and xy"})),
            ),
            (
                json!({"substituteFrom": from(&["vars"]), "substitute": {"A": "3"}}),
                Ok(json!({"a": "3 and xy"})),
            ),
            (
                json!({"substituteFrom": from(&["none"])}),
                Err("missing ConfigMap/none".to_owned()),
            ),
            (
                json!({"substituteFrom": [{"kind": "ConfigMap", "name": "none", "optional": true}]}),
                Ok(object.clone()),
            ),
            (
                json!({"substituteFrom": from(&["vars", "files"])}),
                Err("bad name app.yaml".to_owned()),
            ),
            (json!({}), Ok(object.clone())),
        ];
        for (post_build, expected) in table {
            assert_eq!(substitute(&post_build, &object, "2.9"), expected, "{post_build}");
        }
    }

    /// F-601, F-1763.
    #[test]
    fn without_variables_nothing_is_substituted_unless_asked_for() {
        let object = json!({"a": "${A:=d}"});
        assert_eq!(substitute(&json!({}), &object, "2.9"), Ok(object.clone()));
        let always = json!({"substituteStrategy": "Always"});
        assert_eq!(substitute(&always, &object, "2.9"), Ok(json!({"a": "d"})));
        assert_eq!(substitute(&always, &object, "2.8"), Ok(object));
    }

    /// F-650, F-660, F-662, F-1760.
    #[test]
    fn values_are_retyped_and_unset_ones_refused() {
        let with = |value: &str| json!({"substitute": {"V": value}});
        let table = [
            ("8080", json!({"port": "${V}"}), Ok(json!({"port": 8080}))),
            ("8080", json!({"port": "p ${V}"}), Ok(json!({"port": "p 8080"}))),
            ("", json!({"class": "${V}"}), Ok(json!({"class": null}))),
            ("true", json!({"x": "*${V}"}), Ok(json!({"x": "*true"}))),
            ("k", json!({"${V}": 1}), Ok(json!({"k": 1}))),
            (
                "x",
                json!({"a": "${W}"}),
                Err("${W}: variable not set (strict mode): \"W\"".to_owned()),
            ),
            (
                "x",
                json!({"a": "${b.c}"}),
                Err("${b.c}: missing closing brace".to_owned()),
            ),
        ];
        for (value, object, expected) in table {
            assert_eq!(substitute(&with(value), &object, "2.9"), expected, "{object}");
        }
        assert_eq!(
            substitute(&with("x"), &json!({"a": "<${W}>"}), "2.8"),
            Ok(json!({"a": "<>"}))
        );
    }

    #[test]
    fn unknown_values_stay() {
        let from = |name: &str| json!({"substituteFrom": [{"kind": "Secret", "name": name}]});
        assert_eq!(
            substitute(&from("known-keys"), &json!({"a": "${TOKEN}"}), "2.9"),
            Ok(json!({"a": "${TOKEN}"}))
        );
        assert!(substitute(&from("known-keys"), &json!({"a": "${OTHER}"}), "2.9").is_err());
        assert_eq!(
            substitute(&from("open"), &json!({"a": "${OTHER}"}), "2.9"),
            Ok(json!({"a": "${OTHER}"}))
        );
    }
}
