//! Recordings by hand; `cargo xtask oracle` calls this.
//!
//! ```text
//! firstpass-oracle narrate CHANGES.jsonl     what the real world did, as a recording
//! firstpass-oracle play SCENARIO.txt         what the simulator does, as a recording
//! firstpass-oracle compare SCENARIO.txt RECORDING.txt
//! firstpass-oracle stable RECORDING.txt RECORDING.txt
//! ```

#![expect(
    clippy::disallowed_methods,
    reason = "scenarios and recordings are files of the workspace"
)]

use std::process::ExitCode;

use firstpass_oracle::{Recording, Scenario, compare, narrate, play, read_changes};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<ExitCode, String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["narrate", changes] => {
            let items = read_changes(&read(changes)?).map_err(|line| format!("{changes}:{line}: no change"))?;
            print!("{}", narrate(&items).to_text());
            Ok(ExitCode::SUCCESS)
        }
        ["play", scenario] => {
            print!("{}", simulate(scenario)?.to_text());
            Ok(ExitCode::SUCCESS)
        }
        ["compare", scenario, recording] => Ok(report(&recorded(recording)?, &simulate(scenario)?)),
        ["stable", one, other] => Ok(report(&recorded(one)?, &recorded(other)?)),
        _ => Err("usage: narrate CHANGES | play SCENARIO | compare SCENARIO RECORDING | stable RECORDING RECORDING".to_owned()),
    }
}

fn report(one: &Recording, other: &Recording) -> ExitCode {
    let differences = compare(one, other);
    for difference in &differences {
        println!("{difference}");
    }
    if differences.is_empty() {
        println!("equal");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn simulate(path: &str) -> Result<Recording, String> {
    let scenario = Scenario::parse(&read(path)?).map_err(|error| format!("{path}: {error}"))?;
    Ok(narrate(&play(&scenario)?))
}

fn recorded(path: &str) -> Result<Recording, String> {
    Recording::parse(&read(path)?).map_err(|line| format!("{path}:{line}: no line of a recording"))
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}
