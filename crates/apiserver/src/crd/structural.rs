//! The structural schema of a custom resource.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use firstpass_object::ObjectExt;
use regex::Regex;
use serde_json::Value;

use super::Rule;
use crate::apply::{Key, ListShape};

/// Deeper schemas are refused: real ones stay below 40.
const DEPTH_MAX: usize = 128;

/// A schema at some place of a custom resource: its structure, and what it demands of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Structural {
    /// Whether this is the schema of the whole object.
    pub(crate) is_root: bool,
    /// `type`.
    pub(crate) value_type: Option<ValueType>,
    pub(crate) nullable: bool,
    /// `x-kubernetes-int-or-string`.
    pub(crate) int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub(crate) preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`.
    pub(crate) embedded: bool,
    pub(crate) properties: BTreeMap<String, Structural>,
    /// `additionalProperties`: the schema of the values of a map with free keys.
    pub(crate) additional: Option<Box<Structural>>,
    /// `items`.
    pub(crate) items: Option<Box<Structural>>,
    pub(crate) default: Option<Value>,
    /// `x-kubernetes-list-type`.
    pub(crate) list_type: Option<String>,
    /// `x-kubernetes-list-map-keys`.
    pub(crate) list_map_keys: Vec<String>,
    /// `x-kubernetes-map-type: atomic`.
    pub(crate) atomic_map: bool,
    /// What values must satisfy.
    pub(crate) rules: Rules,
    /// CEL rules for values here: `x-kubernetes-validations`.
    pub(crate) validations: Vec<Rule>,
    /// Whether there are CEL rules here or anywhere below.
    pub(crate) has_rules: bool,
}

/// The types of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueType {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

/// Demands on a value beyond its structure.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rules {
    pub(crate) required: Vec<String>,
    pub(crate) one_of_values: Vec<Value>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) format: Option<String>,
    pub(crate) minimum: Option<Bound>,
    pub(crate) maximum: Option<Bound>,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) unique_items: bool,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) all_of: Vec<Structural>,
    pub(crate) any_of: Vec<Structural>,
    pub(crate) one_of: Vec<Structural>,
    pub(crate) not: Option<Box<Structural>>,
}

/// A regular expression, compiled when it is first needed.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    text: String,
    /// `None` inside if it does not compile here; then everything matches.
    regex: OnceLock<Option<Regex>>,
}

/// A numeric bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bound {
    pub(crate) value: f64,
    pub(crate) exclusive: bool,
}

impl Structural {
    /// Reads the `openAPIV3Schema` of a version.
    pub fn read(schema: &Value) -> Result<Structural, String> {
        let mut structural = Structural::read_at(schema, DEPTH_MAX)?;
        structural.is_root = true;
        Ok(structural)
    }

    /// Reads a part of a schema.
    pub(crate) fn read_below(schema: &Value) -> Result<Structural, String> {
        Structural::read_at(schema, DEPTH_MAX)
    }

    fn read_at(schema: &Value, depth: usize) -> Result<Structural, String> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err("the schema is nested too deep".to_owned());
        };
        let sub = |key: &str| -> Result<Option<Box<Structural>>, String> {
            match schema.get(key) {
                Some(sub @ Value::Object(_)) => Ok(Some(Box::new(Structural::read_at(sub, depth)?))),
                _ => Ok(None),
            }
        };
        let subs = |key: &str| -> Result<Vec<Structural>, String> {
            schema
                .items_at(&[key])
                .iter()
                .map(|sub| Structural::read_at(sub, depth))
                .collect()
        };
        let flag = |key: &str| schema.get(key).and_then(Value::as_bool) == Some(true);
        let texts = |key: &str| -> Vec<String> {
            schema
                .items_at(&[key])
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        };
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        let bound = |key: &str, exclusive: &str| {
            let value = schema.get(key)?.as_f64()?;
            Some(Bound {
                value,
                exclusive: flag(exclusive),
            })
        };
        let mut properties = BTreeMap::new();
        if let Some(Value::Object(fields)) = schema.get("properties") {
            for (name, field) in fields {
                let field = Structural::read_at(field, depth)
                    .map_err(|error| format!("properties[{name}].{error}"))?;
                properties.insert(name.clone(), field);
            }
        }
        let additional = match schema.get("additionalProperties") {
            Some(Value::Bool(true)) => Some(Box::new(Structural {
                preserve_unknown: true,
                ..Structural::default()
            })),
            _ => sub("additionalProperties")?,
        };
        let validations: Vec<Rule> = schema
            .items_at(&["x-kubernetes-validations"])
            .iter()
            .map(Rule::read)
            .collect();
        let items = sub("items")?;
        let all_of = subs("allOf")?;
        let has_rules = !validations.is_empty()
            || properties
                .values()
                .any(|property: &Structural| property.has_rules)
            || all_of.iter().any(|part| part.has_rules)
            || [&items, &additional]
                .into_iter()
                .flatten()
                .any(|below| below.has_rules);
        Ok(Structural {
            is_root: false,
            validations,
            has_rules,
            value_type: match schema.get("type") {
                None | Some(Value::Null) => None,
                Some(text) if text == "" => None,
                Some(text) => Some(ValueType::read(text.as_str().unwrap_or_default())?),
            },
            nullable: flag("nullable"),
            int_or_string: flag("x-kubernetes-int-or-string"),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            properties,
            additional,
            items,
            default: schema.get("default").cloned(),
            list_type: schema.text_at(&["x-kubernetes-list-type"]).map(str::to_owned),
            list_map_keys: texts("x-kubernetes-list-map-keys"),
            atomic_map: schema.text_at(&["x-kubernetes-map-type"]) == Some("atomic"),
            rules: Rules {
                required: texts("required"),
                one_of_values: schema.items_at(&["enum"]).to_vec(),
                pattern: schema.text_at(&["pattern"]).map(Pattern::new),
                format: schema.text_at(&["format"]).map(str::to_owned),
                minimum: bound("minimum", "exclusiveMinimum"),
                maximum: bound("maximum", "exclusiveMaximum"),
                multiple_of: schema.get("multipleOf").and_then(Value::as_f64),
                min_length: count("minLength"),
                max_length: count("maxLength"),
                min_items: count("minItems"),
                max_items: count("maxItems"),
                unique_items: flag("uniqueItems"),
                min_properties: count("minProperties"),
                max_properties: count("maxProperties"),
                all_of,
                any_of: subs("anyOf")?,
                one_of: subs("oneOf")?,
                not: sub("not")?,
            },
        })
    }

    pub(crate) fn is_root(&self) -> bool {
        self.is_root
    }

    /// The schema of a field; `None` if the schema declares none.
    pub(crate) fn field(&self, name: &str) -> Option<&Structural> {
        self.properties.get(name).or(self.additional.as_deref())
    }

    /// Whether a field of this name stands in `properties`.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.properties.contains_key(name)
    }

    /// The schema of list items.
    pub(crate) fn items(&self) -> Option<&Structural> {
        self.items.as_deref()
    }

    /// How a list here merges.
    pub(crate) fn list_shape(&self) -> ListShape<'_> {
        match self.list_type.as_deref() {
            Some("set") => ListShape::Set,
            Some("map") => ListShape::Map(
                self.list_map_keys
                    .iter()
                    .map(|name| Key {
                        name,
                        default: self.items().and_then(|items| items.field(name)?.default.clone()),
                    })
                    .collect(),
            ),
            _ => ListShape::Atomic,
        }
    }

    /// Whether a map here is replaced as a whole.
    pub(crate) fn is_atomic_map(&self) -> bool {
        self.atomic_map
    }
}

impl Pattern {
    fn new(text: &str) -> Pattern {
        Pattern {
            text: text.to_owned(),
            regex: OnceLock::new(),
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        let regex = self.regex.get_or_init(|| Regex::new(&self.text).ok());
        regex.as_ref().is_none_or(|regex| regex.is_match(text))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text
    }
}

impl ValueType {
    fn read(text: &str) -> Result<ValueType, String> {
        Ok(match text {
            "object" => ValueType::Object,
            "array" => ValueType::Array,
            "string" => ValueType::String,
            "integer" => ValueType::Integer,
            "number" => ValueType::Number,
            "boolean" => ValueType::Boolean,
            other => {
                return Err(format!(
                    "type: Unsupported value: \"{other}\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\""
                ));
            }
        })
    }
}
