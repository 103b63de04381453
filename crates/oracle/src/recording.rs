//! A recording: lines of what happened, as text.

use std::fmt::Write;

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Seconds since the beginning.
    pub at: f64,
    /// The tier on whose behalf it happened; empty if none.
    pub tier: String,
    /// The object; empty for a step.
    pub object: String,
    /// What happened.
    pub what: String,
}

/// What happened in a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// The lines, in order.
    pub entries: Vec<Entry>,
}

impl Entry {
    /// Whether a step of the script begins here.
    pub fn is_step(&self) -> bool {
        self.object.is_empty()
    }
}

impl Recording {
    /// The text of a recording.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            // Writing to a String cannot fail.
            let _ = if entry.is_step() {
                writeln!(text, "{:>8.2}  == {}", entry.at, entry.what)
            } else {
                let tier = if entry.tier.is_empty() { "-" } else { &entry.tier };
                writeln!(
                    text,
                    "{:>8.2}  {:<14}  {:<44}  {}",
                    entry.at, tier, entry.object, entry.what
                )
            };
        }
        text
    }

    /// Reads the text of a recording; lines that begin with `#` are remarks.
    ///
    /// # Errors
    /// The number of the line that is none.
    pub fn parse(text: &str) -> Result<Recording, usize> {
        let mut entries = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            entries.push(entry(line).ok_or(index + 1)?);
        }
        Ok(Recording { entries })
    }
}

fn entry(line: &str) -> Option<Entry> {
    let (at, rest) = line.trim_start().split_once("  ")?;
    let at = at.parse().ok()?;
    if let Some(step) = rest.strip_prefix("== ") {
        return Some(Entry {
            at,
            tier: String::new(),
            object: String::new(),
            what: step.to_owned(),
        });
    }
    let (tier, rest) = rest.split_once("  ")?;
    let (object, what) = rest.trim_start().split_once("  ")?;
    Some(Entry {
        at,
        tier: if tier == "-" {
            String::new()
        } else {
            tier.to_owned()
        },
        object: object.to_owned(),
        what: what.trim_start().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_can_be_read_again() {
        let line = |tier: &str, object: &str, what: &str| Entry {
            at: 1.25,
            tier: tier.to_owned(),
            object: object.to_owned(),
            what: what.to_owned(),
        };
        let recording = Recording {
            entries: vec![
                line("", "", "begin"),
                line("infra", "ConfigMap/default/a", "created by kustomize-controller"),
                line("", "Namespace/x", "gone"),
            ],
        };
        assert_eq!(Recording::parse(&recording.to_text()), Ok(recording));
        assert_eq!(Recording::parse("nonsense"), Err(1));
    }
}
