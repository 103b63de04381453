//! The first document of a text: all that kustomize reads of its own files.

use firstpass_source::RepoPath;
use firstpass_yaml::Node;

use crate::Error;

/// Reads the first document of a file; null if there is none. What comes behind it may be anything.
pub(crate) fn document(text: &str, file: &RepoPath) -> Result<Node, Error> {
    firstpass_yaml::parse_one(first(text)).map_err(|error| Error::unreadable(file, &error))
}

/// The text up to the line that ends the first document.
fn first(text: &str) -> &str {
    let mut has_begun = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        let is_mark = |mark: &str| {
            let rest = line.strip_prefix(mark);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
        };
        if has_begun && (is_mark("---") || is_mark("...")) {
            return &text[..at];
        }
        has_begun |= !(content.is_empty() || content.starts_with(['#', '%']));
        at += line.len();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::first;

    #[test]
    fn the_first_document_ends_where_another_begins() {
        for (text, expected) in [
            ("a: b\n---\nc: d\n", "a: b\n"),
            ("# note\n---\na: b\n...\nnonsense: [\n", "# note\n---\na: b\n"),
            ("--- # note\na: b\n--- \nc\n", "--- # note\na: b\n"),
            ("---\n---\na: b\n", "---\n"),
            ("a: |\n  ---\n  b\n", "a: |\n  ---\n  b\n"),
            ("---a: b\n", "---a: b\n"),
        ] {
            assert_eq!(first(text), expected);
        }
    }
}
