//! Reading: the edge cases that real repositories hold, each with what kustomize makes of it.

use firstpass_yaml::{Mark, Node, decode, parse_all, parse_one};
use serde_json::{Value, json};

#[track_caller]
fn value(text: &str) -> Value {
    let node = parse_one(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    node.to_json().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

#[track_caller]
fn error(text: &str) -> String {
    match parse_all(text) {
        Err(error) => error.to_string(),
        Ok(documents) => documents
            .iter()
            .find_map(|document| document.root.to_json().err())
            .unwrap_or_else(|| panic!("{text:?} is no error"))
            .to_string(),
    }
}

fn mark(line: u32, column: u32) -> Mark {
    Mark { line, column }
}

#[test]
fn plain_scalars_mean_what_go_yaml_takes_them_for() {
    let cases = [
        ("0755", json!(493)),
        ("0o755", json!(493)),
        ("08", json!(8)),
        ("0x1f", json!(31)),
        ("0b11", json!(3)),
        ("-0b11", json!(-3)),
        ("1_000", json!(1000)),
        ("+5", json!(5)),
        ("-0", json!(0)),
        ("-0.0", json!(0)),
        ("1.0", json!(1)),
        ("1.10", json!(1.1)),
        (".5", json!(0.5)),
        ("-.5", json!(-0.5)),
        ("5.", json!(5)),
        ("1e3", json!(1000)),
        ("1e21", json!(1e21)),
        ("1e999", json!("1e999")),
        ("9223372036854775807", json!(9_223_372_036_854_775_807_u64)),
        ("18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
        ("100000000000000000000000", json!(1e23)),
        ("True", json!(true)),
        ("FALSE", json!(false)),
        ("~", json!(null)),
        ("Null", json!(null)),
        ("", json!(null)),
        ("yes", json!("yes")),
        ("off", json!("off")),
        ("y", json!("y")),
        ("23:00", json!("23:00")),
        ("=", json!("=")),
        ("<<", json!("<<")),
        ("1.2.3", json!("1.2.3")),
        ("0x", json!("0x")),
        ("-", json!([null])),
        ("2020-01-01", json!("2020-01-01T00:00:00Z")),
        ("2020-1-2", json!("2020-01-02T00:00:00Z")),
        ("2020-01-02T03:04:05Z", json!("2020-01-02T03:04:05Z")),
        (
            "2020-01-02t03:04:05.250+02:00",
            json!("2020-01-02T03:04:05.25+02:00"),
        ),
        ("2020-01-02 03:04:05", json!("2020-01-02T03:04:05Z")),
        ("2021-02-29", json!("2021-02-29")),
        ("2020-01-01T00:00", json!("2020-01-01T00:00")),
        ("!!str 12", json!("12")),
        ("!!int \"12\"", json!(12)),
        ("!!float 12", json!(12)),
        ("! 12", json!(12)),
        ("!secret 12", json!("12")),
        ("!!binary aGk=", json!("hi")),
        ("'12'", json!("12")),
        ("\"a\\x41\\u263A\\n\"", json!("aA☺\n")),
    ];
    for (text, expected) in cases {
        let found = value(&format!("- {text}\n"));
        assert_eq!(found, json!([expected]), "{text:?}");
    }
}

#[test]
fn values_that_do_not_fit_are_errors() {
    let cases = [
        (
            "a: .inf",
            "line 1: the value is infinite or no number, which JSON cannot hold",
        ),
        ("a: !!int x", "line 1: cannot decode !!str `x` as a !!int"),
        ("a: !!bool yes", "line 1: cannot decode !!str `yes` as a !!bool"),
        (
            "a: {True: b}",
            "line 1: a mapping key must be a string, `True` is a !!bool: quote it",
        ),
        (
            "a:\n  1: b",
            "line 2: a mapping key must be a string, `1` is a !!int: quote it",
        ),
        (
            "a:\n  {x: y}: b",
            "line 2: a mapping key must be a string, this is a list or a mapping",
        ),
        (
            "a:\n  b: 1\n  'b': 2",
            "line 3: mapping key \"b\" already defined at line 2",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), expected, "{text:?}");
    }
}

#[test]
fn keys_at_the_top_stand_for_their_text() {
    assert_eq!(value("True: a\n1: b\n"), json!({"True": "a", "1": "b"}));
    assert_eq!(
        error("~: c\n"),
        "line 1: a mapping key must be a string, `~` is a !!null: quote it"
    );
}

#[test]
fn documents_are_parted_at_dashes() {
    let texts = |text: &str| -> Vec<(usize, Value)> {
        let documents = parse_all(text).unwrap();
        documents
            .iter()
            .map(|d| (d.index, d.root.to_json().unwrap()))
            .collect()
    };
    assert_eq!(texts(""), []);
    assert_eq!(texts("# only this\n"), []);
    assert_eq!(texts("---\n---\n"), []);
    assert_eq!(
        texts("--- # first\na: 1\n--- # second\nb: 2\n"),
        [(0, json!({"a": 1})), (1, json!({"b": 2}))]
    );
    assert_eq!(
        texts("---\r\na: 1\r\n---\r\nb: |\r\n  x\r\n"),
        [(0, json!({"a": 1})), (1, json!({"b": "x\n"}))]
    );
    assert_eq!(
        texts("a: 1\n...\n---\nb: 2\n...\n"),
        [(0, json!({"a": 1})), (1, json!({"b": 2}))]
    );
    assert_eq!(
        texts("a: 1\n...\nnot: read\n---\nb: 2\n"),
        [(0, json!({"a": 1})), (1, json!({"b": 2}))]
    );
    assert_eq!(texts("a: 1\n---"), [(0, json!({"a": 1}))]);
    assert_eq!(texts("\u{FEFF}a: 1\n"), [(0, json!({"a": 1}))]);
    assert_eq!(
        error("a: 1\n--- b: 2\n"),
        "line 2: invalid document separator: --- b: 2"
    );
}

#[test]
fn marks_count_over_documents() {
    let documents =
        parse_all("# c\n---\na: 1\n---\n\nb:\n  - x: |\n      text\n  - &n ü: !!str 1\n").unwrap();
    let second = &documents[1].root;
    assert_eq!(documents[0].root.mark, mark(3, 1));
    assert_eq!(second.mark, mark(6, 1));
    assert_eq!(second.as_map().unwrap().key("b").unwrap().mark, mark(6, 1));
    let items = second.get("b").unwrap().as_seq().unwrap();
    assert_eq!(items[0].mark, mark(7, 5));
    assert_eq!(items[0].get("x").unwrap().mark, mark(7, 8));
}

#[test]
fn text_without_a_last_newline_ends_where_it_ends() {
    assert_eq!(value("a: |\n  x"), json!({"a": "x"}));
    assert_eq!(value("a: |\n  x\n"), json!({"a": "x\n"}));
    assert_eq!(value("a: >-\n  x\n  y"), json!({"a": "x y"}));
}

#[test]
fn aliases_stand_for_what_their_anchor_last_was() {
    assert_eq!(
        value("a: &x 1\nb: *x\nc: &x 2\nd: *x\n"),
        json!({"a": 1, "b": 1, "c": 2, "d": 2})
    );
    assert_eq!(
        value("a: &x {k: [1]}\nb: [*x, *x]\n"),
        json!({"a": {"k": [1]}, "b": [{"k": [1]}, {"k": [1]}]})
    );
    assert_eq!(value("&k key: *k\n"), json!({"key": "key"}));
    assert_eq!(error("a: *x\n"), "line 1: unknown anchor 'x' referenced");
    assert_eq!(
        error("a: &x 1\n---\nb: *x\n"),
        "line 3: unknown anchor 'x' referenced"
    );
    assert_eq!(
        error("a: &x\n  - *x\n"),
        "line 2: an anchor's value contains itself"
    );
}

#[test]
fn merge_keys_fill_in_what_is_missing() {
    let base = "one: &one {a: 1, b: 1}\ntwo: &two {b: 2, c: 2}\n";
    let merged = |tail: &str| value(&format!("{base}{tail}"))["m"].clone();
    assert_eq!(merged("m: {<<: *one, b: 0}\n"), json!({"a": 1, "b": 0}));
    assert_eq!(merged("m: {b: 0, <<: *one}\n"), json!({"a": 1, "b": 0}));
    assert_eq!(merged("m: {<<: [*one, *two]}\n"), json!({"a": 1, "b": 1, "c": 2}));
    assert_eq!(
        merged("m: {<<: [*two, {d: 4}]}\n"),
        json!({"b": 2, "c": 2, "d": 4})
    );
    assert_eq!(merged("m: {'<<': 3}\n"), json!({"<<": 3}));
    assert_eq!(merged("t: &t {<<: *one}\nm: {<<: *t}\n"), json!({"a": 1, "b": 1}));
    let map_wanted = "map merge requires map or sequence of maps as the value";
    assert_eq!(error("m: {<<: 3}\n"), format!("line 1: {map_wanted}"));
    assert_eq!(
        error("m: {<<: {a: 1}, <<: {b: 1}}\n"),
        "line 1: duplicate merge key"
    );
}

#[test]
fn custom_tags_and_odd_keys_are_fine_until_used() {
    let node = parse_one("a: !env_var HOME\nb: {{ x }}\nc: {? [k] : v}\n").unwrap();
    assert_eq!(node.get("a").and_then(Node::as_text), Some("HOME"));
    assert!(node.to_json().is_err());
}

#[test]
fn encodings_are_recognised() {
    let utf16 = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{FEFF}k: ü😀\n".encode_utf16().flat_map(unit).collect()
    };
    assert_eq!(decode(&utf16(u16::to_le_bytes)).unwrap(), "k: ü😀\n");
    assert_eq!(decode(&utf16(u16::to_be_bytes)).unwrap(), "k: ü😀\n");
    assert_eq!(decode(b"\xEF\xBB\xBFk: v").unwrap(), "k: v");
    let broken = decode(b"a: b\nc: \xFFd").unwrap_err();
    assert_eq!(broken.mark, mark(2, 4));
    assert_eq!(decode(b"\xFF\xFEa").unwrap_err().mark, mark(1, 1));
}

#[test]
fn control_characters_are_refused() {
    for text in ["a: \u{1}", "a: \u{7F}", "a: \u{9F}", "a: \u{FFFF}"] {
        assert_eq!(
            error(text),
            "line 1: control characters are not allowed",
            "{text:?}"
        );
    }
    assert_eq!(value("a: é\u{E000}\u{A0}"), json!({"a": "é\u{E000}\u{A0}"}));
}

#[test]
fn hostile_input_is_an_error_soon() {
    let deep = [
        "[".repeat(10_000),
        "{a: ".repeat(10_000),
        "- ".repeat(10_000),
        (0..10_000)
            .map(|depth| format!("{}k:\n", " ".repeat(depth)))
            .collect(),
    ];
    for text in &deep {
        let message = error(text);
        assert!(message.ends_with("nested more than 255 levels deep"), "{message}");
    }
    let bomb: String = std::iter::once("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned())
        .chain((1..20).map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(", "))))
        .collect();
    assert!(error(&bomb).contains("excessive aliasing"));
    let long = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(1 << 20),
        vec!["*a"; 100_000].join(", ")
    );
    assert!(error(&long).contains("excessive aliasing"));
    let tall: String = std::iter::once(format!("a0: &a0 {}x{}\n", "[".repeat(200), "]".repeat(200)))
        .chain((1..50).map(|n| format!("a{n}: &a{n} {}*a{}{}\n", "[".repeat(200), n - 1, "]".repeat(200))))
        .collect();
    assert!(error(&tall).contains("levels deep"));
}

#[test]
fn syntax_errors_say_where() {
    let cases = [
        ("a: b: c\n", 1),
        ("a:\n\t- b\n", 2),
        ("a: \"open\nb: c\n", 1),
        ("a: @x\n", 1),
        ("a: [1, 2\nb: 3\n", 2),
        ("a: 1\n b: 2\n", 2),
    ];
    for (text, line) in cases {
        let message = error(text);
        assert!(
            message.starts_with(&format!("line {line}: ")),
            "{text:?}: {message}"
        );
    }
}
