//! Laws that hold for any value and any text.

use firstpass_yaml::{Node, emit, emit_all, parse_all, parse_one};
use proptest::prelude::*;
use serde_json::{Map, Number, Value};

/// Pieces that matter to YAML, from which texts are put together.
const PIECES: &[&str] = &[
    "a",
    "word",
    " ",
    "  ",
    "\n",
    "\n\n",
    ":",
    ": ",
    " #",
    "#",
    "-",
    "- ",
    "---",
    "...",
    "?",
    ",",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "\\",
    "\t",
    "é",
    "\u{A0}",
    "😀",
    "\u{FEFF}",
    "\u{7}",
    "\r\n",
    "0",
    "1",
    "0x1f",
    "1_0",
    "1e3",
    ".5",
    "+",
    "true",
    "No",
    "~",
    "null",
    "2020-01-01",
    "12:30",
    "=",
    "<<",
    "!",
    "&a",
    "*a",
    "@",
    "`",
    "%",
    "|",
    ">",
    "_",
    "lorem ipsum dolor sit amet, ",
    "/",
    "ß",
];

fn text() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(PIECES), 0..12);
    prop_oneof![3 => pieces.prop_map(|pieces| pieces.concat()), 1 => any::<String>()].prop_filter(
        "go-yaml takes these for line breaks",
        |text| {
            !text.contains(|c: char| {
                matches!(
                    c,
                    '\u{7F}'..='\u{9F}' | '\u{2028}' | '\u{2029}' | '\u{FFFE}' | '\u{FFFF}'
                )
            })
        },
    )
}

/// Any text but the merge key: kustomize does not quote it, and trips over it when it reads its own output.
fn key() -> impl Strategy<Value = String> {
    text().prop_filter("a merge key", |text| text != "<<")
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter_map("whole floats become whole numbers", |float| {
                Number::from_f64(float).filter(|_| float.fract() != 0.0 || float.abs() >= 1e21)
            })
            .prop_map(Value::Number),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number(),
        text().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::btree_map(key(), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_as_the_same_value(value in value()) {
        let written = emit(&value);
        let node = parse_one(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
        prop_assert_eq!(node.to_json().unwrap_or_else(|error| panic!("{error}\n{written}")), value, "{}", written);
    }

    #[test]
    fn writing_is_stable(value in value()) {
        let written = emit(&value);
        let again = emit(&parse_one(&written).unwrap().to_json().unwrap());
        prop_assert_eq!(again, written);
    }

    #[test]
    fn a_tree_of_a_value_means_the_value(value in value()) {
        prop_assert_eq!(Node::from_json(&value).to_json().unwrap(), value);
    }

    #[test]
    fn documents_stay_apart(values in prop::collection::vec(value(), 0..4)) {
        let documents = parse_all(&emit_all(&values)).unwrap();
        let read: Vec<Value> = documents.iter().map(|document| document.root.to_json().unwrap()).collect();
        let expected: Vec<Value> = values.into_iter().filter(|value| !value.is_null()).collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in text()) {
        if let Ok(documents) = parse_all(&text) {
            for document in documents {
                let _ = document.root.to_json();
            }
        }
    }
}
