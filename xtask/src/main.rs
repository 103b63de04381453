//! Repository chores in Rust.
//!
//! `cargo xtask ci` runs everything that CI runs, in the same order, and stops at the first step that fails.
//! `cargo xtask ci STEP…` runs only the steps named; `cargo xtask help` lists them.

mod ci;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((verb, steps)) if verb == "ci" => ci::run(steps),
        _ => {
            println!("cargo xtask ci [STEP…]   run what CI runs; steps in order:");
            for step in ci::STEPS {
                println!("  {:10} {}", step.name, step.what);
            }
            if arguments.first().is_none_or(|verb| verb == "help") {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(2)
            }
        }
    }
}
