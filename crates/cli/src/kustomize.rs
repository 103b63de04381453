//! `firstpass kustomize`: one directory, as kustomize itself builds it.

use std::path::{Path, PathBuf};

use firstpass_kustomize::{Error, Options, build};
use firstpass_source::{RepoPath, WorkTree};

use crate::args::KustomizeArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Builds and prints.
///
/// # Errors
/// If the directory cannot be read or built.
pub(crate) fn run(arguments: &KustomizeArgs) -> Result<Exit, Failure> {
    let directory = arguments.directory.canonicalize().map_err(|error| {
        Failure::input(format!(
            "cannot open `{}`: {error}",
            arguments.directory.display()
        ))
    })?;
    let root = root_of(&directory, arguments)?;
    let below = directory
        .strip_prefix(&root)
        .ok()
        .and_then(Path::to_str)
        .ok_or_else(|| {
            Failure::input(format!(
                "`{}` is not below the root `{}`",
                directory.display(),
                root.display()
            ))
        })?;
    let tree = WorkTree::open(&root)
        .map_err(|error| Failure::input(format!("cannot open `{}`: {error}", root.display())))?
        .following_links();
    let options = if arguments.flux {
        Options::flux()
    } else {
        Options::command_line()
    };
    let built = build(&tree, &RepoPath::clamped(below), &options).map_err(failure)?;
    for warning in &built.warnings {
        anstream::eprintln!("warning: {}:{}: {}", warning.file, warning.line, warning.message);
    }
    for remote in &built.remote {
        anstream::eprintln!(
            "warning: {}:{}: `{}` is not fetched; what it holds is missing below",
            remote.file,
            remote.line,
            remote.text
        );
    }
    output::write(&built.to_yaml(), arguments.output.as_deref())?;
    // The process is about to end; taking large trees apart first would only cost time.
    std::mem::forget(built);
    Ok(Exit::Clean)
}

fn root_of(directory: &Path, arguments: &KustomizeArgs) -> Result<PathBuf, Failure> {
    if let Some(root) = &arguments.root {
        return root
            .canonicalize()
            .map_err(|error| Failure::input(format!("cannot open `--root {}`: {error}", root.display())));
    }
    let top = || directory.ancestors().last().unwrap_or(directory);
    Ok(crate::repository::root_above(directory)
        .unwrap_or_else(top)
        .to_path_buf())
}

fn failure(error: Error) -> Failure {
    let place = match (&error.file, error.line) {
        (Some(file), 0) => format!("{file}: "),
        (Some(file), line) => format!("{file}:{line}:{}: ", error.column),
        (None, _) => String::new(),
    };
    let why = error.why.map(|why| format!("\n  why: {why}")).unwrap_or_default();
    Failure::Input {
        message: format!("{place}{}{why}", error.what),
        help: error.help,
    }
}
