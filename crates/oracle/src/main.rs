//! Recordings by hand; `cargo xtask oracle` calls this.
//!
//! ```text
//! firstpass-oracle narrate CHANGES.jsonl     what the real world did, as a recording
//! firstpass-oracle play SCENARIO.txt         what the simulator does, as a recording
//! firstpass-oracle compare SCENARIO.txt RECORDING.txt
//! firstpass-oracle stable SCENARIO.txt RECORDING.txt RECORDING.txt
//! firstpass-oracle plan REQUESTS.txt                       requests for the real API server
//! firstpass-oracle answers REQUESTS.txt ANSWERS.jsonl      what it answered, as lines
//! firstpass-oracle differ REQUESTS.txt ANSWERS.jsonl       where the embedded server answers something else
//! firstpass-oracle mutate REQUESTS.txt                     the file with a step for each change to each object
//! firstpass-oracle reduce REQUESTS.txt ANSWERS.jsonl       the file without steps that show nothing new
//! ```

#![expect(
    clippy::disallowed_methods,
    reason = "scenarios and recordings are files of the workspace"
)]

use std::process::ExitCode;

use firstpass_oracle::requests::{self, Answer, Requests};
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
        ["plan", file] => {
            print!("{}", requests::plan(&read_requests(file)?));
            Ok(ExitCode::SUCCESS)
        }
        ["answers", file, answers] => {
            let real = requests::transcript(&read_requests(file)?, &read_answers(answers)?);
            print!("{}", requests::to_text(&real));
            Ok(ExitCode::SUCCESS)
        }
        ["differ", file, answers] => {
            let (real, ours) = both(file, answers)?;
            for (index, (real, ours)) in real.iter().zip(&ours).enumerate() {
                if !requests::agree(&real.1, &ours.1) {
                    println!("{}: {}\n  real: {}\n  ours: {}", index + 1, real.0, real.1, ours.1);
                }
            }
            Ok(ExitCode::SUCCESS)
        }
        ["mutate", file] => {
            print!("{}", requests::with_mutations(&read(file)?).map_err(|error| format!("{file}: {error}"))?);
            Ok(ExitCode::SUCCESS)
        }
        ["reduce", file, answers] => {
            let (real, ours) = both(file, answers)?;
            let differ = (0..real.len())
                .filter(|index| !requests::agree(&real[*index].1, &ours[*index].1))
                .collect();
            let kept = requests::representatives(&real, &differ);
            let text = read(file)?;
            let (before, _) = text.split_once("=== steps\n").unwrap_or((&text, ""));
            let steps: Vec<&str> = kept.iter().map(|index| real[*index].0.as_str()).collect();
            println!("{before}=== steps\n{}", steps.join("\n"));
            Ok(ExitCode::SUCCESS)
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

type Transcript = Vec<(String, String)>;

/// What the real server and the embedded one answered.
fn both(file: &str, answers: &str) -> Result<(Transcript, Transcript), String> {
    let file = read_requests(file)?;
    let real = requests::transcript(&file, &read_answers(answers)?);
    Ok((real, requests::transcript(&file, &requests::answers(&file))))
}

fn read_requests(path: &str) -> Result<Requests, String> {
    Requests::parse(&read(path)?).map_err(|error| format!("{path}: {error}"))
}

fn read_answers(path: &str) -> Result<Vec<Answer>, String> {
    let text = read(path)?;
    let lines = text.lines().enumerate();
    lines
        .map(|(index, line)| Answer::read(line).ok_or_else(|| format!("{path}:{}: no answer", index + 1)))
        .collect()
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
