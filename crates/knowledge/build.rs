//! Embeds the data files below `knowledge/` at the repository's root, in the order of their paths. All paths are written
//! relative to this crate, so that a build directory stays right wherever the checkout lies.
#![allow(
    clippy::disallowed_methods,
    reason = "a build script reads the files that it embeds"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The repository's root, seen from this crate, in which cargo runs this.
const ROOT: &str = "../..";

fn main() {
    let mut paths = Vec::new();
    collect(&Path::new(ROOT).join("knowledge"), &mut paths);
    paths.sort();

    let mut list = String::from("&[\n");
    for path in paths {
        let path = path.display().to_string().replace('\\', "/");
        println!("cargo:rerun-if-changed={path}");
        let name = &path[ROOT.len() + 1..];
        writeln!(
            list,
            "    ({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{path}\"))),"
        )
        .expect("writing to a string");
    }
    list.push_str("]\n");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("embedded.rs"), list).expect("the output folder is writable");
}

fn collect(dir: &Path, paths: &mut Vec<PathBuf>) {
    println!("cargo:rerun-if-changed={}", dir.display());
    for entry in fs::read_dir(dir).expect("the data folder is readable") {
        let path = entry.expect("the data folder is readable").path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            paths.push(path);
        }
    }
}
