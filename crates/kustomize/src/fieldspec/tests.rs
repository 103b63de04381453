use serde_json::{Value, json};

use super::*;
use crate::scalar::set_scalar;

fn spec(path: &str, create: bool) -> FieldSpec {
    FieldSpec {
        path: path.to_owned(),
        create,
        ..FieldSpec::default()
    }
}

fn run(yaml: &str, spec: &FieldSpec, create: Option<&Create>) -> Result<Value, Error> {
    let mut node = firstpass_yaml::parse_one(yaml).unwrap();
    for_each(&mut node, spec, create, &mut |field| {
        set_scalar(field, "new", None)
    })?;
    Ok(node.to_json().unwrap())
}

#[track_caller]
fn check(yaml: &str, path: &str, expected: &Value) {
    assert_eq!(run(yaml, &spec(path, false), None).unwrap(), *expected);
}

#[track_caller]
fn check_create(yaml: &str, path: &str, expected: &Value) {
    let create = Create::Scalar(Tag::Str);
    assert_eq!(run(yaml, &spec(path, true), Some(&create)).unwrap(), *expected);
}

#[test]
fn mappings_and_lists() {
    check("{a: {b: x}}", "a/b", &json!({"a": {"b": "new"}}));
    check("{a: {b: x}}", "/a/b", &json!({"a": {"b": "new"}}));
    check(
        "{a: [{b: x}, {c: y}]}",
        "a/b",
        &json!({"a": [{"b": "new"}, {"c": "y"}]}),
    );
    check("{a: [{b: x}]}", "a[]/b", &json!({"a": [{"b": "new"}]}));
    check("{a: [[{b: x}]]}", "a/b", &json!({"a": [[{"b": "new"}]]}));
}

#[test]
fn keys_with_slashes() {
    check(
        "{annotations: {example.com/x: y}}",
        r"annotations/example.com\/x",
        &json!({"annotations": {"example.com/x": "new"}}),
    );
}

#[test]
fn what_is_missing_stays_missing() {
    check("{a: {}}", "a/b/c", &json!({"a": {}}));
    check("{a: null}", "a/b", &json!({"a": null}));
    check_create("{}", "a[]/b", &json!({}));
}

#[test]
fn what_is_missing_is_made() {
    check_create("{}", "a/b", &json!({"a": {"b": "new"}}));
    check_create("{a: null}", "a/b", &json!({"a": {"b": "new"}}));
    check_create("{a: {b: null}}", "a/b", &json!({"a": {"b": "new"}}));
    check_create(
        "{a: [{}, {b: x}]}",
        "a/b",
        &json!({"a": [{"b": "new"}, {"b": "new"}]}),
    );
}

#[test]
fn nothing_is_made_unless_both_agree() {
    assert_eq!(run("{}", &spec("a", true), None).unwrap(), json!({}));
    assert_eq!(
        run("{}", &spec("a", false), Some(&Create::Map)).unwrap(),
        json!({})
    );
}

#[test]
fn kinds_that_do_not_match() {
    let mut spec = spec("a", false);
    spec.gvk = Gvk::from_api_version("apps/v1", "Deployment");
    let yaml = |version: &str| format!("{{apiVersion: {version}, kind: Deployment, a: x}}");
    assert_eq!(run(&yaml("apps/v1"), &spec, None).unwrap()["a"], "new");
    assert_eq!(run(&yaml("apps/v2"), &spec, None).unwrap()["a"], "x");
    spec.gvk.version.clear();
    assert_eq!(run(&yaml("apps/v2"), &spec, None).unwrap()["a"], "new");
}

#[test]
fn scalars_on_the_way_are_errors() {
    let error = run("{a: x}", &spec("a/b", false), None).unwrap_err();
    assert!(
        error.what.contains("expected sequence or mapping node"),
        "{error}"
    );
    assert!(
        error.what.starts_with("considering field 'a/b' of object"),
        "{error}"
    );
    assert!(run("{a: {}}", &spec("a/0", false), None).is_err());
    assert!(run("{a: {}}", &spec("a//b", false), None).is_err());
}

#[test]
fn paths() {
    assert_eq!(split_path("/a/b", '/'), ["a", "b"]);
    assert_eq!(split_path("", '/'), [""]);
    assert_eq!(split_path(r"a\/b/c", '/'), ["a/b", "c"]);
    assert_eq!(split_path("a/", '/'), ["a", ""]);
    assert_eq!(
        split_path_smart("a.[name=x.y.z].b", '.'),
        ["a", "[name=x.y.z]", "b"]
    );
    assert_eq!(split_path_smart("a.[x.y.z].b", '.'), ["a", "x.y.z", "b"]);
    assert_eq!(split_path_smart("a.[x].b", '.'), ["a", "[x]", "b"]);
    assert_eq!(split_path_smart(r"a.x\.y", '.'), ["a", "x.y"]);
}

#[test]
fn look_ups() {
    let node = firstpass_yaml::parse_one("{a: [{name: x, v: 1}, {name: y, v: 2}], b: [p, q]}").unwrap();
    let find = |path: &str| {
        look_up(&node, &split_path_smart(path, '.')).map(|steps| {
            steps
                .and_then(|steps| get(&node, &steps).map(|found| found.to_json().unwrap()))
                .unwrap_or(Value::Null)
        })
    };
    assert_eq!(find("a.[name=y].v").unwrap(), json!(2));
    assert_eq!(find("a.0.v").unwrap(), json!(1));
    assert_eq!(find("a.-.v").unwrap(), json!(2));
    assert_eq!(find("b.[=q]").unwrap(), json!("q"));
    assert_eq!(find("a.7.v").unwrap(), Value::Null);
    assert_eq!(find("c.d").unwrap(), Value::Null);
    assert!(find("a.*.v").is_err());
    assert!(find("b.x").is_err());
    assert!(find("a.[x]").is_err());
}
