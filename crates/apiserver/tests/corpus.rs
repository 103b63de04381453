//! Nothing in public repositories makes validation panic, whatever it is.

use std::path::{Path, PathBuf};

use firstpass_apiserver::validate;
use firstpass_object::ObjectExt;
use serde_json::Value;

#[expect(clippy::disallowed_methods, reason = "tests read the shared inputs from disk")]
fn yaml_files(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            yaml_files(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml")
        {
            files.push(path);
        }
    }
}

/// The variables in a text, as they stand there.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = text
        .match_indices("${")
        .filter_map(|(start, _)| Some(text[start..=start + text[start..].find('}')?].to_owned()))
        .collect();
    tokens.sort();
    tokens.dedup();
    tokens
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests read the shared inputs from disk")]
fn public_repositories() {
    let Some(corpus) = firstpass_testing::shared("corpus") else {
        return;
    };
    let mut files = Vec::new();
    yaml_files(&corpus, &mut files);
    let (mut objects, mut with_errors) = (0, 0);
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        let Ok(documents) = firstpass_yaml::parse_all(&text) else {
            continue;
        };
        let unknown = tokens(&text);
        for document in documents {
            let Ok(object): Result<Value, _> = document.root.to_json() else {
                continue;
            };
            if object.api_version().is_empty() || object.kind().is_empty() {
                continue;
            }
            objects += 1;
            let errors = validate(&object, 36, &unknown);
            if !errors.is_empty() {
                with_errors += 1;
                let shown = file.strip_prefix(&corpus).unwrap_or(&file).display();
                for error in errors {
                    println!("{shown}: {}: {error}", object.id());
                }
            }
        }
    }
    println!("{objects} objects, {with_errors} with errors");
    assert!(objects > 1000, "the corpus holds more than {objects} objects");
}
