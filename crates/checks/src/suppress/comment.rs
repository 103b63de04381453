//! Comments that suppress: `# firstpass: ignore[rule] reason`.
//!
//! At the end of a line it is about that line; alone on a line, about the next line that is neither empty nor a comment.
//! `ignore-document` is about the whole document that it stands in. Files are read line by line, since findings also
//! point into scripts and other texts.

use firstpass_diagnostics::Location;

use super::scope::Scope;

/// What begins the instruction, behind the `#`.
const NAME: &str = "firstpass:";

const IGNORE: &str = "ignore";
const IGNORE_DOCUMENT: &str = "ignore-document";

/// A suppression as it is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Comment {
    pub(super) rules: Vec<String>,
    pub(super) scope: Scope,
    pub(super) reason: String,
    pub(super) location: Location,
}

/// What is wrong with one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) message: String,
    pub(super) help: String,
    pub(super) location: Location,
}

/// Every suppressing comment of a file, in its order.
pub(super) fn read(bytes: &[u8], file: &str) -> Vec<Result<Comment, Problem>> {
    let text = String::from_utf8_lossy(bytes);
    if !text.contains(NAME) {
        return Vec::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    let comments = (0..lines.len()).filter_map(|index| {
        let (at, instruction) = instruction(lines[index])?;
        Some(comment(&lines, index, at, instruction, file))
    });
    comments.flatten().collect()
}

/// The byte at which a comment with an instruction begins, and what follows the name.
fn instruction(line: &str) -> Option<(usize, &str)> {
    let mut from = 0;
    while let Some(at) = line[from..].find('#').map(|at| from + at) {
        let begins = line[..at].chars().next_back().is_none_or(char::is_whitespace);
        let rest = line[at..].trim_start_matches('#').trim_start();
        if let Some(instruction) = rest.strip_prefix(NAME).filter(|_| begins) {
            return Some((at, instruction.trim()));
        }
        from = at + 1;
    }
    None
}

/// Reads one; nothing if it is not about suppressing at all.
fn comment(
    lines: &[&str],
    index: usize,
    at: usize,
    instruction: &str,
    file: &str,
) -> Option<Result<Comment, Problem>> {
    let column = lines[index][..at].chars().count() + 1;
    let location = Location::new(file, number(index), u32::try_from(column).unwrap_or(u32::MAX));
    let problem = |message: String, help: &str| {
        Some(Err(Problem {
            message,
            help: help.to_owned(),
            location: location.clone(),
        }))
    };
    let word_end = instruction
        .find(|character: char| !(character.is_ascii_alphanumeric() || character == '-' || character == '_'))
        .unwrap_or(instruction.len());
    let (word, rest) = instruction.split_at(word_end);
    let scope = match word {
        IGNORE => {
            let line = number(target(lines, index, at));
            Scope::Lines {
                file: file.to_owned(),
                first: line,
                last: line,
            }
        }
        IGNORE_DOCUMENT => {
            let (first, last) = document(lines, index);
            Scope::Lines {
                file: file.to_owned(),
                first: number(first),
                last: number(last),
            }
        }
        other => {
            let near = firstpass_yaml::nearest(other, [IGNORE, IGNORE_DOCUMENT])?;
            return problem(
                format!("`{other}` is no instruction, so nothing is suppressed"),
                &format!("write `{near}[RULE] reason`"),
            );
        }
    };
    let listed = rest
        .trim_start()
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'));
    let Some((rules, reason)) = listed else {
        return problem(
            "the suppression names no rule, so nothing is suppressed".to_owned(),
            &format!("write `{word}[RULE] reason`; `[RULE, RULE]` for several"),
        );
    };
    let rules: Vec<String> = rules
        .split(',')
        .map(|rule| rule.trim().to_owned())
        .filter(|rule| !rule.is_empty())
        .collect();
    if rules.is_empty() {
        return problem(
            "the suppression names no rule, so nothing is suppressed".to_owned(),
            "name it between the brackets",
        );
    }
    let reason = reason.trim_start_matches([':', ' ', '-', '\t']).trim().to_owned();
    Some(Ok(Comment {
        rules,
        scope,
        reason,
        location,
    }))
}

/// The line that a comment is about: its own, or if nothing else stands there the next that holds something.
fn target(lines: &[&str], index: usize, at: usize) -> usize {
    if !lines[index][..at].trim().is_empty() {
        return index;
    }
    let holds_something = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    };
    let behind = lines[index + 1..].iter().position(holds_something);
    behind.map_or(index, |behind| index + 1 + behind)
}

/// The first and last line of the document around a line.
fn document(lines: &[&str], index: usize) -> (usize, usize) {
    let parts =
        |line: &&str| line.starts_with("---") && line[3..].chars().next().is_none_or(char::is_whitespace);
    let first = lines[..index].iter().rposition(parts).unwrap_or(0);
    let behind = lines[index + 1..].iter().position(parts);
    let last = behind.map_or(lines.len() - 1, |behind| index + behind);
    (first, last)
}

fn number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The comments of a text, as `rules @ first-last: reason`, problems as their message.
    fn check(text: &str) -> Vec<String> {
        let comments = read(text.as_bytes(), "a.yaml");
        let shown = comments.into_iter().map(|comment| match comment {
            Ok(Comment {
                rules,
                scope: Scope::Lines { first, last, .. },
                reason,
                ..
            }) => format!("{} @ {first}-{last}: {reason}", rules.join("+")),
            Ok(other) => format!("{other:?}"),
            Err(problem) => format!(
                "{}:{} {}",
                problem.location.line, problem.location.column, problem.message
            ),
        });
        shown.collect()
    }

    #[test]
    fn a_comment_is_about_its_line_the_next_or_the_document() {
        assert_eq!(
            check("kind: X # firstpass: ignore[a] it is so"),
            ["a @ 1-1: it is so"]
        );
        assert_eq!(
            check("# firstpass: ignore[a, b-c]: it is so\n# and so\n\nkind: X\n"),
            ["a+b-c @ 4-4: it is so"]
        );
        assert_eq!(
            check("a: b\n---\nkind: X\n  # firstpass: ignore-document[a] why\nb: c\n--- # two\nc: d\n"),
            ["a @ 2-5: why"]
        );
        assert_eq!(check("#firstpass: ignore[a]why\n"), ["a @ 1-1: why"]);
    }

    #[test]
    fn mistakes_are_told_and_prose_is_left_alone() {
        assert_eq!(
            check("x: y # firstpass: ingore[a] why"),
            ["1:6 `ingore` is no instruction, so nothing is suppressed"]
        );
        assert_eq!(
            check("# firstpass: ignore a why"),
            ["1:1 the suppression names no rule, so nothing is suppressed"]
        );
        assert_eq!(
            check("# firstpass: ignore[] why"),
            ["1:1 the suppression names no rule, so nothing is suppressed"]
        );
        for prose in [
            "# firstpass: see docs",
            "url: http://x#firstpass: ignore[a] why",
            "firstpass: ignore[a]",
            "",
        ] {
            assert!(check(prose).is_empty(), "{prose}");
        }
    }
}
