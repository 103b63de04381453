//! The texts of an object, and which of them a shell will read.

use serde_json::{Map, Value};

/// Keys whose texts are run by a shell, or handed to one by cloud-init.
const SCRIPT_KEYS: [&str; 9] = [
    "bootcmd",
    "cloud-init",
    "cloud-init.yaml",
    "runcmd",
    "script",
    "user-data",
    "userData",
    "userdata",
    "write_files",
];

/// Extensions of files that a shell runs.
const SCRIPT_EXTENSIONS: [&str; 6] = ["ash", "bash", "dash", "ksh", "sh", "zsh"];

/// Names of shells as a container's command names them.
const SHELLS: [&str; 6] = ["ash", "bash", "dash", "ksh", "sh", "zsh"];

/// One string of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text<'v> {
    /// The keys and indices that lead to it.
    pub(crate) path: Vec<String>,
    /// The string.
    pub(crate) text: &'v str,
    /// Who reads it.
    pub(crate) reader: Reader,
}

/// Who reads a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A shell: `${…}` and `$$` have a meaning of their own there.
    Shell,
    /// A Grafana dashboard: `${…}` is one of its variables.
    Dashboard,
    /// A program with a file of its own, such as a configuration: `${…}` may mean something to it.
    Program,
    /// Kubernetes or a controller: `${…}` means nothing.
    Cluster,
}

impl Text<'_> {
    /// The path as the parts that places in files are looked up by.
    pub(crate) fn path(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }
}

/// All strings of an object in the order of its keys.
pub(crate) fn texts(object: &Value) -> Vec<Text<'_>> {
    let mut found = Vec::new();
    let mut path = Vec::new();
    walk(object, Reader::Cluster, &mut path, &mut found);
    found
}

/// Depth is bounded by what the YAML reader lets through.
fn walk<'v>(value: &'v Value, reader: Reader, path: &mut Vec<String>, found: &mut Vec<Text<'v>>) {
    match value {
        Value::String(text) => found.push(Text {
            path: path.clone(),
            text,
            reader: reader_of(text, reader),
        }),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(index.to_string());
                walk(item, reader, path, found);
                path.pop();
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                path.push(key.clone());
                walk(item, reader_below(map, key, reader), path, found);
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn reader_below(map: &Map<String, Value>, key: &str, reader: Reader) -> Reader {
    let extension = key.rsplit_once('.').map(|(_, extension)| extension);
    let is_script = SCRIPT_KEYS.contains(&key)
        || extension.is_some_and(|extension| SCRIPT_EXTENSIONS.contains(&extension))
        || (matches!(key, "command" | "args") && runs_shell(map));
    if is_script { Reader::Shell } else { reader }
}

/// Whether a container (or what looks like one) has a shell run its arguments.
fn runs_shell(container: &Map<String, Value>) -> bool {
    let is_shell = |word: &str| {
        let program = word.rsplit('/').next().unwrap_or(word);
        SHELLS.contains(&program)
    };
    ["command", "args"].iter().any(|key| match container.get(*key) {
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).any(is_shell),
        Some(Value::String(line)) => line.split_whitespace().next().is_some_and(is_shell),
        _ => false,
    })
}

fn reader_of(text: &str, reader: Reader) -> Reader {
    if text.starts_with("#!") || text.starts_with("#cloud-config") {
        Reader::Shell
    } else if is_dashboard(text) {
        Reader::Dashboard
    } else if reader == Reader::Cluster && text.trim_end().contains('\n') {
        Reader::Program
    } else {
        reader
    }
}

/// A dashboard in JSON, as Grafana exports it.
fn is_dashboard(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && text.contains("\"panels\"")
        && (text.contains("\"schemaVersion\"") || text.contains("\"templating\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reader(object: &Value, last: &str) -> Reader {
        let texts = texts(object);
        let found = texts
            .iter()
            .find(|text| text.text == last || text.path.ends_with(&[last.to_owned()]));
        found.unwrap_or_else(|| panic!("no {last}")).reader
    }

    #[test]
    fn shells_are_told_from_programs_and_from_the_cluster() {
        let object = json!({
            "data": {"run.sh": "echo", "app.yaml": "a: 1\nb: 2\n", "hook": "#!/bin/sh\nexit", "host": "web"},
            "spec": {
                "containers": [
                    {"command": ["/bin/bash", "-c"], "args": ["sleep ${N:-1}"]},
                    {"command": ["serve"], "args": ["--port=${PORT}"]},
                ],
                "cloudInitNoCloud": {"userData": "#cloud-config\nruncmd: []\n"},
            },
        });
        assert_eq!(reader(&object, "run.sh"), Reader::Shell);
        assert_eq!(reader(&object, "hook"), Reader::Shell);
        assert_eq!(reader(&object, "app.yaml"), Reader::Program);
        assert_eq!(reader(&object, "host"), Reader::Cluster);
        assert_eq!(reader(&object, "sleep ${N:-1}"), Reader::Shell);
        assert_eq!(reader(&object, "--port=${PORT}"), Reader::Cluster);
        assert_eq!(reader(&object, "userData"), Reader::Shell);
        let board = json!({"data": {"board.json": "{\"panels\": [], \"schemaVersion\": 39}"}});
        assert_eq!(reader(&board, "board.json"), Reader::Dashboard);
    }
}
