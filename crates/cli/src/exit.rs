//! Exit codes, and what is said when there is nothing to report on (DESIGN section 4).

use std::process::ExitCode;

/// How a call ended that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Nothing at or above `--fail-on`.
    Clean,
    /// Findings at or above `--fail-on`, or a verdict that means failure.
    Findings,
}

/// Why a call could not run to its end.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Wrong usage, or input that cannot be read at all.
    Input {
        /// What is wrong.
        message: String,
        /// What to do, if there is something.
        help: Option<String>,
    },
    /// The program itself failed.
    Internal,
}

impl Failure {
    /// Wrong usage or unreadable input.
    pub(crate) fn input(message: impl Into<String>) -> Failure {
        Failure::Input {
            message: message.into(),
            help: None,
        }
    }

    /// The same, with advice.
    pub(crate) fn input_with_help(message: impl Into<String>, help: impl Into<String>) -> Failure {
        Failure::Input {
            message: message.into(),
            help: Some(help.into()),
        }
    }

    /// Says it on standard error and gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Failure::Input { message, help } => {
                anstream::eprintln!("error: {message}");
                if let Some(help) = help {
                    anstream::eprintln!("  help: {help}");
                }
                ExitCode::from(2)
            }
            Failure::Internal => {
                anstream::eprintln!(
                    "error: firstpass itself failed; the repository may be fine\n  \
                     help: please report this, with the message above and, if you can, the files"
                );
                ExitCode::from(3)
            }
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        match exit {
            Exit::Clean => ExitCode::SUCCESS,
            Exit::Findings => ExitCode::from(1),
        }
    }
}
