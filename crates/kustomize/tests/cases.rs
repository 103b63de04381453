//! Builds whose outcome the real kustomize has decided: the shared cases, in both ways to build.

use std::path::{Path, PathBuf};

use firstpass_kustomize::{Build, Options, build};
use firstpass_source::{RepoPath, WorkTree};
use serde_json::Value;

/// One way to build all cases, and how many of them must come out right.
struct Way {
    name: &'static str,
    options: fn() -> Options,
    /// The files that hold the outcome; the first that is there counts.
    outputs: &'static [&'static str],
    errors: &'static [&'static str],
    equal_min: usize,
    identical_min: usize,
}

const COMMAND_LINE: Way = Way {
    name: "command line",
    options: Options::command_line,
    outputs: &["expected.yaml"],
    errors: &["expected-error.txt"],
    equal_min: 473,
    identical_min: 473,
};

const FLUX: Way = Way {
    name: "flux",
    options: Options::flux,
    outputs: &["expected-flux.yaml", "expected.yaml"],
    errors: &["expected-flux-error.txt", "expected-error.txt"],
    equal_min: 473,
    identical_min: 473,
};

/// What became of a case.
#[derive(Debug)]
enum Verdict {
    /// The same bytes, or an error where one is expected.
    Identical,
    /// The same documents, written differently.
    Equal,
    Wrong(String),
}

#[derive(Default)]
struct Count {
    cases: usize,
    errors: usize,
    errors_met: usize,
    equal: usize,
    identical: usize,
    wrong: Vec<String>,
}

#[test]
fn command_line() {
    run(&COMMAND_LINE);
}

#[test]
fn flux() {
    run(&FLUX);
}

fn run(way: &Way) {
    let Some(directory) = firstpass_testing::shared("kustomize-cases") else {
        return;
    };
    let filter = option_env!("CASE").unwrap_or_default();
    let mut count = Count::default();
    for case in cases(&directory) {
        let name = case
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !name.contains(filter) {
            continue;
        }
        count.take(&name, &case, way);
    }
    println!(
        "{}: {} cases: {} equal after parsing, {} identical; of {} errors {} met",
        way.name, count.cases, count.equal, count.identical, count.errors, count.errors_met
    );
    for wrong in &count.wrong {
        println!("  {wrong}");
    }
    assert!(count.equal >= way.equal_min, "fewer cases are equal than before");
    assert!(
        count.identical >= way.identical_min,
        "fewer cases are identical than before"
    );
}

impl Count {
    fn take(&mut self, name: &str, case: &Path, way: &Way) {
        self.cases += 1;
        let expects_error = expectation(case, way).is_none();
        self.errors += usize::from(expects_error);
        match judge(case, way) {
            Verdict::Identical => {
                self.equal += 1;
                self.identical += 1;
                self.errors_met += usize::from(expects_error);
            }
            Verdict::Equal => {
                self.equal += 1;
                self.wrong.push(format!("{name}: equal, not identical"));
            }
            Verdict::Wrong(why) => self.wrong.push(format!("{name}: {why}")),
        }
    }
}

/// The expected output; none if an error is expected.
fn expectation(case: &Path, way: &Way) -> Option<String> {
    way.outputs
        .iter()
        .zip(way.errors)
        .find_map(|(output, error)| {
            if case.join(error).is_file() {
                return Some(None);
            }
            read(&case.join(output)).map(Some)
        })
        .unwrap_or_else(|| panic!("{}: no expectation", case.display()))
}

fn judge(case: &Path, way: &Way) -> Verdict {
    let tree = WorkTree::open(case)
        .expect("a case is a directory")
        .following_links();
    let description: Value =
        serde_json::from_str(&read(&case.join("case.json")).expect("a case has a description"))
            .expect("it is JSON");
    let directory = RepoPath::clamped(description["build_dir"].as_str().unwrap_or_default());
    match (build(&tree, &directory, &(way.options)()), expectation(case, way)) {
        (Err(_), None) => Verdict::Identical,
        (Ok(_), None) => Verdict::Wrong("an error is expected".to_owned()),
        (Err(error), Some(_)) => Verdict::Wrong(error.to_string()),
        (Ok(built), Some(expected)) => compare(&built, &expected),
    }
}

fn compare(built: &Build, expected: &str) -> Verdict {
    let text = built.to_yaml();
    if text == expected {
        return Verdict::Identical;
    }
    let wanted: Vec<Value> = firstpass_yaml::parse_all(expected)
        .expect("kustomize writes YAML")
        .iter()
        .map(|document| document.root.to_json().expect("kustomize writes JSON values"))
        .collect();
    let got: Vec<&Value> = built.resources.iter().map(|resource| &resource.value).collect();
    if got.len() == wanted.len() && got.iter().zip(&wanted).all(|(got, wanted)| *got == wanted) {
        return Verdict::Equal;
    }
    Verdict::Wrong(difference(&text, expected))
}

/// The first lines that differ.
fn difference(got: &str, wanted: &str) -> String {
    let lines = got.lines().zip(wanted.lines()).enumerate();
    match lines.into_iter().find(|(_, (got, wanted))| got != wanted) {
        Some((index, (got, wanted))) => format!("line {}: got `{got}`, expected `{wanted}`", index + 1),
        None => format!(
            "got {} lines, expected {}",
            got.lines().count(),
            wanted.lines().count()
        ),
    }
}

#[expect(clippy::disallowed_methods, reason = "the cases lie on disk")]
fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

#[expect(clippy::disallowed_methods, reason = "the cases lie on disk")]
fn cases(directory: &Path) -> Vec<PathBuf> {
    let mut cases: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("the cases are there")
        .map(|entry| entry.expect("the directory can be read").path())
        .filter(|path| path.is_dir())
        .collect();
    cases.sort();
    cases
}
