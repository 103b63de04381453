//! Recordings by hand; `cargo xtask oracle` calls this.
//!
//! ```text
//! firstpass-oracle narrate CHANGES.jsonl     what the real world did, as a recording
//! firstpass-oracle play SCENARIO.txt         what the simulator does, as a recording
//! firstpass-oracle compare SCENARIO.txt RECORDING.txt
//! firstpass-oracle stable SCENARIO.txt RECORDING.txt RECORDING.txt
//! ```

#![expect(
    clippy::disallowed_methods,
    reason = "scenarios and recordings are files of the workspace"
)]

use std::process::ExitCode;

use firstpass_oracle::{Recording, Scenario, Waits, compare, narrate, play, read_changes};

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
            print!("{}", simulate(&read_scenario(scenario)?)?.to_text());
            Ok(ExitCode::SUCCESS)
        }
        ["compare", scenario, recording] => {
            let scenario = read_scenario(scenario)?;
            Ok(report(&recorded(recording)?, &simulate(&scenario)?, scenario.waits))
        }
        ["stable", scenario, one, other] => {
            let waits = read_scenario(scenario)?.waits;
            Ok(report(&recorded(one)?, &recorded(other)?, waits))
        }
        _ => Err("usage: narrate CHANGES | play SCENARIO | compare SCENARIO RECORDING | stable SCENARIO RECORDING RECORDING".to_owned()),
    }
}

fn report(one: &Recording, other: &Recording, waits: Waits) -> ExitCode {
    let differences = compare(one, other, waits);
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

fn read_scenario(path: &str) -> Result<Scenario, String> {
    Scenario::parse(&read(path)?).map_err(|error| format!("{path}: {error}"))
}

fn simulate(scenario: &Scenario) -> Result<Recording, String> {
    Ok(narrate(&play(scenario)?))
}

fn recorded(path: &str) -> Result<Recording, String> {
    Recording::parse(&read(path)?).map_err(|line| format!("{path}:{line}: no line of a recording"))
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}
