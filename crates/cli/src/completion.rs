//! `firstpass completion` and `firstpass man`: what a package or a shell profile wants of a program.

use std::path::Path;

use clap::{Command, CommandFactory};

use crate::args::{Cli, CompletionArgs, ManArgs};
use crate::exit::{Exit, Failure};
use crate::output;

/// Prints the completions of a shell.
///
/// # Errors
/// If they cannot be written.
pub(crate) fn completion(arguments: &CompletionArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "firstpass", &mut script);
    output::write(&String::from_utf8_lossy(&script), None)?;
    Ok(Exit::Clean)
}

/// Prints the manual page of the program, or writes it and those of the verbs into a directory.
///
/// # Errors
/// If something cannot be written.
pub(crate) fn man(arguments: &ManArgs) -> Result<Exit, Failure> {
    // Without this, verbs do not know the name of the program in front of theirs.
    let mut command = Cli::command();
    command.build();
    match &arguments.directory {
        None => output::write(&page(&command)?, None)?,
        Some(directory) => {
            write_page(directory, "firstpass", &command)?;
            for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
                let name = format!("firstpass-{}", verb.get_name());
                write_page(directory, &name, verb)?;
            }
        }
    }
    Ok(Exit::Clean)
}

fn write_page(directory: &Path, name: &str, command: &Command) -> Result<(), Failure> {
    output::write(&page(command)?, Some(&directory.join(format!("{name}.1"))))
}

fn page(command: &Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(|error| Failure::input(format!("cannot write the manual page: {error}")))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
