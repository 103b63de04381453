//! Reading a schema from an OpenAPI document, such as the file of a kustomization's `openapi.path`.

use serde_json::{Map, Value};

use crate::merge::{KindInfo, ListType, Schema, Shape, ShapeId};

/// How deep schemas may be nested in each other without a reference.
const DEPTH_MAX: usize = 100;

/// Why a document is no schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenApiError {
    what: String,
}

impl std::fmt::Display for OpenApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for OpenApiError {}

fn error(what: impl Into<String>) -> OpenApiError {
    OpenApiError { what: what.into() }
}

impl Schema {
    /// The schema of an OpenAPI v2 document: its `definitions`, with the `x-kubernetes-*` extensions that say how
    /// lists merge, and the scopes that its `paths` imply.
    ///
    /// kustomize puts such a schema in the place of the built-in one: what it does not define, it does not know.
    ///
    /// # Errors
    /// Definitions that are no mapping, or nested too deep.
    pub fn from_openapi(document: &Value) -> Result<Schema, OpenApiError> {
        Schema::default().extended_by_openapi(document)
    }

    /// This schema with an OpenAPI v2 document added, whose definitions may refer to types of this schema and take the
    /// place of those with the same name. This is how Flux adds the file of `openapi.path` to the built-in schema.
    ///
    /// # Errors
    /// Definitions that are no mapping, or nested too deep.
    pub fn extended_by_openapi(&self, document: &Value) -> Result<Schema, OpenApiError> {
        let empty = Map::new();
        let definitions = match document.get("definitions") {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(definitions)) => definitions,
            Some(_) => return Err(error("`definitions` is no mapping")),
        };
        let mut reader = Reader {
            definitions,
            schema: self.clone(),
        };
        for name in definitions.keys() {
            reader.declare(short_name(name));
        }
        for (name, definition) in definitions {
            let shape = reader.shape(definition, DEPTH_MAX)?;
            let id = reader.schema.names[short_name(name)];
            reader.schema.shapes[id] = shape;
        }
        let mut schema = reader.schema;
        for (name, definition) in definitions {
            let shape = schema.names[short_name(name)];
            for (api_version, kind) in kinds_of(definition.get("x-kubernetes-group-version-kind")) {
                let namespaced = self.is_namespaced(&api_version, &kind);
                schema.insert_kind(api_version, kind, KindInfo { shape, namespaced });
            }
        }
        read_scopes(document, &mut schema);
        Ok(schema)
    }
}

struct Reader<'a> {
    definitions: &'a Map<String, Value>,
    schema: Schema,
}

impl Reader<'_> {
    /// Gives a type a number, unless it has one.
    fn declare(&mut self, name: &str) {
        if !self.schema.names.contains_key(name) {
            let id = self.schema.add(Shape::default());
            self.schema.names.insert(name.to_owned(), id);
        }
    }

    /// The shape that a schema describes, without following a reference of its own.
    fn shape(&mut self, schema: &Value, depth: usize) -> Result<Shape, OpenApiError> {
        let mut shape = Shape::default();
        if let Some(Value::Object(properties)) = schema.get("properties") {
            for (name, property) in properties {
                if let Some(id) = self.place(property, depth)? {
                    shape.fields.insert(name.clone(), id);
                }
            }
        }
        if let Some(values @ Value::Object(_)) = schema.get("additionalProperties") {
            shape.values = self.place(values, depth)?;
        }
        if let Some(items @ Value::Object(_)) = schema.get("items").filter(|_| is_array(schema)) {
            shape.items = self.place(items, depth)?;
        }
        shape.merge = merge_keys(schema);
        shape.list_type = match text(schema, "x-kubernetes-list-type") {
            Some("set") => ListType::Set,
            Some("map") => ListType::Map(texts(schema, "x-kubernetes-list-map-keys").unwrap_or_default()),
            _ => ListType::Atomic,
        };
        shape.atomic_map = text(schema, "x-kubernetes-map-type") == Some("atomic");
        Ok(shape)
    }

    /// The shape in a place that may refer to a definition. What stands beside a reference does not count, and a
    /// reference that leads nowhere makes the place unknown.
    fn place(&mut self, schema: &Value, depth: usize) -> Result<Option<ShapeId>, OpenApiError> {
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| error(format!("schemas are nested more than {DEPTH_MAX} deep")))?;
        let Some(reference) = text(schema, "$ref") else {
            let shape = self.shape(schema, depth)?;
            return Ok(Some(self.schema.add(shape)));
        };
        let Some(mut name) = definition_name(reference) else {
            return Ok(None);
        };
        // A definition may itself be nothing but a reference; as many steps as there are definitions is a circle.
        for _ in 0..=self.definitions.len() {
            let next = self
                .definitions
                .get(&name)
                .and_then(|definition| text(definition, "$ref"));
            match next.and_then(definition_name) {
                Some(next) => name = next,
                None => return Ok(self.schema.names.get(short_name(&name)).copied()),
            }
        }
        Ok(None)
    }
}

fn definition_name(reference: &str) -> Option<String> {
    let name = reference.strip_prefix("#/definitions/")?;
    Some(name.replace("~1", "/").replace("~0", "~"))
}

/// The name of a type without the prefix that those of Kubernetes have.
fn short_name(name: &str) -> &str {
    let name = name.strip_prefix("io.k8s.").unwrap_or(name);
    let prefixes = [
        "api.",
        "apimachinery.pkg.apis.",
        "apiextensions-apiserver.pkg.apis.",
        "kube-aggregator.pkg.apis.",
    ];
    prefixes
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name)
}

fn is_array(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == "array",
        Some(Value::Array(names)) => names.len() == 1 && names[0] == "array",
        _ => false,
    }
}

fn merge_keys(schema: &Value) -> Option<Vec<String>> {
    let strategy = text(schema, "x-kubernetes-patch-strategy")?;
    if !strategy.split(',').any(|word| word == "merge") {
        return None;
    }
    let one = || text(schema, "x-kubernetes-patch-merge-key").map(|key| vec![key.to_owned()]);
    texts(schema, "x-kubernetes-list-map-keys")
        .or_else(one)
        .or(Some(Vec::new()))
}

fn text<'a>(schema: &'a Value, key: &str) -> Option<&'a str> {
    schema.get(key)?.as_str()
}

fn texts(schema: &Value, key: &str) -> Option<Vec<String>> {
    let list = schema.get(key)?.as_array()?;
    Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

fn kinds_of(extension: Option<&Value>) -> Vec<(String, String)> {
    let list = extension
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    list.iter().filter_map(kind_of).collect()
}

fn kind_of(entry: &Value) -> Option<(String, String)> {
    let version = text(entry, "version")?;
    let kind = text(entry, "kind")?;
    let api_version = match text(entry, "group") {
        Some(group) if !group.is_empty() => format!("{group}/{version}"),
        _ => version.to_owned(),
    };
    Some((api_version, kind.to_owned()))
}

/// A kind is namespaced if any path that reads it goes through a namespace, and of the cluster if only others do.
fn read_scopes(document: &Value, schema: &mut Schema) {
    let Some(Value::Object(paths)) = document.get("paths") else {
        return;
    };
    for (path, operations) in paths {
        let extension = operations
            .get("get")
            .and_then(|get| get.get("x-kubernetes-group-version-kind"));
        let Some((api_version, kind)) = extension.and_then(kind_of) else {
            continue;
        };
        let namespaced = path.contains("namespaces/{namespace}");
        if let Some(info) = schema
            .kinds
            .get_mut(&kind)
            .and_then(|versions| versions.get_mut(&api_version))
        {
            info.namespaced = Some(namespaced || info.namespaced == Some(true));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_extends_the_built_in_schema() {
        let document = json!({"definitions": {"example.Thing": {
            "properties": {"template": {"$ref": "#/definitions/io.k8s.api.core.v1.PodTemplateSpec"}},
            "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}],
        }}});
        let containers = |schema: &Schema| {
            let template = schema.type_of("example.com/v1", "Thing")?.field("template")?;
            template
                .field("spec")?
                .field("containers")?
                .merge_keys()
                .map(<[String]>::to_vec)
        };
        let both = Schema::builtin_v1_21().extended_by_openapi(&document).unwrap();
        assert_eq!(containers(&both).unwrap(), ["name"]);
        assert_eq!(both.is_namespaced("v1", "Node"), Some(false));
        assert_eq!(containers(&Schema::from_openapi(&document).unwrap()), None);
    }

    fn sample() -> Value {
        json!({
            "definitions": {
                "v1.Rack": {
                    "properties": {
                        "spec": {"$ref": "#/definitions/v1.RackSpec"},
                    },
                    "x-kubernetes-group-version-kind": [{"group": "lab.example", "version": "v1", "kind": "Rack"}],
                },
                "v1.RackSpec": {
                    "properties": {
                        "slots": {
                            "type": "array",
                            "items": {"$ref": "#/definitions/v1.Slot"},
                            "x-kubernetes-patch-strategy": "merge",
                            "x-kubernetes-patch-merge-key": "id",
                        },
                        "tags": {"type": "array", "items": {"type": "string"}},
                        "byName": {"type": "object", "additionalProperties": {"$ref": "#/definitions/alias"}},
                    },
                },
                "alias": {"$ref": "#/definitions/v1.RackSpec"},
                "v1.Slot": {"properties": {"nested": {"$ref": "#/definitions/v1.RackSpec"}}},
            },
            "paths": {
                "/apis/lab.example/v1/racks": {
                    "get": {"x-kubernetes-group-version-kind": {"group": "lab.example", "version": "v1", "kind": "Rack"}},
                },
            },
        })
    }

    #[test]
    fn merge_keys_and_scope() {
        let schema = Schema::from_openapi(&sample()).unwrap();
        let spec = schema
            .type_of("lab.example/v1", "Rack")
            .unwrap()
            .field("spec")
            .unwrap();
        assert_eq!(spec.field("slots").unwrap().merge_keys().unwrap(), ["id"]);
        assert_eq!(spec.field("tags").unwrap().merge_keys(), None);
        let nested = spec
            .field("slots")
            .unwrap()
            .elements()
            .unwrap()
            .field("nested")
            .unwrap();
        assert_eq!(nested.field("slots").unwrap().merge_keys().unwrap(), ["id"]);
        let by_name = spec.field("byName").unwrap().field("any").unwrap();
        assert_eq!(by_name.field("slots").unwrap().merge_keys().unwrap(), ["id"]);
        assert_eq!(schema.is_namespaced("lab.example/v1", "Rack"), Some(false));
        assert!(schema.type_of("apps/v1", "Deployment").is_none());
    }

    #[test]
    fn references_in_a_circle_are_unknown() {
        let schema = Schema::from_openapi(&json!({
            "definitions": {
                "a": {"$ref": "#/definitions/b"},
                "b": {"$ref": "#/definitions/a"},
                "k": {
                    "properties": {"x": {"$ref": "#/definitions/a"}},
                    "x-kubernetes-group-version-kind": [{"version": "v1", "kind": "K"}],
                },
            },
        }))
        .unwrap();
        assert!(schema.type_of("v1", "K").unwrap().field("x").is_none());
    }

    #[test]
    fn not_a_schema() {
        assert!(Schema::from_openapi(&json!({"definitions": []})).is_err());
        let mut deep = json!({});
        for _ in 0..200 {
            deep = json!({"properties": {"x": deep}});
        }
        assert!(Schema::from_openapi(&json!({"definitions": {"a": deep}})).is_err());
    }
}
