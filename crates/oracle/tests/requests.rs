//! The embedded API server answers as the real one did.

#![expect(
    clippy::disallowed_methods,
    reason = "requests and answers are files of the workspace"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use firstpass_oracle::requests::{Requests, agree, answers, from_text, transcript};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../oracle")
}

fn names(directory: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(root().join(directory)).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".txt").map(str::to_owned))
        .collect()
}

fn read(directory: &str, name: &str) -> String {
    std::fs::read_to_string(root().join(format!("{directory}/{name}.txt"))).unwrap()
}

fn requests(name: &str) -> Requests {
    Requests::parse(&read("requests", name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What differs in a file, and what is marked as a gap and does not.
fn differences(name: &str) -> Vec<String> {
    let requests = requests(name);
    let real = from_text(&read("answers", name));
    let ours = transcript(&requests, &answers(&requests));
    let mut wrong = Vec::new();
    if real.len() != ours.len() {
        wrong.push(format!("{name}: {} steps, {} recorded", ours.len(), real.len()));
    }
    for ((step, real), ours) in requests.steps.iter().zip(&real).zip(&ours) {
        let text = &step.text;
        if real.0 != ours.0 {
            wrong.push(format!("{name}: {text}\n  recorded was {}", real.0));
            break;
        }
        match (agree(&real.1, &ours.1), &step.gap) {
            (true, None) | (false, Some(_)) => {}
            (false, None) => wrong.push(format!("{name}: {text}\n  real: {}\n  ours: {}", real.1, ours.1)),
            (true, Some(gap)) => wrong.push(format!(
                "{name}: {text}\n  is reproduced, and still marked: {gap}"
            )),
        }
    }
    wrong
}

#[test]
fn the_embedded_server_answers_as_the_real_one_did() {
    let wrong: Vec<String> = names("answers")
        .iter()
        .flat_map(|name| differences(name))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_file_of_requests_was_asked_and_says_what_it_shows() {
    assert_eq!(names("requests"), names("answers"), "requests and answers");
    for name in names("requests") {
        let requests = requests(&name);
        assert!(!requests.shows.is_empty(), "{name} does not say what it shows");
        assert!(!requests.steps.is_empty(), "{name} has no steps");
    }
}
