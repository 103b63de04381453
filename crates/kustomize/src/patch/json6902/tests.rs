use proptest::prelude::*;
use serde_json::json;

use super::*;

fn run(target: &str, patch: &str) -> Result<Value, Error> {
    let mut node = firstpass_yaml::parse_one(target).unwrap();
    apply(&mut node, &Patch::parse(patch)?)?;
    Ok(node.to_json().unwrap())
}

#[track_caller]
fn check(target: &str, patch: &str, expected: &Value) {
    assert_eq!(run(target, patch).unwrap(), *expected);
}

#[track_caller]
fn check_error(target: &str, patch: &str, part: &str) {
    let error = run(target, patch).unwrap_err();
    assert!(error.what.contains(part), "{error}");
}

#[test]
fn adding() {
    check(
        "{a: 1}",
        "- {op: add, path: /b, value: {c: 2}}",
        &json!({"a": 1, "b": {"c": 2}}),
    );
    check(
        "{a: [1, 3]}",
        "- {op: add, path: /a/1, value: 2}",
        &json!({"a": [1, 2, 3]}),
    );
    check(
        "{a: [1]}",
        "- {op: add, path: /a/-, value: 2}",
        &json!({"a": [1, 2]}),
    );
    check(
        "{a: [1]}",
        "- {op: add, path: /a/-1, value: 2}",
        &json!({"a": [1, 2]}),
    );
    check(
        "{a: [1]}",
        "- {op: add, path: /a/-2, value: 2}",
        &json!({"a": [2, 1]}),
    );
    check("{}", "- {op: add, path: /a}", &json!({"a": null}));
    check("{}", "- {op: add, path: x/a, value: 1}", &json!({"a": 1}));
    check_error("{}", "- {op: add, path: /a/b, value: 1}", "doc is missing path");
    check_error(
        "{a: null}",
        "- {op: add, path: /a/b, value: 1}",
        "doc is missing path",
    );
    check_error("{a: [1]}", "- {op: add, path: /a/2, value: 1}", "invalid index");
    check_error(
        "{a: [1]}",
        "- {op: add, path: /a/x, value: 1}",
        "not a proper array index",
    );
    check_error("{}", "- {op: add, path: '', value: 1}", "doc is missing path");
}

#[test]
fn removing() {
    check("{a: 1, b: 2}", "- {op: remove, path: /a}", &json!({"b": 2}));
    check(
        "{a: [1, 2, 3]}",
        "- {op: remove, path: /a/-1}",
        &json!({"a": [1, 2]}),
    );
    check_error("{a: 1}", "- {op: remove, path: /b}", "nonexistent key: b");
    check_error("{a: [1]}", "- {op: remove, path: /a/1}", "invalid index");
}

#[test]
fn replacing() {
    check("{a: 1}", "- {op: replace, path: /a, value: 2}", &json!({"a": 2}));
    check("{}", "- {op: replace, path: /a, value: 2}", &json!({"a": 2}));
    check(
        "{a: 1}",
        "- {op: replace, path: '', value: {b: 2}}",
        &json!({"b": 2}),
    );
    check_error(
        "{a: [1]}",
        "- {op: replace, path: /a/1, value: 2}",
        "invalid index",
    );
    check_error(
        "{}",
        "- {op: replace, path: /a/b, value: 2}",
        "doc is missing path",
    );
    check_error("{}", "- {op: replace, path: '', value: [1]}", "no mapping");
}

#[test]
fn moving_and_copying() {
    check("{a: 1}", "- {op: move, from: /a, path: /b}", &json!({"b": 1}));
    check(
        "{a: {b: 1}}",
        "- {op: copy, from: /a, path: /c}",
        &json!({"a": {"b": 1}, "c": {"b": 1}}),
    );
    check("{}", "- {op: copy, from: /a, path: /c}", &json!({"c": null}));
    check_error("{}", "- {op: move, from: /a, path: /b}", "nonexistent key");
    check_error("{a: 1}", "- {op: move, path: /b}", "no `from`");
}

#[test]
fn testing() {
    check(
        "{a: {b: [1]}}",
        "- {op: test, path: /a, value: {b: [1]}}",
        &json!({"a": {"b": [1]}}),
    );
    check("{}", "- {op: test, path: /a}", &json!({}));
    check_error(
        "{a: 1}",
        "- {op: test, path: /a, value: 2}",
        "testing value /a failed",
    );
    check_error(
        "{a: 1}",
        "- {op: test, path: /a, value: '1'}",
        "testing value /a failed",
    );
}

#[test]
fn escapes() {
    check(
        "{annotations: {}}",
        "- {op: add, path: /annotations/example.com~1a~0b, value: x}",
        &json!({"annotations": {"example.com/a~b": "x"}}),
    );
    check("{}", "- {op: add, path: /~01, value: x}", &json!({"~1": "x"}));
}

#[test]
fn ways_to_write_a_patch() {
    check(
        "{}",
        r#"[{"op": "add", "path": "/a", "value": "yes"}]"#,
        &json!({"a": "yes"}),
    );
    check("{}", "- {op: add, path: /a, value: yes}", &json!({"a": true}));
    check("{}", "- {op: add, path: /a, value: 'yes'}", &json!({"a": "yes"}));
    check(
        "{}",
        "- {op: add, path: /a, value: 2020-01-01}",
        &json!({"a": "2020-01-01"}),
    );
    assert!(Patch::parse("").unwrap().is_empty());
    assert!(Patch::parse("{op: add}").is_err());
    assert!(Patch::parse("[{op: add}]").is_err());
    assert!(Patch::parse("- 1").is_err());
    check_error("{}", "- {op: put, path: /a}", "unexpected kind");
    check_error("{}", "- {path: /a}", "unexpected kind");
}

#[test]
fn numbers_go_through_floats() {
    check(
        "{a: 9007199254740993, b: 1000000, c: 0x10}",
        "- {op: add, path: /d, value: 1}",
        &json!({"a": 9007199254740992_i64, "b": 1_000_000, "c": 16, "d": 1}),
    );
}

#[test]
fn copies_of_copies() {
    let copy = r#"{"op": "copy", "from": "/a", "path": "/a/b"}"#;
    let both = r#"{"op": "copy", "from": "/a", "path": "/a/c"}"#;
    let growing = format!("[{}]", vec![format!("{copy}, {both}"); 40].join(", "));
    check_error("{a: {}}", &growing, "too much");
}

#[test]
fn quotes_after_a_patch() {
    let mut node = firstpass_yaml::parse_one("{a: '5', b: x}").unwrap();
    apply(&mut node, &Patch::default()).unwrap();
    for key in ["a", "b"] {
        crate::scalar::set_scalar(node.get_mut(key).unwrap(), "7", None).unwrap();
    }
    assert_eq!(node.to_json().unwrap(), json!({"a": "7", "b": 7}));
}

fn object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z~/]{0,4}".prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-c~/]{1,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    proptest::collection::btree_map("[a-c~/]{1,2}", tree, 1..5)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

fn pointer(key: &str) -> String {
    format!("/{}", key.replace('~', "~0").replace('/', "~1"))
}

fn patched(target: &Value, operations: Value) -> Result<Value, Error> {
    let mut node = Node::from_json(target);
    apply(&mut node, &Patch::from_json(operations)?)?;
    Ok(node.to_json().unwrap())
}

proptest! {
    #[test]
    fn add_and_remove_are_inverse(target in object(), value in object()) {
        let path = "/new";
        let there_and_back = json!([
            {"op": "add", "path": path, "value": value},
            {"op": "test", "path": path, "value": value},
            {"op": "remove", "path": path},
        ]);
        prop_assert_eq!(patched(&target, there_and_back).unwrap(), target);
    }

    #[test]
    fn remove_and_add_are_inverse(target in object(), pick in any::<proptest::sample::Index>()) {
        let map = target.as_object().unwrap();
        let (key, value) = map.iter().nth(pick.index(map.len())).unwrap();
        let path = pointer(key);
        let there_and_back = json!([
            {"op": "remove", "path": path},
            {"op": "add", "path": path, "value": value},
        ]);
        prop_assert_eq!(patched(&target, there_and_back).unwrap(), target.clone());
    }

    #[test]
    fn a_move_is_a_copy_and_a_removal(target in object(), pick in any::<proptest::sample::Index>()) {
        let map = target.as_object().unwrap();
        let path = pointer(map.keys().nth(pick.index(map.len())).unwrap());
        let moved = patched(&target, json!([{"op": "move", "from": path, "path": "/new"}])).unwrap();
        let copied = patched(&target, json!([
            {"op": "copy", "from": path, "path": "/new"},
            {"op": "remove", "path": path},
        ]));
        prop_assert_eq!(moved, copied.unwrap());
    }

    #[test]
    fn list_operations_are_inverse(items in proptest::collection::vec(any::<i16>(), 0..5), at in -6_i64..6) {
        let target = json!({"a": items});
        let path = format!("/a/{at}");
        if let Ok(longer) = patched(&target, json!([{"op": "add", "path": path, "value": "new"}])) {
            let back = json!([{"op": "test", "path": path, "value": "new"}, {"op": "remove", "path": path}]);
            prop_assert_eq!(patched(&longer, back).unwrap(), target);
        }
    }

    #[test]
    fn no_patch_makes_it_panic(target in object(), patch in object(), text in ".{0,40}") {
        let _ = patched(&target, json!([patch]));
        let _ = Patch::parse(&text);
    }
}
