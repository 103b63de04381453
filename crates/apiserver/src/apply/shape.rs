//! How the fields of a kind merge: which lists are keyed, which are sets, and what is replaced as a whole.

use firstpass_object::GroupVersionKind;
use firstpass_schema::{ListType, Schema, TypeRef};
use serde_json::Value;

use crate::crd::Structural;

/// The merge behaviour at some place of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape<'a> {
    /// Nothing is known: maps merge by key, lists are replaced. What Kubernetes deduces for schemaless custom resources.
    Untyped,
    /// A place in the schema of a CRD.
    Structural(&'a Structural),
    /// A place in the schema of a built-in kind, or in the metadata of any.
    Builtin(TypeRef<'static>),
}

/// How a list merges.
#[derive(Clone, Debug)]
pub(crate) enum ListShape<'a> {
    /// Replaced as a whole.
    Atomic,
    /// By value.
    Set,
    /// By the values of key fields.
    Map(Vec<Key<'a>>),
}

/// A key field of a keyed list.
#[derive(Clone, Debug)]
pub(crate) struct Key<'a> {
    pub(crate) name: &'a str,
    pub(crate) default: Option<Value>,
}

impl<'a> Shape<'a> {
    /// The shape of a whole object of a built-in kind.
    pub(crate) fn builtin(gvk: &GroupVersionKind) -> Shape<'static> {
        Schema::current()
            .type_of(&gvk.api_version(), &gvk.kind)
            .map_or(Shape::Untyped, Shape::Builtin)
    }

    /// The shape of the metadata of any object.
    fn metadata() -> Shape<'static> {
        Schema::current()
            .type_of("v1", "Pod")
            .and_then(|pod| pod.field("metadata"))
            .map_or(Shape::Untyped, Shape::Builtin)
    }

    /// The shape of a field of a map.
    pub(crate) fn field(self, name: &str) -> Shape<'a> {
        match self {
            Shape::Untyped => Shape::Untyped,
            Shape::Structural(schema) if schema.is_root() && name == "metadata" => Shape::metadata(),
            Shape::Structural(schema) => schema.field(name).map_or(Shape::Untyped, Shape::Structural),
            Shape::Builtin(type_ref) => type_ref.field(name).map_or(Shape::Untyped, Shape::Builtin),
        }
    }

    /// Whether the map at this place has free keys as far as this one goes, and the schema says so: there, keys are owned
    /// as well as what is below them. In built-in kinds nothing is below such keys.
    pub(crate) fn is_free_key(self, name: &str) -> bool {
        match self {
            Shape::Untyped => true,
            Shape::Structural(schema) if schema.is_root() => {
                !matches!(name, "apiVersion" | "kind" | "metadata") && !schema.declares(name)
            }
            Shape::Structural(schema) => !schema.declares(name),
            Shape::Builtin(_) => false,
        }
    }

    /// The shape of the items of a list.
    pub(crate) fn items(self) -> Shape<'a> {
        match self {
            Shape::Untyped => Shape::Untyped,
            Shape::Structural(schema) => schema.items().map_or(Shape::Untyped, Shape::Structural),
            Shape::Builtin(type_ref) => type_ref.elements().map_or(Shape::Untyped, Shape::Builtin),
        }
    }

    /// How the list at this place merges.
    pub(crate) fn list(self) -> ListShape<'a> {
        match self {
            Shape::Untyped => ListShape::Atomic,
            Shape::Structural(schema) => schema.list_shape(),
            Shape::Builtin(type_ref) => match type_ref.list_type() {
                ListType::Atomic => ListShape::Atomic,
                ListType::Set => ListShape::Set,
                ListType::Map(keys) => ListShape::Map(keys.iter().map(|name| Key::builtin(name)).collect()),
            },
        }
    }

    /// Whether the map at this place is replaced as a whole.
    pub(crate) fn is_atomic_map(self) -> bool {
        match self {
            Shape::Structural(schema) => schema.is_atomic_map(),
            Shape::Builtin(type_ref) => type_ref.is_atomic_map(),
            Shape::Untyped => false,
        }
    }
}

impl<'a> Key<'a> {
    /// Key fields of built-in kinds have what Go's types hold where nothing is said, and `protocol` has `TCP`.
    fn builtin(name: &'a str) -> Key<'a> {
        let default = match name {
            "protocol" => Value::from("TCP"),
            "port" | "containerPort" => Value::from(0),
            _ => Value::from(""),
        };
        Key {
            name,
            default: Some(default),
        }
    }
}
