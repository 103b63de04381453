//! Text of a repository in a comment on a code host. Whoever opens a pull request writes that text, and the comment is
//! written by a robot that people trust: nothing in it may become a link, an image, HTML, or a call to somebody.

use std::fmt::Write as _;

use crate::clean::clean;

/// Parts what would be recognised together, and is not seen.
const ZERO_WIDTH_SPACE: char = '\u{200b}';

/// Shown where a long text was cut.
const CUT: &str = " …";

/// A sentence in HTML: what stands in backticks becomes code, all else is text.
pub(crate) fn sentence(text: &str) -> String {
    let text = one_line(&clean(text));
    let mut html = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('`') {
        let Some((inside, behind)) = after.split_once('`') else {
            break;
        };
        html.push_str(&prose(before));
        html.push_str(&code(inside));
        rest = behind;
    }
    html.push_str(&prose(rest));
    html
}

/// A name or path as code, in HTML, where nothing is a mention or a link.
pub(crate) fn code(text: &str) -> String {
    format!("<code>{}</code>", inert(&one_line(&clean(text))))
}

/// Several lines as a block of code: the fence is longer than every run of backticks in them.
pub(crate) fn block(text: &str) -> String {
    let text = clean(text);
    let mut longest = 0;
    for line in text.lines() {
        let run = line
            .trim_start()
            .chars()
            .take_while(|character| *character == '`')
            .count();
        longest = longest.max(run);
    }
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

/// At most so many bytes of a text, cut between characters.
pub(crate) fn bounded(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let mut end = bytes_max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{CUT}", &text[..end])
}

/// Text outside code: no Markdown, no HTML, nobody called, no issue of somebody else mentioned.
fn prose(text: &str) -> String {
    let has_address = text.contains("://");
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            // Calls and links are looked for in the finished text as well, where an entity is no help.
            '@' | '#' => escaped.extend([character, ZERO_WIDTH_SPACE]),
            ':' if has_address => escaped.extend([character, ZERO_WIDTH_SPACE]),
            _ => push_inert(&mut escaped, character),
        }
    }
    let mut disarmed = escaped;
    // `www.` begins a link as well, and `GH-1` names an issue.
    for (begin, end) in [("www", "."), ("WWW", "."), ("GH", "-"), ("gh", "-")] {
        let broken = format!("{begin}{ZERO_WIDTH_SPACE}{end}");
        disarmed = disarmed.replace(&format!("{begin}{end}"), &broken);
    }
    disarmed
}

/// Text as HTML in which nothing is Markdown.
fn inert(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '@' | '#' | ':' => push_entity(&mut escaped, character),
            _ => push_inert(&mut escaped, character),
        }
    }
    escaped
}

fn push_inert(html: &mut String, character: char) {
    match character {
        '&' => html.push_str("&amp;"),
        '<' => html.push_str("&lt;"),
        '>' => html.push_str("&gt;"),
        '"' => html.push_str("&quot;"),
        '\\' | '*' | '_' | '[' | ']' | '!' | '~' | '|' | '`' | '$' => push_entity(html, character),
        _ => html.push(character),
    }
}

fn push_entity(html: &mut String, character: char) {
    let _ = write!(html, "&#{};", u32::from(character));
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_keeps_its_code_and_nothing_else() {
        assert_eq!(
            sentence("`a<b>` is *not* <img src=x> of @everyone, see http://x or #1"),
            "<code>a&lt;b&gt;</code> is &#42;not&#42; &lt;img src=x&gt; of @\u{200b}everyone, \
             see http:\u{200b}//x or #\u{200b}1"
        );
        assert_eq!(sentence("one ` alone"), "one &#96; alone");
    }

    #[test]
    fn a_block_cannot_be_left() {
        assert_eq!(
            block("a\n````\n</details>"),
            "`````text\na\n````\n</details>\n`````\n"
        );
    }

    #[test]
    fn bounds_fall_between_characters() {
        assert_eq!(bounded("äöü", 3), "ä …");
        assert_eq!(bounded("äöü", 6), "äöü");
    }
}
