//! Breaking sentences into lines.

use crate::clean::clean;

/// Breaks at spaces so that no line is longer than `width` characters, unless a single word is. Line breaks in the text
/// stay; what a terminal would obey does not.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in clean(text).lines() {
        let indent: String = paragraph
            .chars()
            .take_while(|character| *character == ' ')
            .collect();
        let mut line = indent.clone();
        for word in paragraph.split_whitespace() {
            let fits = line.chars().count() + 1 + word.chars().count() <= width;
            if line.trim().is_empty() {
                line.push_str(word);
            } else if fits {
                line.push(' ');
                line.push_str(word);
            } else {
                lines.push(std::mem::replace(&mut line, format!("{indent}{word}")));
            }
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_break_at_spaces_and_keep_their_indent() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("  a bb cc\nd", 6), ["  a bb", "  cc", "d"]);
        assert_eq!(wrap("incomprehensibilities", 4), ["incomprehensibilities"]);
    }
}
