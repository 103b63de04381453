//! The little XML that a report needs.

use std::fmt::Write as _;

/// An element that is being written: attributes first, then its content.
#[derive(Debug)]
pub(crate) struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    content: Vec<Content>,
}

#[derive(Debug)]
enum Content {
    Element(Element),
    Text(String),
}

impl Element {
    pub(crate) fn new(name: &'static str) -> Element {
        Element {
            name,
            attributes: Vec::new(),
            content: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl std::fmt::Display) -> Element {
        self.attributes.push((name, value.to_string()));
        self
    }

    pub(crate) fn with_text(mut self, text: impl Into<String>) -> Element {
        self.content.push(Content::Text(text.into()));
        self
    }

    pub(crate) fn with_children(mut self, children: impl IntoIterator<Item = Element>) -> Element {
        self.content.extend(children.into_iter().map(Content::Element));
        self
    }

    /// The document whose root this is.
    pub(crate) fn into_document(self) -> String {
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        self.write(&mut text, 0);
        text
    }

    fn write(&self, text: &mut String, depth: usize) {
        let indent = "  ".repeat(depth);
        let _ = write!(text, "{indent}<{}", self.name);
        for (name, value) in &self.attributes {
            let _ = write!(text, " {name}=\"{}\"", escape(value, true));
        }
        if self.content.is_empty() {
            text.push_str("/>\n");
            return;
        }
        text.push('>');
        let has_text = self
            .content
            .iter()
            .any(|content| matches!(content, Content::Text(_)));
        if !has_text {
            text.push('\n');
        }
        for content in &self.content {
            match content {
                Content::Element(element) => element.write(text, depth + 1),
                Content::Text(content) => text.push_str(&escape(content, false)),
            }
        }
        if !has_text {
            text.push_str(&indent);
        }
        let _ = writeln!(text, "</{}>", self.name);
    }
}

/// Text as XML 1.0 takes it: characters that it does not know, most control characters, are replaced.
fn escape(text: &str, in_attribute: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' if in_attribute => escaped.push_str("&quot;"),
            // A parser would make spaces of these.
            '\n' | '\t' if in_attribute => {
                let _ = write!(escaped, "&#{};", u32::from(character));
            }
            '\n' | '\t' => escaped.push(character),
            '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}' => {
                escaped.push(character);
            }
            _ => escaped.push('\u{fffd}'),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::Element;

    #[test]
    fn what_xml_does_not_take_is_escaped_or_replaced() {
        let element = Element::new("a")
            .with("b", "\"<\n&>\u{1b}")
            .with_text("x < y ]]> \u{0}\u{ffff}");
        assert_eq!(
            element.into_document(),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <a b=\"&quot;&lt;&#10;&amp;&gt;\u{fffd}\">x &lt; y ]]&gt; \u{fffd}\u{fffd}</a>\n"
        );
    }
}
