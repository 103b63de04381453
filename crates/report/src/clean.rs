//! Text of a repository on a terminal: nothing in a file may move the cursor, change colours, or turn the reading
//! direction around.

use std::borrow::Cow;

/// The text with every character that a terminal would obey replaced. Line breaks and tabs stay.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
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
    }
}
