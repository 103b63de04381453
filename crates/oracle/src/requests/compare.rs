//! When do two answers say the same?

use std::collections::BTreeSet;

/// The kinds of errors of a field, as messages spell them.
const KINDS: [&str; 9] = [
    "Invalid value",
    "Required value",
    "Forbidden",
    "Duplicate value",
    "Unsupported value",
    "Not found",
    "Too long",
    "Too many",
    "Internal error",
];

/// Whether two answers agree: the same outcome or the same refusal, with the same errors of the same fields in any order.
///
/// Not compared are values that are maps or lists, which the real server prints with the names of Go's fields, and the
/// differences in Go's notation that it appends to some errors.
pub fn agree(one: &str, other: &str) -> bool {
    one == other || Said::of(one) == Said::of(other)
}

#[derive(PartialEq)]
struct Said {
    what: String,
    errors: BTreeSet<String>,
}

impl Said {
    fn of(answer: &str) -> Said {
        let is_refusal = answer.starts_with(|letter: char| letter.is_ascii_digit());
        if let Some((what, errors)) = answer.split_once(" is invalid: ").filter(|_| is_refusal) {
            let errors = errors
                .strip_prefix('[')
                .and_then(|errors| errors.strip_suffix(']'))
                .unwrap_or(errors);
            return Said {
                what: what.to_owned(),
                errors: split(errors).into_iter().map(plain).collect(),
            };
        }
        // structured-merge-diff goes through maps in no order.
        let mut lines = answer.lines();
        let first = lines.next().unwrap_or_default();
        let (what, first) = match first.split_once("): ") {
            Some((what, first)) if first.starts_with('.') => (what, first),
            Some((what, "errors:")) => (what, ""),
            _ => (first, ""),
        };
        Said {
            what: what.to_owned(),
            errors: lines
                .chain([first])
                .map(|line| line.trim().to_owned())
                .filter(|line| !line.is_empty())
                .collect(),
        }
    }
}

/// The single errors of a list that is separated by commas, which stand in errors as well.
fn split(errors: &str) -> Vec<&str> {
    let mut starts = vec![0];
    let mut from = 0;
    while let Some(at) = errors[from..].find(", ") {
        let begin = from + at + 2;
        if begins_error(&errors[begin..]) {
            starts.push(begin);
        }
        from = begin;
    }
    starts.push(errors.len() + 2);
    starts
        .windows(2)
        .map(|pair| &errors[pair[0]..pair[1] - 2])
        .collect()
}

/// Whether a text begins as `spec.ports[0].name: Required value` does.
fn begins_error(text: &str) -> bool {
    let Some((path, rest)) = text.split_once(": ") else {
        return false;
    };
    let is_path = path.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '<')
        && !path.contains(", ");
    is_path && KINDS.iter().any(|kind| rest.starts_with(kind))
}

/// An error without what is not compared.
fn plain(error: &str) -> String {
    // What a compiler says about an expression is its own.
    let error = error.split("\n@@").next().unwrap_or(error);
    let error = error
        .split_once("compilation failed: ")
        .or_else(|| error.split_once("error parsing regexp"))
        .map_or(error, |(before, _)| before);
    let (before, rest) = match error.split_once("Invalid value: ") {
        Some((before, rest)) => (format!("{before}Invalid value: "), rest),
        None => (String::new(), error),
    };
    let end = match rest.chars().next() {
        Some('{') => rest.rfind("}: ").map(|end| end + 3),
        Some('[') => rest.rfind("]: ").map(|end| end + 3),
        _ => rest.strip_prefix("null: ").map(|after| rest.len() - after.len()),
    };
    let rest = end.map_or(rest, |end| &rest[end..]);
    match rest.split_once("supported values: ") {
        Some((before, values)) => {
            let values: BTreeSet<&str> = values.split(", ").collect();
            format!("{before}{values:?}")
        }
        None => format!("{before}{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_values_of_many_parts_do_not_count() {
        assert!(agree(
            "422 Invalid: A \"a\" is invalid: [spec.x: Required value, spec.y: Invalid value: {\"A\":1}: bad, or so]",
            "422 Invalid: A \"a\" is invalid: [spec.y: Invalid value: {\"a\":1,\"b\":2}: bad, or so, spec.x: Required value]"
        ));
        assert!(!agree(
            "422 Invalid: A \"a\" is invalid: spec.x: Required value",
            "422 Invalid: A \"a\" is invalid: spec.y: Required value"
        ));
        assert!(!agree("created", "unchanged"));
        assert!(agree(
            "500 : failed (a): errors:\n  .b: x\n  .a: y",
            "500 : failed (a): errors:\n  .a: y\n  .b: x"
        ));
    }
}
