//! From JSON to CEL: plain, or with the types that a structural schema gives.

#![expect(
    clippy::disallowed_types,
    reason = "the interpreter's maps are hash maps; no order of theirs reaches the output (see `crate::cel`)"
)]

use std::borrow::Cow;
use std::collections::HashMap;

use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelOptional, CelString,
};
use cel::common::value::Val;
use serde_json::{Number, Value};

use super::span::Span;
use crate::crd::{Structural, ValueType};

type Boxed<'a> = Box<dyn Val + 'a>;

/// Words that cannot be names of fields.
const KEYWORDS: [&str; 20] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
];

/// Content without a schema; `None` if it is too big.
pub(super) fn plain<'a>(value: &'a Value, budget: &mut usize) -> Option<Boxed<'a>> {
    *budget = budget.checked_sub(1)?;
    Some(match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(value) => Box::new(CelBool::from(*value)),
        Value::Number(number) => self::number(number),
        Value::String(text) => Box::new(CelString::from(text.as_str())),
        Value::Array(items) => {
            let items: Option<Vec<Boxed<'a>>> = items.iter().map(|item| plain(item, budget)).collect();
            Box::new(CelList::from(items?))
        }
        Value::Object(fields) => {
            let mut map: HashMap<CelMapKey<'a>, Boxed<'a>> = HashMap::with_capacity(fields.len());
            for (name, field) in fields {
                map.insert(CelMapKey::from(name.as_str()), plain(field, budget)?);
            }
            Box::new(CelMap::from(map))
        }
    })
}

/// Content with a schema; `None` if it is too big. Fields of objects that are null count as missing.
pub(super) fn with_schema<'a>(
    value: &'a Value,
    schema: &'a Structural,
    budget: &mut usize,
) -> Option<Boxed<'a>> {
    *budget = budget.checked_sub(1)?;
    Some(match value {
        Value::Number(number) if schema.value_type == Some(ValueType::Number) => {
            Box::new(CelDouble::from(number.as_f64().unwrap_or_default()))
        }
        Value::String(text) if schema.rules.format.as_deref() == Some("duration") => {
            match Span::parse(text) {
                Some(span) => Box::new(span),
                None => Box::new(CelString::from(text.as_str())),
            }
        }
        Value::Array(items) => {
            let mut order: Vec<&'a Value> = items.iter().collect();
            // Sets and keyed lists are equal in any order.
            if schema.list_type.as_deref().is_some_and(|list| list != "atomic") {
                order.sort_by_cached_key(|item| list_key(item, schema));
            }
            let items: Option<Vec<Boxed<'a>>> = order
                .into_iter()
                .map(|item| match schema.items() {
                    Some(schema) => with_schema(item, schema, budget),
                    None => plain(item, budget),
                })
                .collect();
            Box::new(CelList::from(items?))
        }
        Value::Object(fields) => {
            let mut map: HashMap<CelMapKey<'a>, Boxed<'a>> = HashMap::with_capacity(fields.len());
            for (name, field) in fields {
                let (key, content) = if let Some(schema) = schema.properties.get(name) {
                    if field.is_null() && !schema.nullable {
                        continue;
                    }
                    (escaped(name), with_schema(field, schema, budget)?)
                } else if let Some(schema) = &schema.additional {
                    (Cow::Borrowed(name.as_str()), with_schema(field, schema, budget)?)
                } else {
                    (escaped(name), plain(field, budget)?)
                };
                let key = match key {
                    Cow::Borrowed(name) => CelMapKey::from(name),
                    Cow::Owned(name) => CelMapKey::from(name),
                };
                map.insert(key, content);
            }
            Box::new(CelMap::from(map))
        }
        other => {
            *budget += 1;
            plain(other, budget)?
        }
    })
}

/// A value of plain content that borrows nothing.
pub(super) fn detached<'v>(value: &dyn Val) -> Boxed<'v> {
    let content = cel::Value::try_from(value).and_then(<Box<dyn Val>>::try_from);
    content.unwrap_or_else(|_| Box::new(CelNull))
}

/// An optional value.
pub(super) fn optional<'a>(value: Option<Boxed<'a>>) -> Boxed<'a> {
    match value {
        Some(value) => Box::new(CelOptional::of(value)),
        None => Box::new(CelOptional::none()),
    }
}

fn number<'a>(number: &Number) -> Boxed<'a> {
    match number.as_i64() {
        Some(whole) => Box::new(CelInt::from(whole)),
        None => Box::new(CelDouble::from(number.as_f64().unwrap_or_default())),
    }
}

fn list_key(item: &Value, schema: &Structural) -> String {
    if schema.list_map_keys.is_empty() {
        return item.to_string();
    }
    let keys = schema
        .list_map_keys
        .iter()
        .map(|key| item.get(key).unwrap_or(&Value::Null).to_string());
    keys.collect::<Vec<_>>().join(",")
}

/// How an expression names a property that is no identifier, or is a word of the language.
fn escaped(name: &str) -> Cow<'_, str> {
    if KEYWORDS.contains(&name) || name == "while" {
        return Cow::Owned(format!("__{name}__"));
    }
    if !name.contains("__") && !name.contains(['.', '-', '/']) {
        return Cow::Borrowed(name);
    }
    let escaped = name
        .replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__");
    Cow::Owned(escaped)
}
