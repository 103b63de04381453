//! What kustomize says when the entry of `resources` is neither a file of objects nor a directory that builds: it tells how it
//! tried one and then the other.

use firstpass_source::RepoPath;

use crate::error::Error;

/// How our own error of a text that is no YAML goes on after the name of the file.
const NO_YAML: &str = "is not valid YAML: ";

/// A path that is read as a file in vain, and is no directory either.
pub(super) fn neither(path: &str, place: &RepoPath, not_a_file: &Error, not_a_directory: &Error) -> String {
    let as_file = file(path, place, not_a_file);
    // Of a text that is no YAML nothing else is told.
    if not_a_file.what.contains(NO_YAML) {
        return as_file;
    }
    let as_directory = not_entered(place, not_a_directory);
    format!("accumulation err='{as_file}': {as_directory}")
}

/// A directory whose build fails.
pub(super) fn directory(path: &str, place: &RepoPath, inner: &str) -> String {
    format!(
        "accumulation err='accumulating resources from '{path}': read …/{place}: is a directory': {inner}"
    )
}

/// A component that fails.
pub(super) fn component(inner: &str) -> String {
    format!("accumulateDirectory: {inner:?}")
}

/// A component that is no directory.
pub(super) fn no_component(place: &RepoPath, error: &Error) -> String {
    format!("loader.New {:?}", not_entered(place, error))
}

fn not_entered(place: &RepoPath, error: &Error) -> String {
    if error.what.starts_with("no such file") {
        format!(
            "must build at directory: not a valid directory: evalsymlink failure on '…/{place}' : lstat …/{place}: no such file or directory"
        )
    } else if error.what.starts_with("must build at directory") {
        format!("must build at directory: '…/{place}': file is not directory")
    } else {
        error.upstream_text().to_owned()
    }
}

fn file(path: &str, place: &RepoPath, error: &Error) -> String {
    if error.what.starts_with("may not add resource") {
        return format!("merging resources from '{path}': {}", error.upstream_text());
    }
    let why = if error.what.starts_with("no such file") {
        format!("open …/{place}: no such file or directory")
    } else if let Some((_, message)) = error.what.split_once(NO_YAML) {
        format!("MalformedYAMLError: yaml: {message} in File: {path}")
    } else {
        error.upstream_text().to_owned()
    };
    format!("accumulating resources from '{path}': {why}")
}
