//! From values to text, byte for byte as Kubernetes tools write YAML.
//!
//! Those tools hand JSON to go-yaml v2, so its taste decides: keys in a natural order (`a2` before `a10`), lists not
//! indented below their key, lines folded at the first space after column 80, `|` for whatever holds a newline, quotes
//! around what YAML 1.1 would not read as text, characters beyond U+FFFF escaped.
//!
//! [`scalar`] decides how a text is written, [`order`] how keys are sorted; this file lays the document out.

mod float;
mod order;
mod scalar;

use serde_json::{Map, Value};

use crate::json::whole_if_possible;

pub use float::go_float;
use order::in_natural_order;
use scalar::{Analysis, Quoting};

/// Lines are broken at the first space beyond this column.
const WIDTH: usize = 80;

/// Spaces per level.
const STEP: usize = 2;

/// A key longer than this many bytes is written behind a `? `.
const SIMPLE_KEY_MAX: usize = 128;

/// The YAML of a value, as `kubectl kustomize` writes an object.
///
/// ```
/// let value = serde_json::json!({"kind": "ConfigMap", "data": {"on": "yes", "n": "1e3", "a": ["x: y", 1.5e-7]}});
/// let text = "data:\n  a:\n  - 'x: y'\n  - 1.5e-07\n  \"n\": \"1e3\"\n  \"on\": \"yes\"\nkind: ConfigMap\n";
/// assert_eq!(firstpass_yaml::emit(&value), text);
/// ```
pub fn emit(value: &Value) -> String {
    let mut writer = Writer::new();
    writer.push(value);
    writer.into_text()
}

/// The YAML of several values, parted by `---` as kustomize parts the objects of a build.
pub fn emit_all<'v>(values: impl IntoIterator<Item = &'v Value>) -> String {
    let mut writer = Writer::new();
    for value in values {
        writer.push(value);
    }
    writer.into_text()
}

/// Writes documents into one text.
#[derive(Debug, Default)]
pub struct Writer {
    out: String,
    /// Characters since the start of the line.
    column: usize,
    /// Whether what was written last parts tokens by itself.
    whitespace: bool,
    /// Whether the line holds nothing but indentation and dashes.
    indention: bool,
    refused: Option<char>,
}

/// What a node stands in, which decides how a list below it is laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parent {
    Root,
    List,
    Mapping,
}

impl Writer {
    /// A writer without documents.
    pub fn new() -> Writer {
        Writer::default()
    }

    /// Appends a document.
    pub fn push(&mut self, value: &Value) {
        if !self.out.is_empty() {
            self.out.push_str("---\n");
        }
        self.column = 0;
        self.whitespace = true;
        self.indention = true;
        self.node(value, None, Parent::Root);
        self.start_line(0);
    }

    /// A character that kustomize fails on where it stands in a text: it is a control character that go-yaml does not
    /// accept, and JSON does not escape. It is written as an escape here.
    pub fn refused(&self) -> Option<char> {
        self.refused
    }

    /// The text of all documents.
    pub fn into_text(self) -> String {
        self.out
    }

    /// `indent` is that of the surrounding list or mapping, nothing at the root.
    fn node(&mut self, value: &Value, indent: Option<usize>, parent: Parent) {
        match value {
            Value::Null => self.word("null"),
            Value::Bool(true) => self.word("true"),
            Value::Bool(false) => self.word("false"),
            Value::Number(number) => self.number(number),
            Value::String(text) => self.text(text, indent.map_or(STEP, |indent| indent + STEP)),
            Value::Array(items) if items.is_empty() => self.word("[]"),
            Value::Array(items) => self.list(items, indent, parent),
            Value::Object(fields) if fields.is_empty() => self.word("{}"),
            Value::Object(fields) => self.mapping(fields, indent),
        }
    }

    fn list(&mut self, items: &[Value], indent: Option<usize>, parent: Parent) {
        let compact = parent == Parent::Mapping && !self.indention;
        let indent = match indent {
            None => 0,
            Some(indent) if compact => indent,
            Some(indent) => indent + STEP,
        };
        for item in items {
            self.start_line(indent);
            self.structure('-');
            self.node(item, Some(indent), Parent::List);
        }
    }

    fn mapping(&mut self, fields: &Map<String, Value>, indent: Option<usize>) {
        let indent = indent.map_or(0, |indent| indent + STEP);
        in_natural_order(fields, |key, value| {
            self.start_line(indent);
            let analysis = Analysis::of(key);
            if analysis.line_breaks || key.len() > SIMPLE_KEY_MAX {
                self.structure('?');
                self.scalar(key, &analysis, indent + STEP);
                self.start_line(indent);
                self.structure(':');
            } else {
                self.simple_key(key, &analysis, indent + STEP);
                self.put(':');
                self.indention = false;
            }
            self.node(value, Some(indent), Parent::Mapping);
        });
    }

    fn number(&mut self, number: &serde_json::Number) {
        use std::fmt::Write as _;

        self.space();
        let before = self.out.len();
        let number = whole_if_possible(number);
        match number.as_f64() {
            Some(float) if number.is_f64() => self.out.push_str(&go_float(float)),
            _ => {
                let _ = write!(self.out, "{number}");
            }
        }
        self.column += self.out.len() - before;
        self.close_token();
    }

    fn text(&mut self, text: &str, indent: usize) {
        let analysis = Analysis::of(text);
        if analysis.special && text.contains('\u{85}') {
            let text = scalar::without_next_line(text);
            return self.scalar(&text, &Analysis::of(&text), indent);
        }
        self.scalar(text, &analysis, indent);
    }

    fn scalar(&mut self, text: &str, analysis: &Analysis, indent: usize) {
        self.note_refused(text, analysis);
        match analysis.quoting(text) {
            Quoting::Plain => self.plain(text, analysis, indent, true),
            Quoting::Single => self.single_quoted(text, indent, true),
            Quoting::Double => self.double_quoted(text, indent, true),
            Quoting::Literal => self.literal(text, indent),
        }
    }

    fn simple_key(&mut self, key: &str, analysis: &Analysis, indent: usize) {
        self.note_refused(key, analysis);
        match analysis.quoting(key) {
            Quoting::Plain => self.plain(key, analysis, indent, false),
            Quoting::Single => self.single_quoted(key, indent, false),
            Quoting::Double | Quoting::Literal => self.double_quoted(key, indent, false),
        }
    }

    fn note_refused(&mut self, text: &str, analysis: &Analysis) {
        if analysis.special && self.refused.is_none() {
            self.refused = text.chars().find(|&c| scalar::is_refused(c));
        }
    }

    /// Begins a new line unless this one is still empty up to `indent`.
    fn start_line(&mut self, indent: usize) {
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.end_line();
        }
        self.pad(indent);
        self.whitespace = true;
        self.indention = true;
    }

    fn end_line(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn pad(&mut self, indent: usize) {
        const SPACES: &str = "                                                                ";
        while self.column < indent {
            let count = (indent - self.column).min(SPACES.len());
            self.out.push_str(&SPACES[..count]);
            self.column += count;
        }
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    /// Parts a token from the one before it.
    fn space(&mut self) {
        if !self.whitespace {
            self.put(' ');
        }
    }

    fn close_token(&mut self) {
        self.whitespace = false;
        self.indention = false;
    }

    /// A token of the layout, behind which the line still counts as indentation.
    fn structure(&mut self, c: char) {
        self.space();
        self.put(c);
        self.whitespace = false;
    }

    fn word(&mut self, word: &str) {
        self.space();
        self.out.push_str(word);
        self.column += word.len();
        self.close_token();
    }
}
