//! Repositories for tests: in a string, on disk, of any size; and where the shared test inputs are. For tests only.

mod fixture;
mod scratch;
pub mod synthetic;

use std::path::PathBuf;

pub use fixture::{BOOTSTRAP, files, tree};
pub use scratch::Scratch;

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
