use firstpass_yaml::parse_one;
use serde_json::{Value as Json, json};

use super::*;
use crate::file::Selector;
use crate::resid::Gvk;

struct Thing(Node);

impl Target for Thing {
    fn node(&self) -> &Node {
        &self.0
    }

    fn node_mut(&mut self) -> &mut Node {
        &mut self.0
    }

    fn ids(&self) -> Vec<ResId> {
        vec![ResId::of(&self.0)]
    }
}

fn id(kind: &str, name: &str) -> ResId {
    ResId {
        gvk: Gvk::from_api_version("", kind),
        name: name.to_owned(),
        namespace: String::new(),
    }
}

/// What is copied: the field of the one `Source`, or a text.
enum From<'a> {
    Field(&'a str),
    Text(&'a str),
}

struct Case<'a> {
    from: From<'a>,
    paths: &'a [&'a str],
    options: FieldOptions,
    source_options: Option<FieldOptions>,
}

fn case<'a>(from: From<'a>, paths: &'a [&'a str]) -> Case<'a> {
    Case {
        from,
        paths,
        options: FieldOptions::default(),
        source_options: None,
    }
}

fn part(delimiter: &str, index: i64) -> FieldOptions {
    FieldOptions {
        delimiter: delimiter.to_owned(),
        index,
        ..FieldOptions::default()
    }
}

fn create() -> FieldOptions {
    FieldOptions {
        create: true,
        ..FieldOptions::default()
    }
}

/// Replaces fields of the one `Target`; both objects are given by what stands below `spec`.
fn run(case: &Case<'_>, source: &str, target: &str) -> Result<Json, Error> {
    let thing = |kind: &str, spec: &str| {
        let indented = spec.lines().map(|line| format!("  {line}\n")).collect::<String>();
        Thing(parse_one(&format!("kind: {kind}\nmetadata: {{name: x}}\nspec:\n{indented}")).unwrap())
    };
    let mut things = [thing("Source", source), thing("Target", target)];
    let (source, source_value) = match case.from {
        From::Field(path) => (
            Some(ReplacementSource {
                id: id("Source", ""),
                field_path: path.to_owned(),
                options: case.source_options.clone(),
            }),
            None,
        ),
        From::Text(text) => (None, Some(text.to_owned())),
    };
    let replacement = Replacement {
        source,
        source_value,
        targets: Some(vec![ReplacementTarget {
            select: Some(Selector {
                id: id("Tar.*", ""),
                ..Selector::default()
            }),
            field_paths: case.paths.iter().map(ToString::to_string).collect(),
            options: Some(case.options.clone()),
            ..ReplacementTarget::default()
        }]),
    };
    apply(&mut things, &replacement)?;
    Ok(things[1].0.to_json().unwrap()["spec"].clone())
}

#[track_caller]
fn check(case: &Case<'_>, source: &str, target: &str, expected: &Json) {
    assert_eq!(run(case, source, target).unwrap(), *expected);
}

#[track_caller]
fn check_error(case: &Case<'_>, source: &str, target: &str, what: &str) {
    assert_eq!(run(case, source, target).unwrap_err().what, what);
}

#[test]
fn the_text_is_copied_and_the_type_stays() {
    let copy = case(From::Field("spec.port"), &["spec.a", "spec.b"]);
    check(&copy, "port: 80", "{a: '1', b: 2}", &json!({"a": "80", "b": 80}));
    check(
        &copy,
        "port: '80'",
        "{a: '1', b: 2}",
        &json!({"a": "80", "b": 80}),
    );
    check(
        &copy,
        "port: {x: 1}",
        "{a: {}, b: [1]}",
        &json!({"a": {"x": 1}, "b": {"x": 1}}),
    );
}

#[test]
fn paths_into_lists() {
    let target = "{list: [{name: web, v: a}, {name: web-1, v: b}, {name: db, v: c}]}";
    let values = |spec: &Json| -> Vec<Json> {
        spec["list"]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| i["v"].clone())
            .collect()
    };
    let list = |path: &str| {
        let paths = [path];
        run(&case(From::Text("x"), &paths), "{}", target).map(|spec| values(&spec))
    };
    assert_eq!(list("spec.list.[name=web].v").unwrap(), ["x", "x", "c"]);
    assert_eq!(list("spec.list.[name=^web$].v").unwrap(), ["x", "b", "c"]);
    assert_eq!(list("spec.list.2.v").unwrap(), ["a", "b", "x"]);
    assert_eq!(list("spec.list.*.v").unwrap(), ["x", "x", "x"]);
    assert!(list("spec.list.[name=none].v").is_err());
    assert!(list("spec.list.3.v").is_err());
    assert!(list("spec.list.[name=(].v").is_err());
    let scalars = case(From::Text("x"), &["spec.args.[=-b]"]);
    check(&scalars, "{}", "args: [-a, -b=1]", &json!({"args": ["-a", "x"]}));
}

#[test]
fn keys_with_dots() {
    let brackets = case(From::Text("x"), &["spec.[a.b/c]", r"spec.d\.e"]);
    check(
        &brackets,
        "{}",
        "{a.b/c: z, d.e: y}",
        &json!({"a.b/c": "x", "d.e": "x"}),
    );
}

#[test]
fn parts_between_delimiters() {
    let image = "image: nginx:1.7";
    let with = |options: FieldOptions| Case {
        options,
        ..case(From::Text("x"), &["spec.image"])
    };
    check(&with(part(":", 0)), "{}", image, &json!({"image": "x:1.7"}));
    check(&with(part(":", 1)), "{}", image, &json!({"image": "nginx:x"}));
    check(&with(part(":", 9)), "{}", image, &json!({"image": "nginx:1.7:x"}));
    check(
        &with(part(":", -1)),
        "{}",
        image,
        &json!({"image": "x:nginx:1.7"}),
    );
    check_error(
        &with(part(":", 0)),
        "{}",
        "image: [a]",
        "delimiter option can only be used with scalar nodes",
    );
    let from_part = |index| Case {
        source_options: Some(part("-", index)),
        ..case(From::Field("spec.v"), &["spec.image"])
    };
    check(&from_part(1), "v: a-b", image, &json!({"image": "b"}));
    check_error(
        &from_part(2),
        "v: a-b",
        image,
        "options.index 2 is out of bounds for value a-b",
    );
}

#[test]
fn making_fields() {
    let made = |paths: &'static [&'static str], target: &str| {
        run(
            &Case {
                options: create(),
                ..case(From::Text("5"), paths)
            },
            "{}",
            target,
        )
        .unwrap()
    };
    assert_eq!(made(&["spec.a.b"], "{}"), json!({"a": {"b": 5}}));
    assert_eq!(made(&["spec.a.0.b"], "{}"), json!({"a": [{"b": 5}]}));
    assert_eq!(
        made(&["spec.env.[name=X].value"], "{env: [{name: A}]}"),
        json!({"env": [{"name": "A"}, {"name": "X", "value": 5}]})
    );
    assert_eq!(made(&["spec.a.[=7]"], "{a: []}"), json!({"a": [5]}));
    // What is made below a null is lost.
    assert_eq!(made(&["spec.a.b"], "{a: null}"), json!({"a": null}));
    let missing = case(From::Text("x"), &["spec.a.b"]);
    check_error(
        &missing,
        "{}",
        "{}",
        "unable to find field \"spec.a.b\" in replacement target",
    );
    let endless = Case {
        options: create(),
        ..case(From::Text("x"), &["spec.a.[name=^x$]"])
    };
    assert!(run(&endless, "{}", "{a: []}").is_err());
}

#[test]
fn inside_of_json() {
    let inside = case(From::Text("x"), &["spec.data.a.b"]);
    let target = |text: &str| format!("data: {}", json!(text));
    check(
        &inside,
        "{}",
        &target(r#"{"c": "<", "a": {"b": "y"}}"#),
        &json!({"data": "{\"a\":{\"b\":\"x\"},\"c\":\"\\u003c\"}"}),
    );
    check(
        &inside,
        "{}",
        &target("{\n  \"a\": {\"b\": \"z\"},\n  \"l\": []\n}"),
        &json!({"data": "{\n  \"a\": {\n    \"b\": \"x\"\n  },\n  \"l\": []\n}"}),
    );
}

#[test]
fn inside_of_yaml() {
    let inside = case(From::Text("x"), &["spec.data.a.b", "spec.data.l.[name=q].v"]);
    let target = "data: |\n  a:\n      b: 'y'\n  l:\n    - name: q\n      v: \"1\"\n    - name: r\n";
    check(
        &inside,
        "{}",
        target,
        &json!({"data": "a:\n  b: 'x'\nl:\n- name: q\n  v: \"x\"\n- name: r"}),
    );
    // Below a `*`, which a look-up does not know, the text is found, but what is written into it is lost.
    let lost = case(From::Text("x"), &["spec.list.*.t.a"]);
    check(
        &lost,
        "{}",
        "list: [{t: 'a: 1'}]",
        &json!({"list": [{"t": "a: 1"}]}),
    );
}

#[test]
fn comments_and_brackets_inside_of_yaml() {
    let inside = case(From::Text("x"), &["spec.data.a.b"]);
    let target = "\
data: |
  # top

  # head of a
  a:  # beside a
      b: y   # beside b
      # foot of b

  c: {d: [1, \"q\"], e: f}

  # head of l
  l:
    # head of the element
    - name: q
      t: |
        # no comment
  # end
";
    let written = "\
# top

# head of a
a: # beside a
  b: x # beside b
  # foot of b
c: {d: [1, \"q\"], e: f}
# head of l
l:
# head of the element
- name: q
  t: |
    # no comment
# end";
    check(&inside, "{}", target, &json!({ "data": written }));
}

#[test]
fn sources_and_targets_that_are_wrong() {
    let copy = case(From::Field("spec.v"), &["spec.v"]);
    check_error(
        &copy,
        "{}",
        "v: x",
        "fieldPath `spec.v` is missing for replacement source Source.[noVer].[noGrp]/[noName].[noNs]",
    );
    check_error(
        &copy,
        "v: null",
        "v: x",
        "fieldPath `spec.v` is missing for replacement source Source.[noVer].[noGrp]/[noName].[noNs]",
    );
    let nothing = Replacement::default();
    assert!(apply::<Thing>(&mut [], &nothing).is_err());
    let two = || Thing(parse_one("{kind: A, metadata: {name: x}}").unwrap());
    let replacement = |kind: &str| Replacement {
        source: Some(ReplacementSource {
            id: id(kind, ""),
            ..ReplacementSource::default()
        }),
        targets: Some(Vec::new()),
        ..Replacement::default()
    };
    let error = |kind: &str| apply(&mut [two(), two()], &replacement(kind)).unwrap_err().what;
    assert!(error("A").starts_with("multiple matches for selector A"));
    assert!(error("B").starts_with("nothing selected by B"));
}

#[test]
fn rejected_targets() {
    let things = || {
        [
            "{kind: A, metadata: {name: x, labels: {l: p}}}",
            "{kind: A, metadata: {name: y}}",
            "{kind: B, metadata: {name: z}}",
        ]
        .map(|yaml| Thing(parse_one(yaml).unwrap()))
    };
    let names = |reject: Selector| {
        let mut things = things();
        let replacement = Replacement {
            source_value: Some("new".to_owned()),
            targets: Some(vec![ReplacementTarget {
                select: Some(Selector::default()),
                reject: vec![reject],
                ..ReplacementTarget::default()
            }]),
            ..Replacement::default()
        };
        apply(&mut things, &replacement).unwrap();
        things.map(|thing| text_of(thing.0.at(&["metadata", "name"]).unwrap()).to_owned())
    };
    let by_id = |kind: &str, name: &str| Selector {
        id: id(kind, name),
        ..Selector::default()
    };
    assert_eq!(names(by_id("A", "")), ["x", "y", "new"]);
    assert_eq!(names(by_id("", "x|z")), ["x", "new", "z"]);
    assert_eq!(names(Selector::default()), ["new", "new", "new"]);
    let by_label = Selector {
        label_selector: "l=p".to_owned(),
        ..Selector::default()
    };
    assert_eq!(names(by_label), ["x", "new", "new"]);
}

#[test]
fn a_source_that_is_its_own_target() {
    let mut things = [Thing(
        parse_one("{kind: A, metadata: {name: x}, v: a-b}").unwrap(),
    )];
    let replacement = Replacement {
        source: Some(ReplacementSource {
            id: id("A", ""),
            field_path: "metadata".to_owned(),
            options: None,
        }),
        targets: Some(vec![ReplacementTarget {
            select: Some(Selector::default()),
            field_paths: vec!["metadata".to_owned()],
            ..ReplacementTarget::default()
        }]),
        ..Replacement::default()
    };
    apply(&mut things, &replacement).unwrap();
    assert_eq!(things[0].0.to_json().unwrap()["metadata"], json!({"name": "x"}));
}

#[test]
fn a_source_that_is_copied_into_itself() {
    let replacement = Replacement {
        source: Some(ReplacementSource {
            id: id("A", ""),
            field_path: "v".to_owned(),
            options: None,
        }),
        targets: Some(vec![ReplacementTarget {
            select: Some(Selector::default()),
            field_paths: vec!["v.x".to_owned(), "v.y".to_owned()],
            options: Some(create()),
            ..ReplacementTarget::default()
        }]),
        ..Replacement::default()
    };
    let mut things = [Thing(
        parse_one("{kind: A, metadata: {name: x}, v: {z: 1}}").unwrap(),
    )];
    let error = std::iter::repeat_n((), 60).find_map(|()| apply(&mut things, &replacement).err());
    assert!(error.is_some_and(|error| error.what.contains("too large")));
}
