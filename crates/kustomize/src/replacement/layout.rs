//! What a tree does not keep of a text: comments, and which mappings and lists stand in brackets.
//!
//! go-yaml gives each comment to a node, as its head, its foot or beside it, and writes it there again. Whether a comment
//! is a head or a foot is told by blank lines and columns; those are the only blank lines that survive.

use std::collections::{BTreeMap, BTreeSet};

use firstpass_yaml::{Mark, Node, NodeKind, Style};

/// The layout of a text, by the places of its nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    flow: BTreeSet<Mark>,
    before: BTreeMap<Entry, Vec<Run>>,
    beside: BTreeMap<u32, String>,
    /// What follows the last entry.
    pub(super) after: Vec<Run>,
}

/// A pair of a mapping or an element of a list, by the place of its key or value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) mark: Mark,
    pub(super) is_element: bool,
}

/// Comment lines that belong together. Empty ones are blank lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) lines: Vec<String>,
    /// The column of the text where a foot stands; nothing for a head, which stands where its entry does.
    pub(super) column: Option<u32>,
    pub(super) blank_before: bool,
    pub(super) blank_after: bool,
}

impl Layout {
    /// The layout of a text that was parsed to this tree.
    pub(super) fn of(text: &str, root: &Node) -> Layout {
        let mut reader = Reader {
            lines: text.lines().collect(),
            covered: BTreeSet::new(),
            starts: BTreeMap::new(),
            layout: Layout::default(),
        };
        reader.visit(root, 0);
        reader.comments();
        reader.layout
    }

    pub(super) fn is_flow(&self, node: &Node) -> bool {
        self.flow.contains(&node.mark) && !begins_with_first(node)
    }

    pub(super) fn before(&self, entry: Entry) -> &[Run] {
        self.before.get(&entry).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn beside(&self, mark: Mark) -> Option<&str> {
        self.beside.get(&mark.line).map(String::as_str)
    }
}

/// Where an entry begins.
#[derive(Clone, Copy, Debug)]
struct Start {
    entry: Entry,
    column: u32,
    /// Whether it is the first in its mapping or list, so that nothing of the same kind precedes it.
    is_first: bool,
}

struct Reader<'t> {
    lines: Vec<&'t str>,
    /// Lines that belong to a text or to brackets which began further up.
    covered: BTreeSet<u32>,
    /// The first entry on each line, and its column.
    starts: BTreeMap<u32, Start>,
    layout: Layout,
}

impl<'t> Reader<'t> {
    fn line(&self, number: u32) -> Option<&'t str> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.lines.get(index).copied()
    }

    fn char_at(&self, mark: Mark) -> Option<char> {
        let column = usize::try_from(mark.column).ok()?.checked_sub(1)?;
        self.line(mark.line)?.chars().nth(column)
    }

    /// Looks at a node that stands in an entry of this column, 0 at the top.
    fn visit(&mut self, node: &Node, column: u32) {
        match &node.kind {
            NodeKind::Scalar(scalar) => match scalar.style {
                Style::Literal | Style::Folded => self.cover_block(node.mark, column),
                Style::SingleQuoted | Style::DoubleQuoted => self.cover_to_end(node.mark),
                Style::Plain | Style::Nothing => {}
            },
            NodeKind::Seq(_) | NodeKind::Map(_) if self.is_in_brackets(node) => {
                self.remember_flow(node);
                self.cover_to_end(node.mark);
            }
            NodeKind::Seq(items) => {
                for (index, item) in items.iter().enumerate() {
                    let entry = Entry {
                        mark: item.mark,
                        is_element: true,
                    };
                    let dash = self.dash_of(item.mark);
                    self.start(entry, dash, index == 0);
                    self.visit(item, dash.column);
                }
            }
            NodeKind::Map(map) => {
                for (index, (key, value)) in map.iter().enumerate() {
                    let entry = Entry {
                        mark: key.mark,
                        is_element: false,
                    };
                    self.start(entry, key.mark, index == 0);
                    self.visit(value, key.mark.column);
                }
            }
        }
    }

    fn is_in_brackets(&self, node: &Node) -> bool {
        !begins_with_first(node) && matches!(self.char_at(node.mark), Some('[' | '{'))
    }

    fn remember_flow(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::Scalar(_) => {}
            NodeKind::Seq(items) => {
                self.layout.flow.insert(node.mark);
                items.iter().for_each(|item| self.remember_flow(item));
            }
            NodeKind::Map(map) => {
                self.layout.flow.insert(node.mark);
                map.iter().for_each(|(_, value)| self.remember_flow(value));
            }
        }
    }

    fn start(&mut self, entry: Entry, place: Mark, is_first: bool) {
        let column = place.column;
        self.starts.entry(place.line).or_insert(Start {
            entry,
            column,
            is_first,
        });
    }

    /// The dash before an element: on its line, or alone on a line above.
    fn dash_of(&self, mark: Mark) -> Mark {
        let before_mark = usize::try_from(mark.column).unwrap_or_default().saturating_sub(1);
        let before: String = self
            .line(mark.line)
            .unwrap_or_default()
            .chars()
            .take(before_mark)
            .collect();
        if let Some(prefix) = before.trim_end().strip_suffix('-') {
            return Mark {
                line: mark.line,
                column: to_column(prefix),
            };
        }
        for line in (1..mark.line).rev() {
            let text = self.line(line).unwrap_or_default();
            let content = text.split('#').next().unwrap_or_default().trim_end();
            if let Some(prefix) = content.strip_suffix('-') {
                return Mark {
                    line,
                    column: to_column(prefix),
                };
            }
            if !content.is_empty() {
                break;
            }
        }
        mark
    }

    /// The lines of a block scalar are those that are empty or further in than the entry it stands in.
    fn cover_block(&mut self, mark: Mark, column: u32) {
        let mut pending = Vec::new();
        for number in mark.line + 1.. {
            let Some(line) = self.line(number) else { break };
            if line.trim().is_empty() {
                pending.push(number);
            } else if indent_of(line) >= column {
                self.covered.extend(pending.drain(..));
                self.covered.insert(number);
            } else {
                break;
            }
        }
    }

    /// The lines up to the end of quotes or brackets.
    fn cover_to_end(&mut self, mark: Mark) {
        let mut depth = 0_usize;
        let mut quote: Option<char> = None;
        let mut number = mark.line;
        while let Some(line) = self.line(number) {
            let skip = if number == mark.line {
                usize::try_from(mark.column).unwrap_or_default().saturating_sub(1)
            } else {
                self.covered.insert(number);
                0
            };
            let mut chars = line.chars().skip(skip).peekable();
            let mut previous = ' ';
            while let Some(c) = chars.next() {
                match (quote, c) {
                    (Some('"'), '\\') => drop(chars.next()),
                    (Some('\''), '\'') if chars.peek() == Some(&'\'') => drop(chars.next()),
                    (Some(open), c) if open == c => quote = None,
                    (Some(_), _) => {}
                    (None, '"' | '\'') if !previous.is_alphanumeric() => quote = Some(c),
                    (None, '[' | '{') => depth += 1,
                    (None, ']' | '}') => depth = depth.saturating_sub(1),
                    (None, '#') if previous.is_whitespace() => break,
                    (None, _) => {}
                }
                previous = c;
                if depth == 0 && quote.is_none() {
                    return;
                }
            }
            number += 1;
        }
    }

    fn comments(&mut self) {
        let count = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
        let mut gap = Gap::new(true);
        for number in 1..=count {
            let line = self.line(number).unwrap_or_default();
            if self.covered.contains(&number) {
                gap = Gap::new(false);
                continue;
            }
            let trimmed = line.trim();
            if trimmed.is_empty() {
                gap.blank();
            } else if trimmed.starts_with('#') {
                gap.comment(trimmed, indent_of(line) + 1);
            } else if trimmed == "---" {
                continue;
            } else {
                if let Some(start) = self.starts.get(&number).copied() {
                    let runs = std::mem::replace(&mut gap, Gap::new(false)).runs_before(start);
                    self.layout.before.insert(start.entry, runs);
                }
                gap = Gap::new(false);
                if let Some(comment) = comment_beside(line) {
                    self.layout.beside.insert(number, comment.to_owned());
                }
            }
        }
        self.layout.after = gap.runs_at_end();
    }
}

/// The comments between two lines of content.
struct Gap {
    is_start: bool,
    runs: Vec<(Run, u32)>,
    after_blank: bool,
}

impl Gap {
    fn new(is_start: bool) -> Gap {
        Gap {
            is_start,
            runs: Vec::new(),
            after_blank: false,
        }
    }

    fn blank(&mut self) {
        self.after_blank = true;
        if let Some((run, _)) = self.runs.last_mut() {
            run.blank_after = true;
        }
    }

    fn comment(&mut self, text: &str, column: u32) {
        match self.runs.last_mut() {
            Some((run, at)) if *at == column && !run.blank_after => run.lines.push(text.to_owned()),
            _ => {
                let run = Run {
                    lines: vec![text.to_owned()],
                    column: None,
                    blank_before: self.after_blank,
                    blank_after: false,
                };
                self.runs.push((run, column));
            }
        }
        self.after_blank = false;
    }

    /// Tells heads of an entry from feet of what precedes it.
    fn runs_before(self, start: Start) -> Vec<Run> {
        let Start { column, is_first, .. } = start;
        let mut runs: Vec<Run> = Vec::new();
        let mut follows_directly = !self.is_start && !is_first;
        for (mut run, at) in self.runs {
            follows_directly &= !run.blank_before;
            let is_further_in = at > column && !self.is_start;
            let is_foot = is_further_in || (follows_directly && run.blank_after);
            let is_separate = run.blank_before && runs.last().is_some_and(|last| last.column.is_none());
            run.column = is_foot.then_some(at);
            run.blank_after &= self.is_start || (is_foot && !is_further_in);
            run.blank_before = is_separate && !self.is_start;
            runs.push(run);
        }
        runs
    }

    /// What follows the last entry directly is its foot; the rest belongs to the document.
    fn runs_at_end(self) -> Vec<Run> {
        let mut runs = Vec::new();
        for (mut run, at) in self.runs {
            run.column = Some(if run.blank_before { 1 } else { at });
            run.blank_after = false;
            runs.push(run);
        }
        runs
    }
}

/// Whether a mapping or list stands where its first part does, which is so without brackets.
fn begins_with_first(node: &Node) -> bool {
    let first = match &node.kind {
        NodeKind::Scalar(_) => None,
        NodeKind::Seq(items) => items.first(),
        NodeKind::Map(map) => map.iter().next().map(|(key, _)| key),
    };
    first.is_some_and(|first| first.mark == node.mark)
}

fn indent_of(line: &str) -> u32 {
    u32::try_from(line.len() - line.trim_start_matches(' ').len()).unwrap_or(u32::MAX)
}

/// The column behind a text.
fn to_column(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX - 1) + 1
}

/// The comment at the end of a line, outside of quotes.
fn comment_beside(line: &str) -> Option<&str> {
    let mut quote: Option<char> = None;
    let (mut previous, mut before_blanks) = (' ', ':');
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some('"'), '\\') => drop(chars.next()),
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if ":-,[{?".contains(before_blanks) => quote = Some(c),
            (None, '#') if previous.is_whitespace() => return Some(line[at..].trim_end()),
            (None, _) => {}
        }
        previous = c;
        if !c.is_whitespace() {
            before_blanks = c;
        }
    }
    None
}
