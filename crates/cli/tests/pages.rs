//! Pages show real output: every console block that begins with `$ firstpass …` is run and compared.
//!
//! `FIRSTPASS_BLESS=1 cargo test -p firstpass-cli --test pages` writes what the program says now.

mod common;

use std::path::{Path, PathBuf};

use common::{firstpass, workspace};

/// Pages with output, and the directory that their commands are run in.
fn pages() -> Vec<(PathBuf, PathBuf)> {
    let root = workspace();
    let home = root.join("examples/home-network");
    let mut pages = vec![
        (root.join("README.md"), root.clone()),
        (root.join("docs/ci.md"), home.clone()),
    ];
    let verbs = ["rehearse", "graph", "audit", "order"].map(|verb| root.join(format!("docs/{verb}.md")));
    pages.extend(verbs.into_iter().map(|page| (page, home.clone())));
    #[expect(clippy::disallowed_methods, reason = "the test lists its pages")]
    let stories = std::fs::read_dir(home.join("stories")).unwrap();
    let stories = stories.map(|entry| entry.unwrap().path());
    let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let mut stories: Vec<PathBuf> = stories.filter(is_page).collect();
    stories.sort();
    pages.extend(stories.into_iter().map(|page| (page, home.clone())));
    pages
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test reads pages, and its own switch"
)]
fn pages_show_what_the_program_says() {
    let bless = std::env::var("FIRSTPASS_BLESS").is_ok();
    let (mut blocks, mut stale) = (0, Vec::new());
    for (page, directory) in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let (shown, count) = with_output(&text, &directory);
        blocks += count;
        if shown == text {
            continue;
        }
        if bless {
            std::fs::write(&page, shown).unwrap();
        } else {
            stale.push(page.display().to_string());
        }
    }
    assert!(blocks >= 6, "only {blocks} blocks were found");
    assert!(
        stale.is_empty(),
        "{stale:?} show other output than the program gives; \
         `FIRSTPASS_BLESS=1 cargo test -p firstpass-cli --test pages` rewrites them"
    );
}

/// The page with the output of each block as it is now, and how many blocks there are.
fn with_output(page: &str, directory: &Path) -> (String, usize) {
    let (mut result, mut rest, mut count) = (String::new(), page, 0);
    while let Some((before, block)) = rest.split_once("```console\n") {
        let (body, after) = block.split_once("```\n").expect("a block ends");
        let command = body.lines().next().unwrap_or_default();
        result.push_str(before);
        result.push_str("```console\n");
        match command.strip_prefix("$ firstpass ") {
            Some(arguments) => {
                let arguments: Vec<&str> = arguments.split_whitespace().collect();
                let output = firstpass(directory, &arguments);
                result.push_str(&format!(
                    "{command}\n{}",
                    String::from_utf8(output.stdout).unwrap()
                ));
                count += 1;
            }
            None => result.push_str(body),
        }
        result.push_str("```\n");
        rest = after;
    }
    result.push_str(rest);
    (result, count)
}
