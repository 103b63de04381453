//! Repository chores in Rust.
//!
//! `cargo xtask ci` runs everything that CI runs, in the same order, and stops at the first step that fails.
//! `cargo xtask ci STEP…` runs only the steps named; `cargo xtask help` lists them. `cargo xtask oracle` builds the real
//! controllers and records what they do.

mod ci;
mod oracle;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((verb, steps)) if verb == "ci" => ci::run(steps),
        Some((verb, arguments)) if verb == "oracle" => oracle::run(arguments),
        _ => {
            println!("cargo xtask ci [STEP…]   run what CI runs; steps in order:");
            for step in ci::STEPS {
                println!("  {:10} {}", step.name, step.what);
            }
            println!("cargo xtask oracle build | record [SCENARIO…] | diff SCENARIO   see oracle/README.md");
            if arguments.first().is_none_or(|verb| verb == "help") {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(2)
            }
        }
    }
}
