//! Text of a repository on a terminal: nothing in a file may move the cursor, change colours, or turn the reading
//! direction around. Nor may it speak to a CI runner, which obeys lines such as `::error::text` in whatever is printed.

use std::borrow::Cow;

/// The text with every character replaced that a terminal would obey, and the first one of what a CI runner would. Line
/// breaks and tabs stay.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    match without_commands(text) {
        Cow::Borrowed(text) => without_controls(text),
        Cow::Owned(text) => Cow::Owned(without_controls(&text).into_owned()),
    }
}

/// A command may stand at the start of any word, since wrapping makes words the start of lines.
fn without_commands(text: &str) -> Cow<'_, str> {
    if !text.contains("::") && !text.contains("##[") {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut starts = true;
    for (at, character) in text.char_indices() {
        if starts && is_command(&text[at..]) {
            clean.push('\u{fffd}');
        } else {
            clean.push(character);
        }
        starts = character.is_whitespace() || character.is_control();
    }
    Cow::Owned(clean)
}

/// `::name::text`, `::name key=value::text` (an address such as `::ffff:10.0.0.1` is none), or the older `##[name]text`.
fn is_command(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("::") else {
        return text.starts_with("##[");
    };
    let after =
        rest.trim_start_matches(|character: char| character.is_ascii_alphabetic() || character == '-');
    after.len() < rest.len() && (after.starts_with("::") || after.starts_with(' '))
}

fn without_controls(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        text.chars()
            .map(|character| {
                if is_obeyed(character) {
                    '\u{fffd}'
                } else {
                    character
                }
            })
            .collect(),
    )
}

/// Control characters, and those that set the direction of what follows.
fn is_obeyed(character: char) -> bool {
    let direction =
        matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    direction || (character.is_control() && character != '\n' && character != '\t')
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn escapes_are_disarmed_and_letters_stay() {
        assert_eq!(clean("a\u{1b}[31mb\u{202e}c"), "a\u{fffd}[31mb\u{fffd}c");
        assert_eq!(clean("tür\n\t🚀"), "tür\n\t🚀");
        assert_eq!(clean("a\n ::error::b"), "a\n \u{fffd}:error::b");
        assert_eq!(clean("::set-env name=X::b"), "\u{fffd}:set-env name=X::b");
        assert_eq!(clean("##[warning]b"), "\u{fffd}#[warning]b");
        assert_eq!(
            clean("std::vec ::ffff:10.0.0.1 ::1"),
            "std::vec ::ffff:10.0.0.1 ::1"
        );
    }
}
