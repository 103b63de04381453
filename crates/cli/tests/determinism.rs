//! Same input, same seed: the same trace and the same report, byte for byte, whatever surrounds the call.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::workspace;

/// What one call wrote: the report and the trace.
type Written = (Vec<u8>, Vec<u8>);

#[test]
fn surroundings_leave_no_mark() {
    let home = workspace().join("examples/home-network");
    let elsewhere = scratch("elsewhere").join("a path with spaces");
    copy(&home, &elsewhere);
    let story = [
        "--overlay",
        "stories/before-cdi-split",
        "--seed",
        "7",
        "--schedules",
        "3",
    ];
    for arguments in [&[][..], &story] {
        let plain = rehearse(&home, arguments, &[]);
        assert!(!plain.1.is_empty());
        for environment in [
            &[("RAYON_NUM_THREADS", "1")][..],
            &[("RAYON_NUM_THREADS", "8")],
            &[
                ("TZ", "Pacific/Kiritimati"),
                ("LANG", "tr_TR.UTF-8"),
                ("LC_ALL", "tr_TR.UTF-8"),
            ],
            &[("COLUMNS", "20"), ("NO_COLOR", "1")],
        ] {
            assert_eq!(rehearse(&home, arguments, environment), plain, "{environment:?}");
        }
        assert_eq!(rehearse(&elsewhere, arguments, &[]), plain, "another root");
    }
    std::fs::remove_dir_all(elsewhere.parent().unwrap()).unwrap();
}

#[test]
fn another_seed_is_another_schedule() {
    let home = workspace().join("examples/home-network");
    let of = |seed: &str| rehearse(&home, &["--seed", seed], &[]).1;
    assert_ne!(of("1"), of("2"));
}

fn rehearse(root: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Written {
    let trace = scratch("trace").join("trace.txt");
    let output = Command::new(env!("CARGO_BIN_EXE_firstpass"))
        .args(["rehearse", "clusters/prod", "--format", "json", "--trace"])
        .arg(&trace)
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root)
        .output()
        .unwrap();
    #[expect(clippy::disallowed_methods, reason = "the trace is what this test is about")]
    let written = std::fs::read(&trace).unwrap();
    std::fs::remove_dir_all(trace.parent().unwrap()).unwrap();
    (output.stdout, written)
}

fn scratch(name: &str) -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let directory = std::env::temp_dir().join(format!("firstpass-{name}-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    #[expect(clippy::disallowed_methods, reason = "the test copies its input")]
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
}
