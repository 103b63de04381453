//! The fields of the built-in kinds and their types, as of Kubernetes 1.37.

use std::collections::BTreeMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("../data/fields_v1_37.txt");

static TYPES: LazyLock<Table> = LazyLock::new(Table::read);

struct Table {
    /// By `apiVersion` and kind.
    kinds: BTreeMap<(&'static str, &'static str), StructId>,
    by_name: BTreeMap<&'static str, StructId>,
    structs: Vec<Struct>,
}

/// A type with named fields, as a number into the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructId(u16);

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
    /// A map with the fields of this type; see [`structure`].
    Struct(StructId),
}

/// The fields of a kind; `None` if the kind or this version of it is not built in (any more).
pub fn fields_of(api_version: &str, kind: &str) -> Option<&'static Struct> {
    TYPES.kinds.get(&(api_version, kind)).map(|id| structure(*id))
}

/// The type that a [`FieldType::Struct`] refers to.
pub fn structure(id: StructId) -> &'static Struct {
    &TYPES.structs[usize::from(id.0)]
}

/// A type by its name, such as `meta.v1.ObjectMeta`.
pub fn structure_named(name: &str) -> Option<&'static Struct> {
    TYPES.by_name.get(name).map(|id| structure(*id))
}

impl Table {
    fn read() -> Table {
        let lines = || TABLE.lines().filter(|line| !line.starts_with('#'));
        let names = lines().filter_map(|line| line.strip_prefix("type ")?.split(' ').next());
        let by_name: BTreeMap<&'static str, StructId> = names.zip((0..).map(StructId)).collect();
        let id_of = |name: &str| {
            *by_name
                .get(name)
                .unwrap_or_else(|| panic!("fields_v1_37.txt: no type `{name}`"))
        };
        let (mut kinds, mut structs) = (BTreeMap::new(), Vec::new());
        for line in lines() {
            let mut words = line.split(' ');
            match (words.next(), words.next()) {
                (Some("kind"), Some(api_version)) => {
                    let (kind, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
                    kinds.insert((api_version, kind), id_of(name));
                }
                (Some("type"), Some(name)) => {
                    let fields = words.map(|word| Field::read(word, &id_of)).collect();
                    structs.push(Struct { name, fields });
                }
                _ => panic!("fields_v1_37.txt: cannot read `{line}`"),
            }
        }
        Table {
            kinds,
            by_name,
            structs,
        }
    }
}

impl Field {
    fn read(word: &'static str, id_of: &impl Fn(&str) -> StructId) -> (&'static str, Field) {
        let (name, code) = word
            .split_once(':')
            .unwrap_or_else(|| panic!("fields_v1_37.txt: cannot read `{word}`"));
        let is_required = name.ends_with('*');
        let field = Field {
            is_required,
            field_type: FieldType::read(code, id_of),
        };
        (name.trim_end_matches('*'), field)
    }
}

impl FieldType {
    fn read(code: &str, id_of: &impl Fn(&str) -> StructId) -> FieldType {
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
                (Some(items), _) => FieldType::List(Box::new(FieldType::read(items, id_of))),
                (_, Some(values)) => FieldType::Map(Box::new(FieldType::read(values, id_of))),
                _ => FieldType::Struct(id_of(code)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_has_the_fields_of_a_container() {
        let pod = fields_of("v1", "Pod").unwrap();
        let FieldType::Struct(spec) = pod.fields["spec"].field_type else {
            panic!("a spec has fields");
        };
        let containers = &structure(spec).fields["containers"];
        assert!(containers.is_required);
        let FieldType::List(items) = &containers.field_type else {
            panic!("containers are a list");
        };
        let FieldType::Struct(container) = **items else {
            panic!("a container has fields");
        };
        let container = structure(container);
        assert_eq!(container.name, "core.v1.Container");
        assert_eq!(structure_named("core.v1.Container"), Some(container));
        assert_eq!(container.fields["image"].field_type, FieldType::String);
        assert_eq!(fields_of("policy/v1beta1", "PodDisruptionBudget"), None);
    }
}
