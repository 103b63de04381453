//! Writes a synthetic repository to disk, to measure the binary with.
//!
//! ```text
//! cargo run -p firstpass-testing --example synthetic -- DIR TIERS [OBJECTS_PER_TIER [RELEASES_PER_TIER [layers|chain|fan]]]
//! ```

use std::path::PathBuf;
use std::process::ExitCode;

use firstpass_source::Tree;
use firstpass_testing::synthetic::{self, Size};

const SEED: u64 = 1;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("name a directory to write to")?);
    let mut number = |what: &str, otherwise: Option<u64>| match (arguments.next(), otherwise) {
        (Some(text), _) => text
            .parse()
            .map_err(|_| format!("`{text}` is no number of {what}")),
        (None, otherwise) => otherwise.ok_or_else(|| format!("say how many {what}")),
    };
    let size = Size {
        tiers: number("tiers", None)?,
        objects_per_tier: number("objects per tier", Some(10))?,
        releases_per_tier: number("releases per tier", Some(0))?,
        shape: arguments
            .next()
            .map_or(Ok(synthetic::Shape::default()), |text| text.parse())?,
    };
    let tree = synthetic::repository(size, SEED);
    for path in tree.paths() {
        let target = directory.join(path.as_str());
        let parent = target.parent().unwrap_or(&directory);
        let content = tree.read(path).map_err(|error| error.to_string())?;
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&target, content))
            .map_err(|error| format!("cannot write `{}`: {error}", target.display()))?;
    }
    Ok(())
}
