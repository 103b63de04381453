//! Results go to standard output or to a file; a closed pipe is a quiet end.

use std::io::{self, Write};
use std::path::Path;

use crate::exit::Failure;

/// Writes a result.
///
/// # Errors
/// If the file or the terminal does not take it; a reader that went away is no error.
pub(crate) fn write(text: &str, file: Option<&Path>) -> Result<(), Failure> {
    match file {
        Some(path) => std::fs::write(path, text)
            .map_err(|error| Failure::input(format!("cannot write `{}`: {error}", path.display()))),
        None => match io::stdout().lock().write_all(text.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::input(format!(
                "cannot write to standard output: {error}"
            ))),
            _ => Ok(()),
        },
    }
}
