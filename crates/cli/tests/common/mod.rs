//! Running the binary as people do.

#![allow(dead_code, reason = "each test file uses a part of this")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests read the inputs that they compare with"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The root of the workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Runs the binary in a directory.
pub(crate) fn firstpass(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_firstpass"))
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap()
}

/// Runs the binary with `--format json` and reads what it prints.
pub(crate) fn json(directory: &Path, arguments: &[&str]) -> Value {
    let output = firstpass(directory, &[arguments, &["--format", "json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "no JSON from `firstpass {}`: {error}\n{}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

/// The texts of a list of texts.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// The findings of the first cluster at warning or above.
pub(crate) fn loud_findings(report: &Value) -> Vec<&Value> {
    let findings = report["clusters"][0]["findings"].as_array().unwrap();
    findings
        .iter()
        .filter(|finding| finding["severity"] != "info")
        .collect()
}
