//! Does an object fit the types of its kind? Server-side apply asks this before anything else, and words it in its own
//! way (structured-merge-diff's).

use std::fmt;

use firstpass_object::ObjectExt;
use firstpass_schema::fields::{self, FieldType};
use serde_json::Value;

use super::{ErrorClass, FieldError, is_unknown};
use crate::apply::{Key, ListShape, PathElement, Shape};
use crate::crd::{Structural, ValueType};

/// What a value should be.
#[derive(Clone, Copy)]
enum Type<'a> {
    Builtin(&'a FieldType),
    Struct(&'static fields::Struct),
    Structural(&'a Structural),
    /// The metadata of a custom resource.
    Metadata,
    Any,
}

/// The broad forms that structured-merge-diff tells apart.
enum Form {
    String,
    Number,
    Boolean,
    Map,
    List,
    /// A text, a number or a boolean.
    Scalar,
    Any,
}

/// A place, printed as structured-merge-diff does: `.spec.containers[name="web"].image`.
#[derive(Clone, Copy)]
struct Place<'a> {
    parent: Option<&'a Place<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Item {
        item: &'a Value,
        list: &'a ListShape<'a>,
        index: usize,
    },
}

struct Walk<'a> {
    unknown_tokens: &'a [String],
    errors: Vec<FieldError>,
}

/// Objects nested deeper do not exist outside of attacks.
const DEPTH_MAX: usize = 256;

/// Checks an object of a built-in kind. Kinds that the tables do not know fit.
pub(super) fn check_builtin(object: &Value, shape: Shape<'_>, unknown_tokens: &[String]) -> Vec<FieldError> {
    match fields::fields_of(object.api_version(), object.kind()) {
        Some(kind) => Walk::run(object, Type::Struct(kind), shape, unknown_tokens),
        None => Vec::new(),
    }
}

/// Checks a custom resource.
pub(super) fn check_custom(
    object: &Value,
    schema: &Structural,
    unknown_tokens: &[String],
) -> Vec<FieldError> {
    Walk::run(
        object,
        Type::Structural(schema),
        Shape::Structural(schema),
        unknown_tokens,
    )
}

impl<'w> Walk<'w> {
    fn run(
        object: &Value,
        kind: Type<'_>,
        shape: Shape<'_>,
        unknown_tokens: &'w [String],
    ) -> Vec<FieldError> {
        let mut walk = Walk {
            unknown_tokens,
            errors: Vec::new(),
        };
        let root = Place {
            parent: None,
            step: Step::Root,
        };
        walk.visit(object, kind, shape, &root, DEPTH_MAX);
        walk.errors
    }

    fn push(&mut self, place: &Place<'_>, message: impl Into<String>) {
        self.errors.push(FieldError {
            path: place.to_string(),
            message: message.into(),
            class: ErrorClass::Typed,
        });
    }

    fn visit(
        &mut self,
        value: &Value,
        value_type: Type<'_>,
        shape: Shape<'_>,
        place: &Place<'_>,
        depth: usize,
    ) {
        let Some(depth) = depth.checked_sub(1) else {
            return self.push(place, "nested too deep");
        };
        if let Value::String(text) = value
            && is_unknown(text, self.unknown_tokens)
        {
            return;
        }
        match (value_type.form(), value) {
            (_, Value::Null) | (Form::Any, _) => {}
            (Form::Scalar, Value::String(_) | Value::Number(_) | Value::Bool(_))
            | (Form::String, Value::String(_))
            | (Form::Number, Value::Number(_))
            | (Form::Boolean, Value::Bool(_)) => {}
            (Form::Map, Value::Object(map)) => {
                for (name, field) in map {
                    let place = Place {
                        parent: Some(place),
                        step: Step::Field(name),
                    };
                    match value_type.field(name) {
                        Some(field_type) => self.visit(field, field_type, shape.field(name), &place, depth),
                        None => self.push(&place, "field not declared in schema"),
                    }
                }
            }
            (Form::List, Value::Array(items)) => self.visit_items(items, value_type, shape, place, depth),
            (Form::String, other) => self.push(place, format!("expected string, got {}", GoSyntax(other))),
            (Form::Number, other) => {
                self.push(
                    place,
                    format!("expected numeric (int or float), got {}", go_type(other)),
                );
            }
            (Form::Boolean, other) => {
                self.push(place, format!("expected boolean, got &{{{}}}", GoValue(other)));
            }
            (Form::Scalar, other) => {
                self.push(place, format!("expected any scalar, got &{{{}}}", GoValue(other)));
            }
            (Form::Map, other) => self.push(place, format!("expected map, got &{{{}}}", GoValue(other))),
            (Form::List, other) => self.push(place, format!("expected list, got &{{{}}}", GoValue(other))),
        }
    }

    fn visit_items(
        &mut self,
        items: &[Value],
        list_type: Type<'_>,
        shape: Shape<'_>,
        place: &Place<'_>,
        depth: usize,
    ) {
        let list = shape.list();
        let item_type = list_type.items();
        let mut seen: Vec<PathElement> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            // Whatever has no place of its own ends the look at the list.
            if let Some(why) = nameless(item, &list) {
                return self.push(place, format!("element {index}: {why}"));
            }
            if let Some(element) = PathElement::of_item(item, &list) {
                if seen.contains(&element) && !self.holds_unknown(item, &list) {
                    self.push(place, format!("duplicate entries for key {element}"));
                }
                seen.push(element);
            }
            let place = Place {
                parent: Some(place),
                step: Step::Item {
                    item,
                    list: &list,
                    index,
                },
            };
            self.visit(item, item_type, shape.items(), &place, depth);
        }
    }

    /// Whether what names the item is a text that nobody knows.
    fn holds_unknown(&self, item: &Value, list: &ListShape<'_>) -> bool {
        let is_unknown = |text: Option<&str>| text.is_some_and(|text| is_unknown(text, self.unknown_tokens));
        match list {
            ListShape::Map(keys) => keys.iter().any(|key| is_unknown(item.text_at(&[key.name]))),
            _ => is_unknown(item.as_str()),
        }
    }
}

/// Why an item cannot be told apart from the others of its list.
fn nameless(item: &Value, list: &ListShape<'_>) -> Option<String> {
    match (list, item) {
        (ListShape::Map(_), Value::Null) => {
            Some("associative list with keys may not have a null element".to_owned())
        }
        (ListShape::Map(keys), Value::Object(_)) => {
            let omits = |key: &Key<'_>| item.get(key.name).is_none() && key.default.is_none();
            let names: Vec<String> = keys.iter().map(|key| format!("{:?}", key.name)).collect();
            keys.iter().all(omits).then(|| {
                format!(
                    "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                    names.join(" ")
                )
            })
        }
        (ListShape::Map(_), _) => Some("associative list with keys may not have non-map elements".to_owned()),
        (ListShape::Set, Value::Object(_)) => {
            Some("associative list without keys has an element that's a map type".to_owned())
        }
        (ListShape::Set, Value::Array(_)) => {
            Some("not supported: associative list with lists as elements".to_owned())
        }
        (ListShape::Set, Value::Null) => {
            Some("associative list without keys has an element that's an explicit null".to_owned())
        }
        _ => None,
    }
}

impl<'a> Type<'a> {
    fn of(field_type: &'a FieldType) -> Type<'a> {
        match field_type {
            FieldType::Struct(id) => Type::Struct(fields::structure(*id)),
            other => Type::Builtin(other),
        }
    }

    fn form(self) -> Form {
        match self {
            Type::Any => Form::Any,
            Type::Struct(_) | Type::Metadata => Form::Map,
            Type::Builtin(field_type) => match field_type {
                FieldType::String | FieldType::Base64 => Form::String,
                FieldType::Integer | FieldType::Number => Form::Number,
                FieldType::Boolean => Form::Boolean,
                // Texts with a format of their own are any scalar.
                FieldType::Quantity | FieldType::Time => Form::Scalar,
                FieldType::IntOrString | FieldType::Any => Form::Any,
                FieldType::List(_) => Form::List,
                FieldType::Map(_) | FieldType::Struct(_) => Form::Map,
            },
            Type::Structural(schema) if schema.int_or_string => Form::Any,
            Type::Structural(schema) => match schema.value_type {
                None => Form::Any,
                Some(ValueType::Object) => Form::Map,
                Some(ValueType::Array) => Form::List,
                Some(ValueType::String)
                    if schema
                        .rules
                        .format
                        .as_deref()
                        .is_some_and(|format| !matches!(format, "" | "byte")) =>
                {
                    Form::Scalar
                }
                Some(ValueType::String) => Form::String,
                Some(ValueType::Integer | ValueType::Number) => Form::Number,
                Some(ValueType::Boolean) => Form::Boolean,
            },
        }
    }

    /// The type of a field; `None` if there is no such field.
    fn field(self, name: &str) -> Option<Type<'a>> {
        match self {
            Type::Any => Some(Type::Any),
            Type::Metadata => metadata_type()
                .fields
                .get(name)
                .map(|field| Type::of(&field.field_type)),
            Type::Struct(structure) => structure
                .fields
                .get(name)
                .map(|field| Type::of(&field.field_type)),
            Type::Builtin(FieldType::Map(values)) => Some(Type::of(values)),
            Type::Builtin(_) => Some(Type::Any),
            Type::Structural(schema) => {
                if schema.is_root || schema.embedded {
                    match name {
                        "metadata" => return Some(Type::Metadata),
                        "apiVersion" | "kind" => return Some(Type::Builtin(&FieldType::String)),
                        _ => {}
                    }
                }
                match schema.field(name) {
                    Some(field) => Some(Type::Structural(field)),
                    None => schema.preserve_unknown.then_some(Type::Any),
                }
            }
        }
    }

    fn items(self) -> Type<'a> {
        match self {
            Type::Builtin(FieldType::List(items)) => Type::of(items),
            Type::Structural(schema) => schema.items().map_or(Type::Any, Type::Structural),
            _ => Type::Any,
        }
    }
}

fn metadata_type() -> &'static fields::Struct {
    fields::structure_named("meta.v1.ObjectMeta").expect("the tables hold the metadata of objects")
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(formatter)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Field(name) => write!(formatter, ".{name}"),
            Step::Item { item, list, index } => match PathElement::of_item(item, list) {
                Some(element) => element.fmt(formatter),
                None => write!(formatter, "[{index}]"),
            },
        }
    }
}

/// Go's name of the type that a value decodes to.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as Go prints it with `%v`.
struct GoValue<'a>(&'a Value);

impl fmt::Display for GoValue<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => formatter.write_str("<nil>"),
            Value::String(text) => formatter.write_str(text),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| GoValue(item).to_string()).collect();
                write!(formatter, "[{}]", items.join(" "))
            }
            Value::Object(map) => {
                let fields: Vec<String> = map
                    .iter()
                    .map(|(name, field)| format!("{name}:{}", GoValue(field)))
                    .collect();
                write!(formatter, "map[{}]", fields.join(" "))
            }
            scalar => scalar.fmt(formatter),
        }
    }
}

/// A value inside the wrapper that the server prints with `%#v`.
struct GoSyntax<'a>(&'a Value);

impl fmt::Display for GoSyntax<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn inner(value: &Value) -> String {
            match value {
                Value::Null => "interface {}(nil)".to_owned(),
                Value::Array(items) => {
                    let items: Vec<String> = items.iter().map(inner).collect();
                    format!("[]interface {{}}{{{}}}", items.join(", "))
                }
                Value::Object(map) => {
                    let fields: Vec<String> = map
                        .iter()
                        .map(|(name, field)| format!("{name:?}:{}", inner(field)))
                        .collect();
                    format!("map[string]interface {{}}{{{}}}", fields.join(", "))
                }
                scalar => scalar.to_string(),
            }
        }
        write!(formatter, "&value.valueUnstructured{{Value:{}}}", inner(self.0))
    }
}
