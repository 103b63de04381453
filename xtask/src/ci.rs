//! What CI runs.

use std::process::{Command, ExitCode};

/// One step of CI: a command and why it is there.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    command: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

const fn step(name: &'static str, what: &'static str, command: &'static [&'static str]) -> Step {
    Step {
        name,
        what,
        command,
        environment: &[],
    }
}

/// The steps in order: the quick ones that fail most often come first. The tests run the examples' rehearsals and the
/// shared cases as well (crate `cli`, `tests/`).
pub(crate) const STEPS: &[Step] = &[
    step("format", "every file is formatted", &["fmt", "--all", "--check"]),
    step(
        "clippy",
        "no warning",
        &[
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
    ),
    step(
        "test",
        "unit, snapshot and property tests, the examples, the shared cases",
        &["test", "--workspace", "--locked"],
    ),
    Step {
        // Module docs tell their story with private names as well.
        environment: &[("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links")],
        ..step(
            "doc",
            "the documentation builds without a warning",
            &["doc", "--quiet", "--workspace", "--no-deps", "--locked"],
        )
    },
    step(
        "fuzz",
        "the laws of parser, emitter, kustomization reader and rehearsal, over mutated seeds",
        &[
            "test",
            "--quiet",
            "--manifest-path",
            "fuzz/Cargo.toml",
            "--release",
            "--locked",
        ],
    ),
];

/// Runs the named steps, or all of them.
pub(crate) fn run(names: &[String]) -> ExitCode {
    if let Some(unknown) = names
        .iter()
        .find(|name| STEPS.iter().all(|step| step.name != *name))
    {
        eprintln!("xtask: there is no step `{unknown}`; `cargo xtask help` lists them");
        return ExitCode::from(2);
    }
    for step in STEPS
        .iter()
        .filter(|step| names.is_empty() || names.iter().any(|name| name == step.name))
    {
        eprintln!("\n== {}: {}", step.name, step.what);
        let mut command = Command::new("cargo");
        command.args(step.command).envs(step.environment.iter().copied());
        match command.status() {
            Ok(status) if status.success() => {}
            Ok(_) => {
                eprintln!(
                    "\nxtask: step `{0}` failed; run it alone with `cargo xtask ci {0}`",
                    step.name
                );
                return ExitCode::FAILURE;
            }
            Err(error) => {
                eprintln!("\nxtask: cannot start cargo for step `{}`: {error}", step.name);
                return ExitCode::FAILURE;
            }
        }
    }
    eprintln!("\nxtask: all steps passed");
    ExitCode::SUCCESS
}
