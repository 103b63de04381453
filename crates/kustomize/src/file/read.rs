//! From YAML to the fields of a kustomization file, by the rules of Go's JSON decoder, which kustomize goes through.
//!
//! Keys are matched in any letter case, `null` leaves a field as it was, the last of two equal keys wins, and a plain
//! `yes` is a boolean, because this part of kustomize still reads YAML 1.1.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use firstpass_yaml::{Mark, Node, NodeKind, Style, Tag, nearest};

/// How a text is held to the types of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Numbers and booleans become text where text is wanted: `newTag: 1.10` is `1.1`.
    pub(crate) coerce: bool,
    /// A field nobody knows is an error.
    pub(crate) deny_unknown: bool,
    /// A field given twice is an error.
    pub(crate) deny_repeated: bool,
    /// A plain `yes` or `off` is a boolean, as in YAML 1.1.
    pub(crate) old_booleans: bool,
}

impl Rules {
    /// A kustomization file, as kustomize reads it.
    pub(crate) const KUSTOMIZATION: Rules = Rules {
        coerce: false,
        deny_unknown: true,
        deny_repeated: false,
        old_booleans: true,
    };
    /// The root kustomization file as Flux reads it (F-805), and files of replacements.
    pub(crate) const LENIENT: Rules = Rules {
        coerce: true,
        deny_unknown: false,
        deny_repeated: false,
        old_booleans: true,
    };
    /// The object that configures a transformer or generator, which was read as an object first.
    pub(crate) const OBJECT: Rules = Rules {
        old_booleans: false,
        ..Rules::LENIENT
    };
    /// A file of the `configurations` field.
    pub(crate) const CONFIGURATION: Rules = Rules {
        coerce: true,
        deny_unknown: true,
        deny_repeated: true,
        old_booleans: true,
    };
}

/// What does not fit, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    pub(crate) mark: Mark,
    pub(crate) what: String,
    pub(crate) help: Option<String>,
}

/// A value and the place where it stands in its file; [`Mark::NONE`] if a program put it there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where it starts.
    pub mark: Mark,
}

impl<T> From<T> for Located<T> {
    fn from(value: T) -> Located<T> {
        Located {
            value,
            mark: Mark::NONE,
        }
    }
}

impl<T> Deref for Located<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Located<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// A type that can be read from YAML. A null node never gets here except inside lists: fields keep their default.
pub(crate) trait Read: Sized {
    fn read(node: &Node, rules: Rules) -> Result<Self, Mismatch>;
}

/// The fields of a mapping, taken one by one; what is left over at the end is unknown.
pub(crate) struct Fields<'n> {
    rules: Rules,
    entries: Vec<Entry<'n>>,
    known: Vec<&'static str>,
}

struct Entry<'n> {
    key: &'n Node,
    value: &'n Node,
    taken: bool,
}

impl<'n> Fields<'n> {
    /// Opens a mapping.
    pub(crate) fn of(node: &'n Node, rules: Rules) -> Result<Fields<'n>, Mismatch> {
        let NodeKind::Map(map) = &node.kind else {
            return Err(mismatch(node, "a mapping"));
        };
        let fields = Fields {
            rules,
            entries: map
                .iter()
                .map(|(key, value)| Entry {
                    key,
                    value,
                    taken: false,
                })
                .collect(),
            known: Vec::new(),
        };
        if rules.deny_repeated {
            fields.refuse_repeated()?;
        }
        Ok(fields)
    }

    /// The value of a field, or its default if the field is missing or null.
    pub(crate) fn take<T: Read + Default>(&mut self, name: &'static str) -> Result<T, Mismatch> {
        Ok(self.take_if_set(name)?.unwrap_or_default())
    }

    /// The value of a field, if it is there and not null.
    pub(crate) fn take_if_set<T: Read>(&mut self, name: &'static str) -> Result<Option<T>, Mismatch> {
        let rules = self.rules;
        match self.node(name) {
            Some(node) => T::read(node, rules).map(Some).map_err(|error| Mismatch {
                what: if error.what.starts_with('`') {
                    error.what
                } else {
                    format!("`{name}` {}", error.what)
                },
                ..error
            }),
            None => Ok(None),
        }
    }

    /// The node under a field, if it is there and not null.
    pub(crate) fn node(&mut self, name: &'static str) -> Option<&'n Node> {
        self.known.push(name);
        let mut found = None;
        for entry in &mut self.entries {
            if entry
                .key
                .as_text()
                .is_some_and(|key| key.eq_ignore_ascii_case(name))
            {
                entry.taken = true;
                found = (!entry.value.is_null()).then_some(entry.value);
            }
        }
        found
    }

    /// The place of a field's key.
    pub(crate) fn mark(&self, name: &str) -> Mark {
        self.entries
            .iter()
            .rfind(|entry| {
                entry
                    .key
                    .as_text()
                    .is_some_and(|key| key.eq_ignore_ascii_case(name))
            })
            .map_or(Mark::NONE, |entry| entry.key.mark)
    }

    /// Whether any field taken so far, but for these, has a value that Go would not call zero.
    pub(crate) fn declares_beside(&self, names: &[&str]) -> bool {
        self.entries.iter().enumerate().any(|(index, entry)| {
            let key = entry.key.as_text().unwrap_or_default();
            let is = |name: &str| key.eq_ignore_ascii_case(name);
            let again = |later: &Entry<'_>| later.key.as_text().is_some_and(is);
            let counts = entry.taken
                && !names.iter().any(|name| is(name))
                && !self.entries[index + 1..].iter().any(again);
            counts && !entry.value.is_null() && entry.value.as_text() != Some("")
        })
    }

    /// Ends the reading: what was not taken is an error, if the rules say so.
    pub(crate) fn finish(self) -> Result<(), Mismatch> {
        if !self.rules.deny_unknown {
            return Ok(());
        }
        let Some(unknown) = self.entries.iter().find(|entry| !entry.taken) else {
            return Ok(());
        };
        let name = unknown.key.as_text().unwrap_or_default();
        let help = match nearest(name, self.known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known here are {}", self.known.join(", ")),
        };
        Err(Mismatch {
            mark: unknown.key.mark,
            what: format!("`{name}` is an unknown field"),
            help: Some(help),
        })
    }

    fn refuse_repeated(&self) -> Result<(), Mismatch> {
        for (index, entry) in self.entries.iter().enumerate() {
            let repeats = |other: &Entry<'_>| other.key.as_text() == entry.key.as_text();
            if self.entries[..index].iter().any(repeats) {
                return Err(Mismatch {
                    mark: entry.key.mark,
                    what: format!(
                        "`{}` is already set above",
                        entry.key.as_text().unwrap_or_default()
                    ),
                    help: None,
                });
            }
        }
        Ok(())
    }
}

impl Read for String {
    fn read(node: &Node, rules: Rules) -> Result<String, Mismatch> {
        let NodeKind::Scalar(scalar) = &node.kind else {
            return Err(mismatch(node, "a string"));
        };
        if let Some(flag) = as_bool(node, rules) {
            return coerced(node, rules, flag.to_string());
        }
        match scalar.tag {
            Tag::Null => Ok(String::new()),
            Tag::Int | Tag::Float => {
                let text = match scalar.to_json() {
                    Ok(serde_json::Value::Number(number)) => number.to_string(),
                    _ => scalar.text.to_string(),
                };
                coerced(node, rules, text)
            }
            _ => Ok(scalar.text.to_string()),
        }
    }
}

impl Read for bool {
    fn read(node: &Node, rules: Rules) -> Result<bool, Mismatch> {
        as_bool(node, rules).ok_or_else(|| mismatch(node, "true or false"))
    }
}

impl Read for i64 {
    fn read(node: &Node, _rules: Rules) -> Result<i64, Mismatch> {
        match node.as_scalar().map(firstpass_yaml::Scalar::to_json) {
            Some(Ok(serde_json::Value::Number(number))) => {
                number.as_i64().ok_or_else(|| mismatch(node, "a whole number"))
            }
            _ => Err(mismatch(node, "a whole number")),
        }
    }
}

impl<T: Read + Default> Read for Vec<T> {
    fn read(node: &Node, rules: Rules) -> Result<Vec<T>, Mismatch> {
        let NodeKind::Seq(items) = &node.kind else {
            return Err(mismatch(node, "a list"));
        };
        items
            .iter()
            .map(|item| {
                if item.is_null() {
                    Ok(T::default())
                } else {
                    T::read(item, rules)
                }
            })
            .collect()
    }
}

impl Read for BTreeMap<String, String> {
    fn read(node: &Node, rules: Rules) -> Result<BTreeMap<String, String>, Mismatch> {
        let NodeKind::Map(map) = &node.kind else {
            return Err(mismatch(node, "a mapping of strings"));
        };
        map.iter()
            .map(|(key, value)| {
                let key = key.as_text().ok_or_else(|| mismatch(key, "a string"))?;
                let value = String::read(value, rules).map_err(|error| Mismatch {
                    what: format!("`{key}` {}", error.what),
                    ..error
                })?;
                Ok((key.to_owned(), value))
            })
            .collect()
    }
}

impl<T: Read> Read for Located<T> {
    fn read(node: &Node, rules: Rules) -> Result<Located<T>, Mismatch> {
        Ok(Located {
            value: T::read(node, rules)?,
            mark: node.mark,
        })
    }
}

/// A boolean, in the spellings of YAML 1.1 if the rules say so.
fn as_bool(node: &Node, rules: Rules) -> Option<bool> {
    let scalar = node.as_scalar()?;
    let is_old = rules.old_booleans && scalar.tag == Tag::Str && scalar.style == Style::Plain;
    if scalar.tag != Tag::Bool && !is_old {
        return None;
    }
    match scalar.text.as_str() {
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "y" | "Y" | "on" | "On" | "ON" => Some(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "n" | "N" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

fn coerced(node: &Node, rules: Rules, text: String) -> Result<String, Mismatch> {
    if rules.coerce {
        return Ok(text);
    }
    Err(Mismatch {
        help: Some(format!("quote it: \"{}\"", node.as_text().unwrap_or_default())),
        ..mismatch(node, "a string")
    })
}

/// The mismatch of a node with what is wanted.
pub(crate) fn mismatch(node: &Node, wanted: &str) -> Mismatch {
    let found = match &node.kind {
        NodeKind::Seq(_) => "a list".to_owned(),
        NodeKind::Map(_) => "a mapping".to_owned(),
        NodeKind::Scalar(scalar) => match scalar.tag {
            Tag::Null => "nothing".to_owned(),
            Tag::Int | Tag::Float => format!("the number {}", scalar.text),
            Tag::Bool => format!("the boolean {}", scalar.text),
            _ if as_bool(node, Rules::LENIENT).is_some() => format!("the boolean {}", scalar.text),
            _ => format!("the string {:?}", clipped(&scalar.text)),
        },
    };
    Mismatch {
        mark: node.mark,
        what: format!("must be {wanted}, not {found}"),
        help: None,
    }
}

fn clipped(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
