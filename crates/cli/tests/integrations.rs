//! The action, the hooks and the workflow, as far as they run without their hosts.

#![cfg(unix)]
#![allow(
    clippy::disallowed_methods,
    reason = "the test reads the files that it is about"
)]

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::workspace;
use serde_json::Value;

fn yaml(path: &str) -> Value {
    let text = std::fs::read_to_string(workspace().join(path)).unwrap();
    firstpass_yaml::parse_one(&text).unwrap().to_config().unwrap()
}

/// A directory for what a runner gives its steps.
struct Runner {
    directory: PathBuf,
}

impl Runner {
    fn new(name: &str) -> Runner {
        let directory = std::env::temp_dir().join(format!("firstpass-runner-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        Runner { directory }
    }

    fn bash(&self, arguments: &[&str], directory: &Path) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_firstpass")).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("bash");
        command
            .args(arguments)
            .current_dir(directory)
            .env("PATH", format!("{}:{path}", program.display()))
            .env("RUNNER_TEMP", &self.directory)
            .env("GITHUB_OUTPUT", self.directory.join("output"))
            .env("GITHUB_STEP_SUMMARY", self.directory.join("summary"));
        command
    }

    /// Runs the action with these inputs, the others at their defaults.
    fn action(&self, inputs: &[(&str, &str)]) -> Output {
        let action = yaml("action.yml");
        let step = &action["runs"]["steps"][0];
        let mut command = self.bash(&["-c", step["run"].as_str().unwrap()], &workspace());
        command.env("ACTION_PATH", workspace());
        for (name, input) in action["inputs"].as_object().unwrap() {
            let given = inputs
                .iter()
                .find(|(given, _)| given == name)
                .map(|(_, value)| *value);
            let value = given.or_else(|| input["default"].as_str()).unwrap();
            command.env(variable(name), value);
        }
        command.output().unwrap()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.directory.join(name)).unwrap_or_default()
    }

    fn outputs(&self) -> Vec<(String, String)> {
        let output = self.file("output");
        let pairs = output.lines().filter_map(|line| line.split_once('='));
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn variable(input: &str) -> String {
    format!("INPUT_{}", input.to_uppercase().replace('-', "_"))
}

#[test]
fn every_input_reaches_the_script_and_every_output_comes_from_it() {
    let action = yaml("action.yml");
    let script = std::fs::read_to_string(workspace().join("integrations/action/run.sh")).unwrap();
    let step = &action["runs"]["steps"][0];
    for (name, input) in action["inputs"].as_object().unwrap() {
        assert_eq!(
            step["env"][variable(name)],
            format!("${{{{ inputs.{name} }}}}"),
            "{name}"
        );
        assert!(
            script.contains(&format!("${}", variable(name))),
            "{name} is not used"
        );
        assert!(
            input["description"].is_string() && input["default"].is_string(),
            "{name}"
        );
    }
    // An expression inside a script would be read as shell.
    assert!(!step["run"].as_str().unwrap().contains("${{") && !script.contains("${{"));
    for (name, output) in action["outputs"].as_object().unwrap() {
        assert_eq!(output["value"], format!("${{{{ steps.run.outputs.{name} }}}}"));
        assert!(
            script.contains(&format!("echo \"{name}=")),
            "{name} is never written"
        );
    }
}

#[test]
fn the_action_passes_and_leaves_its_files() {
    let runner = Runner::new("passes");
    let output = runner.action(&[("root", "examples/home-network"), ("verb", "rehearse")]);
    let log = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{log}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        log.contains("firstpass rehearse: clusters/prod: converges"),
        "{log}"
    );
    let outputs = runner.outputs();
    let names: BTreeSet<&str> = outputs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["status", "sarif", "junit", "markdown"]));
    for (name, value) in &outputs {
        match name.as_str() {
            "status" => assert_eq!(value, "0"),
            _ => assert!(std::fs::metadata(value).unwrap().len() > 100, "{name}"),
        }
    }
    assert!(runner.file("summary").starts_with("## firstpass rehearse\n"));
}

#[test]
fn the_action_fails_with_annotations_at_the_files_of_the_checkout() {
    let runner = Runner::new("fails");
    let output = runner.action(&[
        ("root", "examples/home-network"),
        ("verb", "check"),
        ("clusters", "clusters/prod\n  clusters/dev"),
        (
            "arguments",
            "--overlay examples/home-network/stories/before-cdi-split",
        ),
    ]);
    let log = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{log}");
    assert!(
        log.contains("::error file=examples/home-network/platform/kubevirt/cdi-storageprofiles.yaml,line=5,"),
        "{log}"
    );
    assert!(runner.outputs().contains(&("status".to_owned(), "1".to_owned())));
    assert!(runner.file("summary").contains("**deadlock**"));
}

#[test]
fn inputs_are_words_and_never_shell() {
    let runner = Runner::new("words");
    let mark = runner.directory.join("mark");
    let evil = format!("$(touch {0}) `touch {0}` ; touch {0}", mark.display());
    for (input, status) in [("clusters", 2), ("root", 2), ("verb", 2)] {
        let output = runner.action(&[(input, &evil)]);
        assert_eq!(output.status.code(), Some(status), "{input}");
        assert!(!mark.exists(), "{input} was run");
    }
    assert!(runner.outputs().iter().all(|(name, _)| name == "status"));
}

#[test]
fn the_hooks_run_on_the_example() {
    let runner = Runner::new("hooks");
    let hooks = yaml(".pre-commit-hooks.yaml");
    let hooks = hooks.as_array().unwrap();
    assert_eq!(hooks.len(), 2);
    for hook in hooks {
        for field in ["id", "name", "description", "entry", "language"] {
            assert!(hook[field].is_string(), "{field}");
        }
        assert_eq!(
            (hook["language"].as_str(), &hook["pass_filenames"]),
            (Some("system"), &Value::Bool(false))
        );
        let home = workspace().join("examples/home-network");
        let output = runner
            .bash(&["-c", hook["entry"].as_str().unwrap()], &home)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", hook["id"]);
    }
}

#[test]
fn the_workflow_runs_its_two_jobs() {
    let runner = Runner::new("workflow");
    let home = workspace().join("examples/home-network");
    let workflow = yaml("examples/home-network/.forgejo/workflows/firstpass.yaml");
    let jobs = workflow["jobs"].as_object().unwrap();
    assert_eq!(jobs.keys().collect::<Vec<_>>(), ["conformance", "gate"]);
    for name in ["gate", "conformance"] {
        let job = &jobs[name];
        assert!(job["runs-on"].is_string());
        let steps = job["steps"].as_array().unwrap();
        let runs: Vec<&str> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
        assert_eq!(runs.len(), 2, "{name}");
        for run in runs {
            // Fifty schedules take a while without optimization; two show the same.
            let run = run.replace("--schedules 50", "--schedules 2");
            let output = runner.bash(&["-e", "-c", &run], &home).output().unwrap();
            assert_eq!(
                output.status.code(),
                Some(0),
                "{run}\n{}",
                String::from_utf8_lossy(&output.stdout)
            );
        }
    }
    assert!(
        runner
            .file("firstpass-gate.xml")
            .contains("<testsuite name=\"requirements\"")
    );
    assert!(
        runner
            .file("firstpass-conformance.md")
            .starts_with("## firstpass gate\n")
    );
}
