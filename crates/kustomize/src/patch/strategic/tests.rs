use serde_json::{Value, json};

use super::*;

fn merge_with(order: ListOrder, target: &str, patch: &str) -> Result<Option<Value>, Error> {
    let mut target = firstpass_yaml::parse_one(target).unwrap();
    let patch = firstpass_yaml::parse_one(patch).unwrap();
    let outcome = apply(&mut target, &patch, Schema::builtin_v1_21(), order)?;
    Ok((outcome == Outcome::Merged).then(|| target.to_json().unwrap()))
}

/// Merges objects of a kind without a schema.
#[track_caller]
fn check(target: &str, patch: &str, expected: &Value) {
    let merged = merge_with(ListOrder::Prepend, target, patch).unwrap();
    assert_eq!(merged.unwrap_or_default(), *expected);
}

/// Merges the specs of pods.
#[track_caller]
fn check_pod(target: &str, patch: &str, expected: &Value) {
    let pod = |spec: &str| format!("{{apiVersion: v1, kind: Pod, spec: {spec}}}");
    let merged = merge_with(ListOrder::Prepend, &pod(target), &pod(patch))
        .unwrap()
        .unwrap();
    assert_eq!(merged["spec"], *expected);
}

#[test]
fn mappings_merge_and_nulls_delete() {
    check(
        "{a: 1, b: {c: 2, d: 3}}",
        "{b: {c: 4, d: null}, e: 5}",
        &json!({"a": 1, "b": {"c": 4}, "e": 5}),
    );
    check("{a: 1}", "{a: ~, b: null}", &json!({}));
    check("{a: {b: 1}}", "{a: null}", &json!({}));
    check("{a: {b: 1}}", "{a: {}}", &json!({"a": {"b": 1}}));
}

#[test]
fn nulls_of_the_target() {
    check(
        "{a: null, b: ~, c: }",
        "{d: 1}",
        &json!({"a": null, "b": null, "d": 1}),
    );
    check("{a: null}", "{a: 1}", &json!({"a": 1}));
    check("{a: null}", "{a: null}", &json!({}));
}

#[test]
fn what_is_added_is_cleaned() {
    check("{}", "{a: {b: null, c: {d: null}}}", &json!({"a": {"c": {}}}));
    check(
        "{}",
        "{a: {x: {$patch: delete, b: 1}, y: {$patch: replace, c: 1}}}",
        &json!({"a": {"y": {"c": 1}}}),
    );
    check("{}", "{a: {$patch: delete}}", &json!({}));
    check(
        "{}",
        "{a: [{b: null, $patch: delete}]}",
        &json!({"a": [{"b": null, "$patch": "delete"}]}),
    );
}

#[test]
fn directives_in_mappings() {
    check(
        "{a: {b: 1}}",
        "{a: {$patch: replace, c: 2}}",
        &json!({"a": {"c": 2}}),
    );
    check(
        "{a: {b: 1}}",
        "{a: {$patch: merge, c: 2}}",
        &json!({"a": {"b": 1, "c": 2}}),
    );
    check("{a: {b: 1}}", "{a: {$patch: delete}}", &json!({}));
    check("{a: 1}", "{$patch: delete}", &Value::Null);
    // The object as a whole cannot be replaced.
    check("{a: 1}", "{$patch: replace, b: 2}", &json!({"a": 1}));
    let error = merge_with(ListOrder::Prepend, "{a: {b: 1}}", "{a: {$patch: gone}}").unwrap_err();
    assert_eq!(error.what, "in field `a`: unknown patch strategy 'gone'");
    // Nothing is there to apply an unknown word to.
    check("{}", "{a: {$patch: gone}}", &json!({"a": {"$patch": "gone"}}));
}

#[test]
fn lists_without_a_schema_are_replaced() {
    check(
        "{a: [{name: x, b: 1}]}",
        "{a: [{name: x, c: 2}]}",
        &json!({"a": [{"name": "x", "c": 2}]}),
    );
    check("{a: [1, 2]}", "{a: []}", &json!({"a": []}));
    check("{a: [1, 2]}", "{a: null}", &json!({}));
}

#[test]
fn an_object_within_an_object_has_its_own_schema() {
    let pod = |container: &str| {
        format!("{{template: {{apiVersion: v1, kind: Pod, spec: {{containers: [{container}]}}}}}}")
    };
    let merged = merge_with(
        ListOrder::Prepend,
        &pod("{name: a, image: x}"),
        &pod("{name: a, tty: true}"),
    );
    let containers = &merged.unwrap().unwrap()["template"]["spec"]["containers"];
    assert_eq!(*containers, json!([{"name": "a", "image": "x", "tty": true}]));
}

#[test]
fn lists_with_a_key() {
    check_pod(
        "{containers: [{name: a, image: x}, {name: b, image: y}]}",
        "{containers: [{name: c}, {name: b, tty: true}]}",
        &json!({"containers": [{"name": "c"}, {"name": "b", "image": "y", "tty": true}, {"name": "a", "image": "x"}]}),
    );
    check_pod(
        "{containers: [{name: a}, {name: b}]}",
        "{containers: [{name: a, $patch: delete}]}",
        &json!({"containers": [{"name": "b"}]}),
    );
    check_pod(
        "{containers: [{name: a}]}",
        "{containers: [{name: a, $patch: delete}]}",
        &json!({"containers": []}),
    );
    check_pod(
        "{containers: [{name: a}]}",
        "{containers: [{$patch: delete}]}",
        &json!({}),
    );
    check_pod(
        "{containers: [{name: a}]}",
        "{containers: [{name: b}, {$patch: replace}]}",
        &json!({"containers": [{"name": "b"}]}),
    );
}

#[test]
fn appending() {
    let pod = |names: &str| format!("{{apiVersion: v1, kind: Pod, spec: {{containers: [{names}]}}}}");
    let merged = merge_with(
        ListOrder::Append,
        &pod("{name: a}, {name: b}"),
        &pod("{name: c}, {name: a, tty: true}"),
    );
    assert_eq!(
        merged.unwrap().unwrap()["spec"]["containers"],
        json!([{"name": "a", "tty": true}, {"name": "b"}, {"name": "c"}])
    );
}

#[test]
fn lists_of_scalars() {
    check(
        "{apiVersion: v1, kind: Pod, metadata: {finalizers: [a, b]}}",
        "{metadata: {finalizers: [c, b]}}",
        &json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"finalizers": ["c", "b", "a"]}}),
    );
}

#[test]
fn lists_with_two_keys() {
    let ports = |ports: &str| format!("{{containers: [{{name: a, ports: [{ports}]}}]}}");
    check_pod(
        &ports("{containerPort: 80, protocol: TCP}, {containerPort: 80, protocol: UDP}"),
        &ports("{containerPort: 80, protocol: UDP, name: u}"),
        &json!({"containers": [{"name": "a", "ports": [
            {"containerPort": 80, "protocol": "TCP"},
            {"containerPort": 80, "protocol": "UDP", "name": "u"},
        ]}]}),
    );
    check_pod(
        &ports("{containerPort: 80}, {containerPort: 81}"),
        &ports("{containerPort: 80, name: n}"),
        &json!({"containers": [{"name": "a", "ports": [{"containerPort": 80, "name": "n"}, {"containerPort": 81}]}]}),
    );
}

#[test]
fn quotes_of_the_target_decide() {
    check(
        "{a: '1', b: 1, c: x}",
        "{a: 2, b: '2', c: 3}",
        &json!({"a": "2", "b": "2", "c": 3}),
    );
}

#[test]
fn shapes_that_do_not_fit() {
    let error = merge_with(ListOrder::Prepend, "{a: {b: [1]}}", "{a: {b: {c: 1}}}").unwrap_err();
    assert_eq!(
        error.what,
        "in field `a.b`: wrong node kind: expected SequenceNode but got MappingNode"
    );
    assert!(merge_with(ListOrder::Prepend, "{a: 1}", "{a: [1]}").is_err());
}

mod laws {
    use proptest::prelude::*;

    use super::*;

    fn tree(keys: &'static str) -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-z0-9]{0,4}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map(keys, inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn object() -> impl Strategy<Value = Value> {
        proptest::collection::btree_map("[a-d]", tree("[a-d]"), 0..4)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    fn merged(target: &Value, patch: &Value) -> Option<Value> {
        let mut node = Node::from_json(target);
        let patch = Node::from_json(patch);
        apply(&mut node, &patch, Schema::builtin_v1_21(), ListOrder::Prepend).ok()?;
        node.to_json().ok()
    }

    proptest! {
        #[test]
        fn a_patch_without_directives_is_idempotent(target in object(), patch in object()) {
            if let Some(once) = merged(&target, &patch) {
                prop_assert_eq!(merged(&once, &patch), Some(once));
            }
        }

        #[test]
        fn an_empty_patch_changes_nothing(target in object()) {
            prop_assert_eq!(merged(&target, &serde_json::json!({})), Some(target));
        }

        #[test]
        fn what_the_patch_does_not_name_stays(target in object(), patch in object()) {
            if let Some(merged) = merged(&target, &patch) {
                for (key, value) in target.as_object().unwrap() {
                    if patch.get(key).is_none() {
                        prop_assert_eq!(merged.get(key), Some(value));
                    }
                }
            }
        }

        #[test]
        fn elements_of_a_merging_list_stay_unique(
            old in proptest::collection::vec(("[a-d]", any::<u8>()), 0..5),
            new in proptest::collection::vec(("[a-d]", any::<u8>()), 0..5),
        ) {
            let pod = |list: &[(String, u8)]| {
                let items: Vec<Value> = list.iter().map(|(name, n)| json!({"name": name, "n": n})).collect();
                json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": items}})
            };
            let merged = merged(&pod(&old), &pod(&new)).unwrap();
            let mut names: Vec<&str> =
                merged["spec"]["containers"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
            names.sort_unstable();
            let mut expected: Vec<&str> = old.iter().chain(&new).map(|(name, _)| name.as_str()).collect();
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(names, expected);
        }
    }
}
