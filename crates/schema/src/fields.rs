//! The fields of the built-in kinds and their types, as of Kubernetes 1.37.

use std::collections::BTreeMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("../data/fields_v1_37.txt");

static TYPES: LazyLock<Table> = LazyLock::new(Table::read);

struct Table {
    /// By `apiVersion` and kind: the name of the type.
    kinds: BTreeMap<(&'static str, &'static str), &'static str>,
    structs: BTreeMap<&'static str, Struct>,
}

/// A type with named fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struct {
    /// Its name in Kubernetes' code, such as `core.v1.Container`.
    pub name: &'static str,
    /// Its fields by name.
    pub fields: BTreeMap<&'static str, Field>,
}

/// A field of a [`Struct`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Whether the API wants it to be there.
    pub is_required: bool,
    /// What it holds.
    pub field_type: FieldType,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// Text.
    String,
    /// Bytes as base64 text.
    Base64,
    /// A moment, as RFC 3339 text.
    Time,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// An amount such as `500m` or `10Gi`, as text or number.
    Quantity,
    /// An integer, or text such as `25%` or the name of a port.
    IntOrString,
    /// Anything.
    Any,
    /// A list.
    List(Box<FieldType>),
    /// A map with free keys.
    Map(Box<FieldType>),
    /// A map with the fields of the type of this name; see [`structure`].
    Struct(&'static str),
}

/// The fields of a kind; `None` if the kind or this version of it is not built in (any more).
pub fn fields_of(api_version: &str, kind: &str) -> Option<&'static Struct> {
    structure(TYPES.kinds.get(&(api_version, kind))?)
}

/// A type by the name that [`FieldType::Struct`] holds.
pub fn structure(name: &str) -> Option<&'static Struct> {
    TYPES.structs.get(name)
}

impl Table {
    fn read() -> Table {
        let (mut kinds, mut structs) = (BTreeMap::new(), BTreeMap::new());
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split(' ');
            match (words.next(), words.next()) {
                (Some("kind"), Some(api_version)) => {
                    let (kind, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
                    kinds.insert((api_version, kind), name);
                }
                (Some("type"), Some(name)) => {
                    let fields = words.map(Field::read).collect();
                    structs.insert(name, Struct { name, fields });
                }
                _ => panic!("fields_v1_37.txt: cannot read `{line}`"),
            }
        }
        Table { kinds, structs }
    }
}

impl Field {
    fn read(word: &'static str) -> (&'static str, Field) {
        let (name, code) = word
            .split_once(':')
            .unwrap_or_else(|| panic!("fields_v1_37.txt: cannot read `{word}`"));
        let is_required = name.ends_with('*');
        let field = Field {
            is_required,
            field_type: FieldType::read(code),
        };
        (name.trim_end_matches('*'), field)
    }
}

impl FieldType {
    fn read(code: &'static str) -> FieldType {
        match code {
            "string" => FieldType::String,
            "base64" => FieldType::Base64,
            "time" => FieldType::Time,
            "integer" => FieldType::Integer,
            "number" => FieldType::Number,
            "boolean" => FieldType::Boolean,
            "quantity" => FieldType::Quantity,
            "int-or-string" => FieldType::IntOrString,
            "any" => FieldType::Any,
            _ => match (code.strip_prefix("[]"), code.strip_prefix("{}")) {
                (Some(items), _) => FieldType::List(Box::new(FieldType::read(items))),
                (_, Some(values)) => FieldType::Map(Box::new(FieldType::read(values))),
                _ => FieldType::Struct(code),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_type_is_in_the_table() {
        fn check(field_type: &FieldType) {
            match field_type {
                FieldType::List(inner) | FieldType::Map(inner) => check(inner),
                FieldType::Struct(name) => assert!(structure(name).is_some(), "{name}"),
                _ => {}
            }
        }
        for structure in TYPES.structs.values() {
            structure
                .fields
                .values()
                .for_each(|field| check(&field.field_type));
        }
        assert!(TYPES.kinds.values().all(|name| structure(name).is_some()));
    }

    #[test]
    fn a_container_has_the_fields_of_a_container() {
        let pod = fields_of("v1", "Pod").unwrap();
        let FieldType::Struct(spec) = pod.fields["spec"].field_type else {
            panic!("a spec has fields");
        };
        let containers = &structure(spec).unwrap().fields["containers"];
        assert!(containers.is_required);
        assert_eq!(
            containers.field_type,
            FieldType::List(Box::new(FieldType::Struct("core.v1.Container")))
        );
        let container = structure("core.v1.Container").unwrap();
        assert_eq!(container.fields["image"].field_type, FieldType::String);
        assert_eq!(fields_of("policy/v1beta1", "PodDisruptionBudget"), None);
    }
}
