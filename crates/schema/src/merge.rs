//! Which lists merge, and by which keys: a graph of types, from kinds down to the lists.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What one version of Kubernetes, or a file of the user's, says about lists.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    pub(crate) shapes: Vec<Shape>,
    /// By kind, then by API version.
    pub(crate) kinds: BTreeMap<String, BTreeMap<String, KindInfo>>,
    /// Types by name, without the prefix that those of Kubernetes have.
    pub(crate) names: BTreeMap<String, ShapeId>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct KindInfo {
    pub(crate) shape: ShapeId,
    pub(crate) namespaced: Option<bool>,
}

pub(crate) type ShapeId = usize;

/// What is known of the values in one place. Everything refers to other shapes by number, since types are recursive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) fields: BTreeMap<String, ShapeId>,
    /// What the values of a map with free keys look like.
    pub(crate) values: Option<ShapeId>,
    /// What the elements of a list look like.
    pub(crate) items: Option<ShapeId>,
    /// The keys of a list that strategic merge merges; empty if its elements are scalars.
    pub(crate) merge: Option<Vec<String>>,
    pub(crate) list_type: ListType,
    pub(crate) atomic_map: bool,
}

/// How server-side apply looks at a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// One value, owned and replaced as a whole.
    #[default]
    Atomic,
    /// A set of scalars, each owned by itself.
    Set,
    /// Elements told apart by the values of these fields.
    Map(Vec<String>),
}

/// The type of the values in one place of an object.
#[derive(Clone, Copy, Debug)]
pub struct TypeRef<'schema> {
    schema: &'schema Schema,
    shape: &'schema Shape,
}

static V1_21: LazyLock<Schema> = LazyLock::new(|| Schema::from_table(include_str!("../data/v1_21.txt")));
static V1_37: LazyLock<Schema> = LazyLock::new(|| Schema::from_table(include_str!("../data/v1_37.txt")));

impl Schema {
    /// Kubernetes v1.21.2, by which kustomize 5.8.1 merges. It knows no types of server-side apply.
    pub fn builtin_v1_21() -> &'static Schema {
        &V1_21
    }

    /// Kubernetes 1.37, for the API server.
    pub fn current() -> &'static Schema {
        &V1_37
    }

    /// The type of a kind; none if the schema does not know the kind.
    pub fn type_of(&self, api_version: &str, kind: &str) -> Option<TypeRef<'_>> {
        self.info(api_version, kind).map(|info| self.type_ref(info.shape))
    }

    /// Whether the objects of a kind live in namespaces, as far as this schema knows.
    pub fn is_namespaced(&self, api_version: &str, kind: &str) -> Option<bool> {
        self.info(api_version, kind).and_then(|info| info.namespaced)
    }

    fn info(&self, api_version: &str, kind: &str) -> Option<KindInfo> {
        self.kinds.get(kind)?.get(api_version).copied()
    }

    fn type_ref(&self, id: ShapeId) -> TypeRef<'_> {
        TypeRef {
            schema: self,
            shape: &self.shapes[id],
        }
    }

    /// Reads a table of `data/`. The tables are ours and tested, so a row that cannot be read is a bug.
    fn from_table(table: &'static str) -> Schema {
        let mut schema = Schema::default();
        let mut types: BTreeMap<&'static str, ShapeId> = BTreeMap::new();
        let rows = || table.lines().filter(|line| !line.starts_with('#'));
        for row in rows() {
            if let Some(name) = row
                .strip_prefix("type ")
                .and_then(|rest| rest.split([' ', '!']).next())
            {
                types.insert(name, schema.shapes.len());
                schema.names.insert(name.to_owned(), schema.shapes.len());
                schema.shapes.push(Shape::default());
            }
        }
        for row in rows() {
            let mut words = row.split(' ');
            match words.next() {
                Some("type") => {
                    let (name, marks) = split_marks(words.next().expect("a type has a name"));
                    let id = types[name];
                    schema.shapes[id].mark(marks);
                    for field in words {
                        let (field, shape) = field.split_once(':').expect("a field has a shape");
                        let shape = schema.read_shape(shape, &types);
                        schema.shapes[id].fields.insert(field.to_owned(), shape);
                    }
                }
                Some("kind") => {
                    let mut next = || words.next().expect("a kind has a version, a name and a type");
                    let (api_version, kind, name) = (next(), next(), next());
                    let namespaced = words.next().map(|scope| scope == "namespaced");
                    let shape = types
                        .get(name)
                        .copied()
                        .unwrap_or_else(|| schema.add(Shape::default()));
                    schema.insert_kind(
                        api_version.to_owned(),
                        kind.to_owned(),
                        KindInfo { shape, namespaced },
                    );
                }
                other => panic!("a row begins with `{other:?}`"),
            }
        }
        schema
    }

    /// A shape is a name, `-` for an object that holds no list of interest, or the empty text for a scalar;
    /// `[]` before it makes a list, `{}` a map. Marks follow, each after a `!`.
    fn read_shape(&mut self, text: &str, types: &BTreeMap<&'static str, ShapeId>) -> ShapeId {
        let (text, marks) = split_marks(text);
        let mut shape = Shape::default();
        if let Some(items) = text.strip_prefix("[]") {
            shape.items = Some(self.read_shape(items, types));
        } else if let Some(values) = text.strip_prefix("{}") {
            shape.values = Some(self.read_shape(values, types));
        } else if let Some(id) = types.get(text) {
            return *id;
        } else {
            assert!(text.is_empty() || text == "-", "unknown type `{text}`");
        }
        shape.mark(marks);
        self.add(shape)
    }

    pub(crate) fn insert_kind(&mut self, api_version: String, kind: String, info: KindInfo) {
        self.kinds.entry(kind).or_default().insert(api_version, info);
    }

    pub(crate) fn add(&mut self, shape: Shape) -> ShapeId {
        self.shapes.push(shape);
        self.shapes.len() - 1
    }
}

fn split_marks(text: &str) -> (&str, std::str::Split<'_, char>) {
    let (name, marks) = text
        .find('!')
        .map_or((text, ""), |at| (&text[..at], &text[at + 1..]));
    (name, marks.split('!'))
}

impl Shape {
    fn mark<'a>(&mut self, marks: impl Iterator<Item = &'a str>) {
        let keys = |text: &str| {
            text.split(',')
                .filter(|key| !key.is_empty())
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        for mark in marks.filter(|mark| !mark.is_empty()) {
            match mark.split_once('=').unwrap_or((mark, "")) {
                ("merge", text) => self.merge = Some(keys(text)),
                ("map", text) => self.list_type = ListType::Map(keys(text)),
                ("set", _) => self.list_type = ListType::Set,
                ("atomic", _) => self.atomic_map = true,
                other => panic!("unknown mark `{other:?}`"),
            }
        }
    }
}

impl<'schema> TypeRef<'schema> {
    /// The type of a field, or of any value if this is a map with free keys; none if the schema has no such field.
    pub fn field(self, name: &str) -> Option<TypeRef<'schema>> {
        self.shape
            .fields
            .get(name)
            .copied()
            .or(self.shape.values)
            .map(|id| self.schema.type_ref(id))
    }

    /// The type of the elements, if this is a list.
    pub fn elements(self) -> Option<TypeRef<'schema>> {
        self.shape.items.map(|id| self.schema.type_ref(id))
    }

    /// If strategic merge merges this list: the fields that tell its elements apart, none for a list of scalars.
    pub fn merge_keys(self) -> Option<&'schema [String]> {
        self.shape.merge.as_deref()
    }

    /// How server-side apply looks at this list.
    pub fn list_type(self) -> &'schema ListType {
        &self.shape.list_type
    }

    /// Whether server-side apply takes this map for one value.
    pub fn is_atomic_map(self) -> bool {
        self.shape.atomic_map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(
        schema: &'static Schema,
        api_version: &str,
        kind: &str,
        path: &[&str],
    ) -> Option<&'static [String]> {
        let mut at = schema.type_of(api_version, kind)?;
        for part in path {
            at = if *part == "[]" {
                at.elements()?
            } else {
                at.field(part)?
            };
        }
        at.merge_keys()
    }

    fn old(api_version: &str, kind: &str, path: &[&str]) -> Option<&'static [String]> {
        keys(Schema::builtin_v1_21(), api_version, kind, path)
    }

    #[test]
    fn lists_with_one_key() {
        let pod = ["spec", "template", "spec"];
        let at = |rest: &[&'static str]| old("apps/v1", "Deployment", &[&pod[..], rest].concat());
        assert_eq!(at(&["containers"]).unwrap(), ["name"]);
        assert_eq!(at(&["containers", "[]", "env"]).unwrap(), ["name"]);
        assert_eq!(at(&["containers", "[]", "volumeMounts"]).unwrap(), ["mountPath"]);
        assert_eq!(at(&["hostAliases"]).unwrap(), ["ip"]);
        assert_eq!(at(&["tolerations"]), None);
    }

    #[test]
    fn lists_with_two_keys() {
        assert_eq!(
            old("v1", "Service", &["spec", "ports"]).unwrap(),
            ["port", "protocol"]
        );
        assert_eq!(
            old("v1", "Pod", &["spec", "containers", "[]", "ports"]).unwrap(),
            ["containerPort", "protocol"]
        );
    }

    #[test]
    fn lists_of_scalars() {
        assert!(
            old("v1", "ConfigMap", &["metadata", "finalizers"])
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn unknown_kinds_and_fields() {
        assert!(
            Schema::builtin_v1_21()
                .type_of("example.com/v1", "Thing")
                .is_none()
        );
        assert!(
            Schema::builtin_v1_21()
                .type_of("rbac.authorization.k8s.io/v1alpha1", "Role")
                .is_none()
        );
        let pod = Schema::builtin_v1_21().type_of("v1", "Pod").unwrap();
        assert!(pod.field("spec").unwrap().field("resourceClaims").is_none());
    }

    #[test]
    fn scopes_as_kustomize_knows_them() {
        let scope = |api_version, kind| Schema::builtin_v1_21().is_namespaced(api_version, kind);
        assert_eq!(scope("v1", "Node"), Some(false));
        assert_eq!(scope("apps/v1", "Deployment"), Some(true));
        assert_eq!(scope("policy/v1beta1", "PodSecurityPolicy"), Some(false));
        assert_eq!(scope("example.com/v1", "Thing"), None);
        // Not there in 1.21.
        assert_eq!(
            scope("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
            None
        );
    }

    #[test]
    fn the_current_schema_knows_server_side_apply() {
        let service = Schema::current().type_of("v1", "Service").unwrap();
        let spec = service.field("spec").unwrap();
        assert_eq!(
            *spec.field("ports").unwrap().list_type(),
            ListType::Map(vec!["port".to_owned(), "protocol".to_owned()])
        );
        assert!(spec.field("selector").unwrap().is_atomic_map());
        let meta = service.field("metadata").unwrap();
        assert_eq!(*meta.field("finalizers").unwrap().list_type(), ListType::Set);
        let role = Schema::current()
            .type_of("rbac.authorization.k8s.io/v1", "Role")
            .unwrap();
        assert_eq!(*role.field("rules").unwrap().list_type(), ListType::Atomic);
    }

    #[test]
    fn recursive_types_end() {
        let mut at = Schema::current()
            .type_of("apiextensions.k8s.io/v1", "CustomResourceDefinition")
            .and_then(|at| {
                at.field("spec")?
                    .field("versions")?
                    .elements()?
                    .field("schema")?
                    .field("openAPIV3Schema")
            })
            .unwrap();
        for _ in 0..100 {
            at = at.field("properties").unwrap().field("anything").unwrap();
        }
    }
}
