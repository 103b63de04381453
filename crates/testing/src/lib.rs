//! Repositories for tests: in a string, on disk, of any size; and where the shared test inputs are. For tests only.

pub mod cases;
mod fixture;
mod scratch;
pub mod synthetic;

use std::path::PathBuf;

pub use fixture::{BOOTSTRAP, files, tree};
pub use scratch::Scratch;

/// The public repositories of the shared corpus, and the cluster entries of each that its notes list.
pub const CORPUS: [(&str, &[&str]); 8] = [
    ("billimek__k8s-gitops", &["setup/flux/cluster"]),
    (
        "equinor__radix-flux",
        &[
            "clusters/c2-production",
            "clusters/c3",
            "clusters/development",
            "clusters/monitoring",
            "clusters/playground",
            "clusters/production",
        ],
    ),
    (
        "fluxcd__flux2-kustomize-helm-example",
        &["clusters/production", "clusters/staging"],
    ),
    (
        "fluxcd__flux2-multi-tenancy",
        &["clusters/production", "clusters/staging"],
    ),
    (
        "joryirving__home-ops",
        &[
            "kubernetes/clusters/main",
            "kubernetes/clusters/test",
            "kubernetes/clusters/utility",
        ],
    ),
    (
        "martinohmann__home-ops",
        &["kubernetes/main/flux", "kubernetes/storage/flux"],
    ),
    ("onedr0p__home-ops", &["kubernetes/flux/cluster"]),
    (
        "tyriis__home-ops",
        &["kubernetes/main/flux", "kubernetes/utility/flux"],
    ),
];

/// A directory of the shared test inputs, such as `cases` or `corpus`; `None` where they are not at hand.
///
/// They are looked for at `FIRSTPASS_SHARED`, else at `../shared` beside the workspace. A test that gets `None` says so
/// and returns.
///
/// # Panics
/// Under `CI=true` if they are missing: there a skipped test would be a false green.
#[expect(
    clippy::disallowed_methods,
    reason = "tests find their inputs through the environment"
)]
pub fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var("FIRSTPASS_SHARED").map_or_else(
        |_| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let directory = root.join(name);
    if directory.is_dir() {
        return directory.canonicalize().ok();
    }
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "the shared inputs are missing at {}: set FIRSTPASS_SHARED",
        directory.display()
    );
    eprintln!(
        "SKIPPED: the shared inputs are missing at {}",
        directory.display()
    );
    None
}
