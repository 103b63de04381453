//! Finding the list in a file: of everything that looks like one, the one that names the most tiers.

use std::collections::BTreeMap;

use firstpass_object::TierName;

use super::{HandList, ListEntry, ListForm, shell};
use crate::TierGraph;

/// The list of tiers in a text, however it is written; `None` if nothing in it names a tier.
pub fn find_list(text: &str, tiers: &TierGraph) -> Option<HandList> {
    let candidates = shell::lists(text)
        .into_iter()
        .chain(bulleted(text))
        .chain(bracketed(text));
    let candidates = candidates
        .chain(one_per_line(text))
        .chain(commands(text))
        .chain(calls(text));
    let score = |list: &HandList| {
        let mut known: Vec<Vec<TierName>> = list
            .entries
            .iter()
            .map(|entry| named(&entry.text, tiers))
            .filter(|found| !found.is_empty())
            .collect();
        known.sort();
        known.dedup();
        (
            known.len(),
            std::cmp::Reverse(list.entries.len() - known.len()),
            std::cmp::Reverse(list.line),
        )
    };
    // Of equals the first one wins.
    let best = candidates
        .map(|list| (score(&list), list))
        .reduce(|best, other| if other.0 > best.0 { other } else { best });
    best.filter(|(score, _)| score.0 > 0).map(|(_, list)| list)
}

/// The tiers that an entry names: `namespace/name`, a bare name, either behind `kustomization/`.
pub(super) fn named(entry: &str, tiers: &TierGraph) -> Vec<TierName> {
    let bare = ["kustomization/", "Kustomization/", "kustomizations/", "ks/"]
        .iter()
        .find_map(|prefix| entry.strip_prefix(prefix))
        .unwrap_or(entry);
    let names = tiers.indices().map(|tier| tiers.name(tier));
    let is_it = |name: &&TierName| match bare.split_once('/') {
        Some((namespace, rest)) => name.namespace == namespace && name.name == rest,
        None => name.name == bare,
    };
    names.filter(is_it).cloned().collect()
}

/// Whether a word can be a name of Kubernetes, with a namespace before it.
pub(super) fn is_name(word: &str) -> bool {
    let is_allowed =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '/' | '_');
    !word.is_empty()
        && word.chars().all(is_allowed)
        && word.chars().any(|character| character.is_ascii_alphanumeric())
}

/// The lines of a text with their numbers, without comments.
fn lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let strip = |line: &'_ str| -> usize {
        let mut previous = ' ';
        for (place, character) in line.char_indices() {
            if character == '#' && previous.is_whitespace() {
                return place;
            }
            previous = character;
        }
        line.len()
    };
    (1..)
        .zip(text.lines())
        .map(move |(number, line)| (number, line[..strip(line)].trim_end()))
}

/// Items behind `-`, `*` or a number, at one indentation; the value of `name:` where an item is a map. Lines that are
/// indented further belong to the item above them.
fn bulleted(text: &str) -> Vec<HandList> {
    let mut open: Vec<(usize, HandList)> = Vec::new();
    let mut done = Vec::new();
    for (number, line) in lines(text) {
        let content = line.trim_start();
        if content.is_empty() {
            continue;
        }
        let indent = line.len() - content.len();
        let item = item(content);
        let ends = |level: usize| indent < level || (indent == level && item.is_none());
        while open.last().is_some_and(|(level, _)| ends(*level)) {
            done.extend(open.pop().map(|(_, list)| list));
        }
        let Some(item) = item else {
            // `name:` on a later line of the item.
            if let (Some((level, list)), Some(name)) = (open.last_mut(), value_of_name(content))
                && indent > *level
                && list.entries.last().is_none_or(|last| last.line < number)
                && !list
                    .entries
                    .last()
                    .is_some_and(|last| last.line + 1 == number && is_name(&last.text))
            {
                list.entries.push(ListEntry {
                    text: name,
                    line: number,
                });
            }
            continue;
        };
        if open.last().is_none_or(|(level, _)| *level < indent) {
            open.push((
                indent,
                HandList {
                    form: ListForm::List,
                    line: number,
                    entries: Vec::new(),
                },
            ));
        }
        let name =
            value_of_name(item).or_else(|| Some(unquoted(item).to_owned()).filter(|word| is_name(word)));
        if let (Some((_, list)), Some(text)) = (open.last_mut(), name) {
            list.entries.push(ListEntry { text, line: number });
        }
    }
    done.extend(open.into_iter().map(|(_, list)| list));
    done
}

/// What stands behind `- `, `* `, `1. ` or `1) `.
fn item(content: &str) -> Option<&str> {
    let rest = content.strip_prefix("- ").or_else(|| content.strip_prefix("* "));
    let numbered = || {
        let digits = content.len()
            - content
                .trim_start_matches(|character: char| character.is_ascii_digit())
                .len();
        let rest = &content[digits..];
        (digits > 0)
            .then(|| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")))
            .flatten()
    };
    rest.or_else(numbered).map(str::trim)
}

fn value_of_name(content: &str) -> Option<String> {
    let value = unquoted(content.strip_prefix("name:")?.trim());
    is_name(value).then(|| value.to_owned())
}

fn unquoted(word: &str) -> &str {
    word.trim_matches(['"', '\'', '`', ',', ';'])
}

/// Words in brackets, with commas between them.
fn bracketed(text: &str) -> Vec<HandList> {
    let mut lists = Vec::new();
    let mut current: Option<HandList> = None;
    for (number, line) in lines(text) {
        let mut rest = line;
        loop {
            match &mut current {
                None => {
                    let Some((_, after)) = rest.split_once('[') else {
                        break;
                    };
                    current = Some(HandList {
                        form: ListForm::List,
                        line: number,
                        entries: Vec::new(),
                    });
                    rest = after;
                }
                Some(list) => {
                    let (inside, after) = match rest.split_once(']') {
                        Some((inside, after)) => (inside, Some(after)),
                        None => (rest, None),
                    };
                    let words = inside
                        .split(',')
                        .map(|word| unquoted(word.trim()))
                        .filter(|word| is_name(word));
                    list.entries.extend(words.map(|word| ListEntry {
                        text: word.to_owned(),
                        line: number,
                    }));
                    let Some(after) = after else { break };
                    lists.extend(current.take());
                    rest = after;
                }
            }
        }
    }
    lists
}

/// Lines that hold one word each.
fn one_per_line(text: &str) -> Option<HandList> {
    let entries: Vec<ListEntry> = lines(text)
        .map(|(line, content)| (line, unquoted(content.trim())))
        .filter(|(_, word)| is_name(word))
        .map(|(line, word)| ListEntry {
            text: word.to_owned(),
            line,
        })
        .collect();
    Some(HandList {
        form: ListForm::Lines,
        line: entries.first()?.line,
        entries,
    })
}

/// Names behind `kustomization` or `ks` in commands such as `flux reconcile ks platform`.
fn commands(text: &str) -> Option<HandList> {
    let mut entries: Vec<ListEntry> = Vec::new();
    for (line, content) in lines(text) {
        let words: Vec<&str> = content.split_whitespace().map(unquoted).collect();
        for (place, word) in words.iter().enumerate() {
            let (kind, joined) = word
                .split_once('/')
                .map_or((*word, None), |(kind, name)| (kind, Some(name)));
            let kind = kind.split('.').next().unwrap_or(kind);
            if !matches!(kind, "kustomization" | "kustomizations" | "ks") {
                continue;
            }
            let name = joined.or_else(|| {
                words
                    .get(place + 1)
                    .copied()
                    .filter(|next| !next.starts_with('-'))
            });
            if let Some(name) = name.filter(|name| is_name(name))
                && entries.last().is_none_or(|last| last.text != name)
            {
                entries.push(ListEntry {
                    text: name.to_owned(),
                    line,
                });
            }
        }
    }
    Some(HandList {
        form: ListForm::Commands,
        line: entries.first()?.line,
        entries,
    })
}

/// Calls of one function or script with a name each, such as `wait_for platform`.
fn calls(text: &str) -> Vec<HandList> {
    let mut by_word: BTreeMap<&str, HandList> = BTreeMap::new();
    for (line, content) in lines(text) {
        let mut words = content.split_whitespace();
        let (Some(word), Some(name)) = (words.next(), words.next()) else {
            continue;
        };
        let name = unquoted(name);
        if is_name(word) && is_name(name) {
            let blank = || HandList {
                form: ListForm::Commands,
                line,
                entries: Vec::new(),
            };
            let list = by_word.entry(word).or_insert_with(blank);
            list.entries.push(ListEntry {
                text: name.to_owned(),
                line,
            });
        }
    }
    by_word
        .into_values()
        .filter(|list| list.entries.len() > 1)
        .collect()
}
