//! Lists in shell scripts: arrays, the words of `for`, words in quoted strings.

use std::collections::BTreeMap;

use super::find::is_name;
use super::{HandList, ListEntry, ListForm};

/// A character with the line that it stands on.
struct Reader<'a> {
    rest: &'a str,
    line: u32,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.rest = &self.rest[character.len_utf8()..];
        self.line += u32::from(character == '\n');
        Some(character)
    }

    /// Skips what stands in front of the reader, if it is this.
    fn skip(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

/// All lists of words in a script. An array that takes in another one holds its words.
pub(super) fn lists(text: &str) -> Vec<HandList> {
    let mut reader = Reader { rest: text, line: 1 };
    let mut lists: Vec<HandList> = Vec::new();
    let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
    let mut word = String::new();
    while let Some(character) = reader.rest.chars().next() {
        match character {
            '#' if word.is_empty() => {
                while reader.rest.chars().next().is_some_and(|next| next != '\n') {
                    reader.next();
                }
            }
            '=' if is_variable(word.trim_end_matches('+')) => {
                reader.next();
                let is_more = word.ends_with('+');
                let name = word.trim_end_matches('+').to_owned();
                word.clear();
                let Some(list) = value(&mut reader, &lists, &by_name) else {
                    continue;
                };
                match by_name.get(&name).filter(|_| is_more) {
                    Some(index) => lists[*index].entries.extend(list.entries),
                    None => {
                        by_name.insert(name, lists.len());
                        lists.push(list);
                    }
                }
            }
            _ if character.is_whitespace() => {
                reader.next();
                // `for NAME in WORDS` ends with the line, or with a semicolon.
                if word == "in" {
                    let line = reader.line;
                    let entries = words(&mut reader, &['\n', ';'], &lists, &by_name);
                    lists.push(HandList {
                        form: ListForm::Shell,
                        line,
                        entries,
                    });
                }
                word.clear();
            }
            _ => {
                word.push(character);
                reader.next();
            }
        }
    }
    lists
}

/// What is assigned: an array, or words in quotes. Anything else is no list.
fn value(reader: &mut Reader<'_>, lists: &[HandList], by_name: &BTreeMap<String, usize>) -> Option<HandList> {
    let line = reader.line;
    let entries = if reader.skip("(") {
        words(reader, &[')'], lists, by_name)
    } else if reader.skip("\"") {
        words(reader, &['"'], lists, by_name)
    } else if reader.skip("'") {
        words(reader, &['\''], lists, by_name)
    } else {
        return None;
    };
    Some(HandList {
        form: ListForm::Shell,
        line,
        entries,
    })
}

/// Words up to one of the ends. Quotes around a word are dropped, comments as well, `${NAME[@]}` becomes what it holds.
fn words(
    reader: &mut Reader<'_>,
    ends: &[char],
    lists: &[HandList],
    by_name: &BTreeMap<String, usize>,
) -> Vec<ListEntry> {
    let mut entries = Vec::new();
    let (mut word, mut line) = (String::new(), reader.line);
    let mut finish = |word: &mut String, line: u32| {
        let text = std::mem::take(word);
        if let Some(index) = expanded(&text).and_then(|name| by_name.get(name)) {
            entries.extend(lists[*index].entries.iter().cloned());
        } else if is_name(&text) {
            entries.push(ListEntry { text, line });
        } else if text.contains('$') && text.chars().any(|character| character.is_ascii_alphanumeric()) {
            // A word that is put together when the script runs: nobody can tell which tiers it names.
            entries.push(ListEntry { text, line });
        }
    };
    loop {
        let here = reader.line;
        let Some(character) = reader.next() else { break };
        if ends.contains(&character) {
            break;
        }
        match character {
            '#' if word.is_empty() => {
                while reader.rest.chars().next().is_some_and(|next| next != '\n') {
                    reader.next();
                }
            }
            '\\' => {
                reader.next();
                finish(&mut word, line);
            }
            '"' | '\'' | ',' => {}
            _ if character.is_whitespace() => finish(&mut word, line),
            _ => {
                if word.is_empty() {
                    line = here;
                }
                word.push(character);
            }
        }
    }
    finish(&mut word, line);
    entries
}

/// The variable in `$NAME`, `${NAME}`, `${NAME[@]}` or `${NAME[*]}`.
fn expanded(word: &str) -> Option<&str> {
    let inner = word.strip_prefix('$')?;
    let inner = inner
        .strip_prefix('{')
        .and_then(|inner| inner.strip_suffix('}'))
        .unwrap_or(inner);
    let name = inner
        .strip_suffix("[@]")
        .or_else(|| inner.strip_suffix("[*]"))
        .unwrap_or(inner);
    is_variable(name).then_some(name)
}

fn is_variable(word: &str) -> bool {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || character == '_';
    word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && word.chars().all(is_allowed)
}
