//! Embeds the data files below `knowledge/` at the repository's root, in the order of their paths.
#![allow(
    clippy::disallowed_methods,
    reason = "a build script reads the files that it embeds"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let crate_dir = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let root = crate_dir
        .join("../..")
        .canonicalize()
        .expect("the crate lies two folders below the root");
    let data_dir = root.join("knowledge");
    println!("cargo:rerun-if-changed={}", data_dir.display());

    let mut paths = Vec::new();
    collect(&data_dir, &mut paths);
    paths.sort();

    let mut list = String::from("&[\n");
    for path in paths {
        println!("cargo:rerun-if-changed={}", path.display());
        let name = path
            .strip_prefix(&root)
            .expect("found below the root")
            .to_string_lossy()
            .replace('\\', "/");
        writeln!(
            list,
            "    ({name:?}, include_str!({:?})),",
            path.display().to_string()
        )
        .expect("writing to a string");
    }
    list.push_str("]\n");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("embedded.rs"), list).expect("the output folder is writable");
}

fn collect(dir: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("the data folder is readable") {
        let path = entry.expect("the data folder is readable").path();
        if path.is_dir() {
            println!("cargo:rerun-if-changed={}", path.display());
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            paths.push(path);
        }
    }
}
