//! CEL rules of CRDs (`x-kubernetes-validations`).
#![expect(clippy::needless_pass_by_value, reason = "literals read better as they are")]

use serde_json::json;

use super::*;

/// A server with a CRD `Thing` whose `spec` has this schema.
fn with_spec(spec: &str) -> ApiServer {
    let crd = yaml(&format!(
        r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: things.example.com}}
spec:
  group: example.com
  names: {{kind: Thing, plural: things}}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {{status: {{}}}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status: {{type: object, x-kubernetes-preserve-unknown-fields: true}}
          spec:
{}
",
        spec.trim_matches('\n')
            .lines()
            .map(|line| format!("            {line}"))
            .collect::<Vec<_>>()
            .join("\n")
    ));
    let mut server = server();
    apply(&mut server, &crd).unwrap();
    settle(&mut server);
    server
}

fn thing(spec: Value) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": {"name": "t", "namespace": "default"}, "spec": spec,
    })
}

/// What the server says to a new object; empty if it takes it.
#[track_caller]
fn check(schema: &str, spec: Value, expected: &str) {
    let mut server = with_spec(schema);
    let answer = apply(&mut server, &thing(spec.clone())).map_err(|error| error.message);
    let answer = answer.err().unwrap_or_default();
    let prefix = "Thing.example.com \"t\" is invalid: ";
    let expected = if expected.is_empty() {
        String::new()
    } else {
        format!("{prefix}{expected}")
    };
    assert_eq!(answer, expected, "{spec}");
    assert_eq!(
        server.unread_rules().count(),
        0,
        "{:?}",
        server.unread_rules().collect::<Vec<_>>()
    );
}

#[test]
fn a_rule_that_is_false_refuses_with_its_message() {
    let schema = r"
type: object
properties: {replicas: {type: integer}, least: {type: integer}}
x-kubernetes-validations:
- {rule: 'self.replicas >= self.least', message: 'too few replicas '}
";
    check(schema, json!({"replicas": 3, "least": 1}), "");
    check(
        schema,
        json!({"replicas": 0, "least": 1}),
        "spec: Invalid value: too few replicas",
    );
}

#[test]
fn without_a_message_the_rule_itself_is_named() {
    let schema = r"
type: object
properties: {name: {type: string, x-kubernetes-validations: [{rule: 'self.startsWith(''a'')'}]}}
";
    check(schema, json!({"name": "abc"}), "");
    check(
        schema,
        json!({"name": "xyz"}),
        "spec.name: Invalid value: \"xyz\": failed rule: self.startsWith('a')",
    );
}

#[test]
fn messages_paths_and_reasons_can_be_chosen() {
    let schema = r#"
type: object
properties:
  kind: {type: string}
  name: {type: string}
x-kubernetes-validations:
- {rule: "self.kind != 'bad'", messageExpression: "'kind ' + self.kind + ' is no kind'", message: other, fieldPath: .kind}
- {rule: "self.kind != 'none' || has(self.name)", message: name it, fieldPath: .name, reason: FieldValueRequired}
- {rule: "self.kind != 'forbidden'", message: not this one, fieldPath: .kind, reason: FieldValueForbidden}
"#;
    check(schema, json!({"kind": "good"}), "");
    check(
        schema,
        json!({"kind": "bad"}),
        "spec.kind: Invalid value: kind bad is no kind",
    );
    check(
        schema,
        json!({"kind": "none"}),
        "spec.name: Required value: name it",
    );
    check(
        schema,
        json!({"kind": "forbidden"}),
        "spec.kind: Forbidden: not this one",
    );
}

#[test]
fn rules_are_everywhere() {
    let schema = r"
type: object
properties:
  parts:
    type: array
    items:
      type: object
      properties: {weight: {type: integer, x-kubernetes-validations: [{rule: self > 0, message: must weigh}]}}
  limits:
    type: object
    additionalProperties:
      x-kubernetes-int-or-string: true
      x-kubernetes-validations: [{rule: 'type(self) == string ? isQuantity(self) : true', message: no quantity}]
";
    check(
        schema,
        json!({"parts": [{"weight": 1}], "limits": {"cpu": 1, "memory": "1Gi"}}),
        "",
    );
    check(
        schema,
        json!({"parts": [{"weight": 1}, {"weight": 0}], "limits": {"memory": "lots"}}),
        "[spec.limits[memory]: Invalid value: \"lots\": no quantity, spec.parts[1].weight: Invalid value: 0: must weigh]",
    );
}

#[test]
fn types_follow_the_schema() {
    let schema = r"
type: object
properties:
  ratio: {type: number}
  pause: {type: string, format: duration}
  namespace: {type: string}
  max-size: {type: integer}
  nothing: {type: string, nullable: true}
  names: {type: array, items: {type: string}, x-kubernetes-list-type: set}
x-kubernetes-validations:
- {rule: 'self.ratio < 2.5', message: ratio}
- {rule: 'self.pause >= duration(''1m'')', message: pause}
- {rule: 'self.__namespace__ == ''a'' && self.max__dash__size == 3', message: names}
- {rule: 'self.nothing == null', message: nothing}
- {rule: 'self.names == [''a'', ''b'']', message: sets have no order}
";
    let good = json!({
        "ratio": 2, "pause": "90s", "namespace": "a", "max-size": 3, "nothing": null, "names": ["b", "a"],
    });
    check(schema, good.clone(), "");
    let mut bad = good;
    bad["pause"] = json!("30s");
    bad["ratio"] = json!(3);
    check(
        schema,
        bad,
        "[spec: Invalid value: ratio, spec: Invalid value: pause]",
    );
}

#[test]
fn rules_about_a_change_need_something_before() {
    let schema = r"
type: object
properties:
  class: {type: string, x-kubernetes-validations: [{rule: self == oldSelf, message: class is immutable}]}
  parts:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name]
    items:
      type: object
      required: [name]
      properties: {name: {type: string}, size: {type: integer}}
      x-kubernetes-validations: [{rule: self.size >= oldSelf.size, message: parts do not shrink}]
  plain:
    type: array
    items: {type: integer, x-kubernetes-validations: [{rule: self >= oldSelf, message: never asked}]}
  once: {type: string, x-kubernetes-validations: [{rule: 'oldSelf.hasValue() || self != ''late''', optionalOldSelf: true, message: not at first}]}
";
    let mut server = with_spec(schema);
    let mut object = thing(json!({
        "class": "a", "parts": [{"name": "x", "size": 1}, {"name": "y", "size": 5}], "plain": [3, 2], "once": "early",
    }));
    apply(&mut server, &object).unwrap();
    object["spec"]["parts"] =
        json!([{"name": "y", "size": 5}, {"name": "x", "size": 2}, {"name": "z", "size": 0}]);
    object["spec"]["plain"] = json!([1]);
    object["spec"]["once"] = json!("late");
    apply(&mut server, &object).unwrap();
    object["spec"]["class"] = json!("b");
    object["spec"]["parts"][1]["size"] = json!(1);
    assert_eq!(
        refused(&mut server, &object),
        "Thing.example.com \"t\" is invalid: [spec.class: Invalid value: \"b\": class is immutable, \
         spec.parts[1]: Invalid value: parts do not shrink]"
    );
    let mut fresh = thing(json!({"once": "late"}));
    fresh["metadata"]["name"] = json!("u");
    assert!(refused(&mut server, &fresh).ends_with("spec.once: Invalid value: \"late\": not at first"));
    assert_eq!(server.unread_rules().count(), 0);
}

#[test]
fn what_was_there_before_is_let_through() {
    // Objects that were stored before a rule came keep working.
    let loose = "type: object\nproperties: {size: {type: integer}, other: {type: integer}}\n";
    let strict = "type: object\nproperties: {size: {type: integer, x-kubernetes-validations: [{rule: self < 5, message: too big}]}, other: {type: integer}}\n";
    let mut server = with_spec(loose);
    apply(&mut server, &thing(json!({"size": 9}))).unwrap();
    let mut other = with_spec(strict);
    let crd = get(
        &other,
        &json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"}}),
    )
    .unwrap();
    let mut crd = (*crd).clone();
    crd["metadata"] = json!({"name": "things.example.com"});
    apply(&mut server, &crd).unwrap();
    settle(&mut server);
    apply(&mut server, &thing(json!({"size": 9, "other": 1}))).unwrap();
    assert!(apply(&mut server, &thing(json!({"size": 8}))).is_err());
    assert!(apply(&mut other, &thing(json!({"size": 9}))).is_err());
}

#[test]
fn rules_wait_until_the_rest_is_right() {
    let schema = r"
type: object
required: [size]
properties: {size: {type: string, enum: [small, large]}, name: {type: string}}
x-kubernetes-validations: [{rule: self.size == 'small', message: must be small}]
";
    check(
        schema,
        json!({"size": "medium"}),
        "[spec.size: Unsupported value: \"medium\": supported values: \"small\", \"large\", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
    );
}

#[test]
fn a_rule_beyond_us_refuses_nothing_and_is_told() {
    let schema = r"
type: object
properties: {a: {type: string}, b: {type: string}}
x-kubernetes-validations:
- {rule: 'timestamp(self.a) > timestamp(''2020-01-01T00:00:00Z'')', message: too old}
- {rule: 'self.a.nobodyKnows()', message: unknown function}
";
    let mut server = with_spec(schema);
    apply(&mut server, &thing(json!({"a": "1"}))).unwrap();
    let told: Vec<String> = server
        .unread_rules()
        .map(|(kind, rule, _)| format!("{kind}: {rule}"))
        .collect();
    assert_eq!(
        told,
        [
            "Thing.example.com: too old",
            "Thing.example.com: unknown function"
        ]
    );
}

#[test]
fn a_rule_that_fails_on_a_missing_field_refuses() {
    let schema = r"
type: object
properties: {a: {type: string}, b: {type: string}}
x-kubernetes-validations: [{rule: 'self.b == ''x'''}]
";
    let mut server = with_spec(schema);
    let text = refused(&mut server, &thing(json!({"a": "1"})));
    assert!(
        text.contains("no such key: b evaluating rule: self.b == 'x'"),
        "{text}"
    );
}

#[test]
fn values_that_nobody_knows_are_not_judged() {
    let schema = r"
type: object
properties: {host: {type: string, x-kubernetes-validations: [{rule: 'self.matches(''^[a-z.]+$'')', message: no host}]}}
";
    let mut server = with_spec(schema);
    let object = thing(json!({"host": "a.${DOMAIN}"}));
    let request = Apply::forced(Arc::new(object), "test").with_unknown(Arc::from(["${DOMAIN}".to_owned()]));
    server.call(&Request::Apply(request)).unwrap();
    assert!(apply(&mut server, &thing(json!({"host": "A B"}))).is_err());
}

#[test]
fn statuses_are_not_judged() {
    let crd = yaml(
        r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-validations:
        - {rule: 'self.metadata.name == ''t''', message: name it t}
        - {rule: '!has(self.spec.x) || has(self.status.x)', message: about the status}
        properties:
          spec: {type: object, properties: {x: {type: string}}}
          status: {type: object, properties: {x: {type: string}}}
",
    );
    let mut server = server();
    apply(&mut server, &crd).unwrap();
    settle(&mut server);
    apply(&mut server, &thing(json!({"x": "1"}))).unwrap();
    let mut other = thing(json!({}));
    other["metadata"]["name"] = json!("u");
    assert_eq!(
        refused(&mut server, &other),
        "Thing.example.com \"u\" is invalid: <nil>: Invalid value: name it t"
    );
}
