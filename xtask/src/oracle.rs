//! Building the real controllers, and recording what they do. `oracle/README.md` says what runs.

#![expect(
    clippy::disallowed_methods,
    reason = "a chore of the workspace: it reads its files and its environment"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Programs by directory below `oracle/programs`, with the package that is built there and where its CRDs are.
const PROGRAMS: [(&str, &str, Option<&str>); 5] = [
    ("cluster", ".", None),
    (
        "kustomize-controller",
        "github.com/fluxcd/kustomize-controller",
        Some("github.com/fluxcd/kustomize-controller"),
    ),
    (
        "kustomize-controller-old",
        "github.com/fluxcd/kustomize-controller",
        Some("github.com/fluxcd/kustomize-controller"),
    ),
    (
        "source-controller",
        "github.com/fluxcd/source-controller",
        Some("github.com/fluxcd/source-controller"),
    ),
    (
        "helm-controller",
        "github.com/fluxcd/helm-controller",
        Some("github.com/fluxcd/helm-controller"),
    ),
];

/// Control planes side by side, where `ORACLE_SIDE_BY_SIDE` says nothing else: scenarios mostly wait.
const SIDE_BY_SIDE: &str = "6";

struct Places {
    root: PathBuf,
    programs: PathBuf,
    changes: PathBuf,
}

/// `build`, `record [SCENARIO…]`, `diff SCENARIO`, `ask [REQUESTS…]`.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let places = Places {
        programs: root.join("target/oracle/bin"),
        changes: root.join("target/oracle/changes"),
        root,
    };
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["build"] => build(&places),
        ["record", names @ ..] => record(&places, names),
        ["diff", name] => diff(&places, name),
        ["ask", names @ ..] => ask(&places, names),
        _ => Err(
            "usage: cargo xtask oracle build | record [SCENARIO…] | diff SCENARIO | ask [REQUESTS…]"
                .to_owned(),
        ),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn build(places: &Places) -> Result<(), String> {
    fs::create_dir_all(&places.programs).map_err(|error| error.to_string())?;
    for (name, package, crds) in PROGRAMS {
        let directory = places.root.join("oracle/programs").join(name);
        println!("building {name}");
        go_build(&directory, &places.programs.join(name), package)?;
        if let Some(module) = crds {
            copy_crds(&directory, module, &places.programs.join("crds").join(name))?;
        }
    }
    println!("building the harness");
    go_build(&places.root.join("oracle"), &places.programs.join("oracle"), ".")
}

fn go(directory: &Path) -> Command {
    let mut command = Command::new("go");
    command.current_dir(directory).env("CGO_ENABLED", "0");
    command
}

fn go_build(directory: &Path, to: &Path, package: &str) -> Result<(), String> {
    let mut command = go(directory);
    command.args(["build", "-p", "2", "-trimpath", "-ldflags", "-s -w", "-o"]);
    succeed(command.arg(to).arg(package))
}

/// The CRDs of a controller lie in its module.
fn copy_crds(directory: &Path, module: &str, to: &Path) -> Result<(), String> {
    let output = go(directory)
        .args(["list", "-m", "-f", "{{.Dir}}", module])
        .output()
        .map_err(|error| format!("go: {error}"))?;
    let source = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let copy = || -> std::io::Result<()> {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(Path::new(&source).join("config/crd/bases"))? {
            let entry = entry?;
            // Files of the module cache are read-only; copies of their text are not.
            fs::write(to.join(entry.file_name()), fs::read(entry.path())?)?;
        }
        Ok(())
    };
    copy().map_err(|error| format!("the CRDs of {module}: {error}"))
}

/// Plays scenarios on the real controllers; the changes are left in `target/oracle/changes`.
fn play(places: &Places, names: &[&str]) -> Result<(), String> {
    fs::create_dir_all(&places.changes).map_err(|error| error.to_string())?;
    let side_by_side = std::env::var("ORACLE_SIDE_BY_SIDE").unwrap_or_else(|_| SIDE_BY_SIDE.to_owned());
    let mut command = Command::new(places.programs.join("oracle"));
    command.arg("-programs").arg(&places.programs);
    command.arg("-knowledge").arg(places.root.join("knowledge"));
    command.arg("-out").arg(&places.changes);
    command.args(["-side-by-side", &side_by_side]);
    command.args(names.iter().map(|name| scenario(places, name)));
    succeed(&mut command)
}

fn record(places: &Places, names: &[&str]) -> Result<(), String> {
    let all = all_in(places, "scenarios")?;
    let names: Vec<&str> = if names.is_empty() {
        all.iter().map(String::as_str).collect()
    } else {
        names.to_vec()
    };
    play(places, &names)?;
    for name in names {
        let text = narrated(places, name)?;
        let to = places.root.join("oracle/recordings").join(format!("{name}.txt"));
        fs::write(&to, text).map_err(|error| format!("{}: {error}", to.display()))?;
    }
    Ok(())
}

/// Puts files of requests to a real API server, and writes what it answers.
fn ask(places: &Places, names: &[&str]) -> Result<(), String> {
    fs::create_dir_all(&places.changes).map_err(|error| error.to_string())?;
    let all = all_in(places, "requests")?;
    let names: Vec<&str> = if names.is_empty() {
        all.iter().map(String::as_str).collect()
    } else {
        names.to_vec()
    };
    let requests = |name: &str| places.root.join("oracle/requests").join(format!("{name}.txt"));
    let mut command = Command::new(places.programs.join("oracle"));
    command.arg("-programs").arg(&places.programs);
    command.arg("-knowledge").arg(places.root.join("knowledge"));
    command.arg("-out").arg(&places.changes);
    for name in &names {
        let plan = places.changes.join(format!("{name}.plan.jsonl"));
        let text = printed(tool(places).arg("plan").arg(requests(name)))?;
        fs::write(&plan, text).map_err(|error| format!("{}: {error}", plan.display()))?;
        command.arg(plan);
    }
    succeed(&mut command)?;
    for name in names {
        let answers = places.changes.join(format!("{name}.answers.jsonl"));
        let text = printed(tool(places).arg("answers").arg(requests(name)).arg(answers))?;
        let to = places.root.join("oracle/answers").join(format!("{name}.txt"));
        fs::write(&to, text).map_err(|error| format!("{}: {error}", to.display()))?;
    }
    Ok(())
}

fn diff(places: &Places, name: &str) -> Result<(), String> {
    play(places, &[name])?;
    let recording = places.changes.join(format!("{name}.txt"));
    fs::write(&recording, narrated(places, name)?).map_err(|error| error.to_string())?;
    let mut command = tool(places);
    succeed(command.arg("compare").arg(scenario(places, name)).arg(recording))
}

fn narrated(places: &Places, name: &str) -> Result<String, String> {
    let changes = places.changes.join(format!("{name}.jsonl"));
    printed(tool(places).arg("narrate").arg(changes))
}

/// What a command prints.
fn printed(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

fn tool(places: &Places) -> Command {
    let mut command = Command::new("cargo");
    command
        .current_dir(&places.root)
        .args(["run", "--quiet", "--package", "firstpass-oracle", "--"]);
    command
}

fn scenario(places: &Places, name: &str) -> PathBuf {
    places.root.join("oracle/scenarios").join(format!("{name}.txt"))
}

/// The names of the files in a directory of the oracle.
fn all_in(places: &Places, directory: &str) -> Result<Vec<String>, String> {
    let directory = places.root.join("oracle").join(directory);
    let entries = fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".txt").map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let status = command
        .status()
        .map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{:?} failed: {status}", command.get_program()))
    }
}
