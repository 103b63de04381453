//! Parity with kustomize: inputs beside what `kubectl kustomize` 5.8.1 makes of them.
//!
//! To add a case, write its input and let kustomize tell the rest.

use firstpass_yaml::{Writer, emit, parse_all};

/// The cases of a file: name and text.
fn cases(file: &str) -> impl Iterator<Item = (&str, &str)> {
    let (_comment, cases) = file.split_once("\n=== ").unwrap();
    cases.split("\n=== ").map(|case| case.split_once('\n').unwrap())
}

#[test]
fn values_are_written_as_kustomize_writes_them() {
    for (name, case) in cases(include_str!("data/emit.txt")) {
        let (json, expected) = case.split_once('\n').unwrap();
        let value = serde_json::from_str(json).unwrap();
        let written = emit(&value);
        assert_eq!(
            written.trim_end_matches('\n'),
            expected.trim_end_matches('\n'),
            "{name}"
        );
    }
}

#[test]
fn texts_come_out_as_they_come_out_of_kustomize() {
    for (name, case) in cases(include_str!("data/read.txt")) {
        let (text, expected) = case.split_once("--->").unwrap();
        let written = through(text);
        if name.starts_with("error") {
            assert!(written.is_err(), "{name}: {written:?}");
        } else {
            let written = written.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(
                written.trim_end_matches('\n'),
                expected.trim_matches('\n'),
                "{name}"
            );
        }
    }
}

fn through(text: &str) -> Result<String, String> {
    let mut writer = Writer::new();
    for document in parse_all(text).map_err(|error| error.to_string())? {
        writer.push(&document.root.to_json().map_err(|error| error.to_string())?);
    }
    match writer.refused() {
        None => Ok(writer.into_text()),
        Some(c) => Err(format!("the character {c:?} is refused")),
    }
}
