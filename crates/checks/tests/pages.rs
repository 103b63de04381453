//! The pages of the rules are tests: what a page calls bad gives the findings that it shows, what it calls good gives none.
//!
//! `FIRSTPASS_BLESS=1 cargo test -p firstpass-checks --test pages` writes the findings that there are into the pages.

mod support;

use std::fmt::Write as _;
use std::path::PathBuf;

use firstpass_checks::{RULES, Rule};
use firstpass_diagnostics::Finding;
use firstpass_testing::BOOTSTRAP;
use support::{findings, is_loud, line};

#[test]
fn pages_keep_their_word() {
    let mut failures = String::new();
    for rule in RULES {
        if let Err(why) = try_page(rule) {
            let _ = writeln!(failures, "{}:\n{why}", rule.name);
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn every_page_belongs_to_a_rule() {
    #[expect(clippy::disallowed_methods, reason = "looks for stray pages")]
    let pages = std::fs::read_dir(pages()).unwrap();
    let mut names: Vec<String> = pages
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
        .filter(|name| name != "README")
        .collect();
    names.sort();
    let mut rules: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    rules.sort_unstable();
    assert_eq!(names, rules);
}

#[test]
fn the_table_of_rules_is_up_to_date() {
    let mut table = String::from("\n| rule | finds | level | verdict |\n|---|---|---|---|\n");
    for rule in RULES {
        let verdict = rule.verdict.map_or("-".to_owned(), |verdict| verdict.to_string());
        let Rule {
            name,
            summary,
            severity,
            ..
        } = rule;
        let _ = writeln!(
            table,
            "| [{name}]({name}.md) | {summary} | {severity} | {verdict} |"
        );
    }
    let path = pages().join("README.md");
    #[expect(clippy::disallowed_methods, reason = "the page that this test keeps")]
    let page = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- rules: begin -->\n", "\n<!-- rules: end -->");
    let (head, rest) = page
        .split_once(begin)
        .expect("the page marks where the table begins");
    let tail = rest
        .split_once(end.trim_start())
        .expect("the page marks where the table ends")
        .1;
    let expected = format!("{head}{begin}{table}{end}{tail}");
    if page != expected && bless() {
        std::fs::write(path, expected).unwrap();
        return;
    }
    assert!(
        page == expected,
        "docs/rules/README.md: run the test with FIRSTPASS_BLESS=1"
    );
}

fn try_page(rule: &Rule) -> Result<(), String> {
    let (_, rest) = rule.page.split_once("\n## Bad\n").ok_or("no part `## Bad`")?;
    let (bad, good) = rest.split_once("\n## Good\n").ok_or("no part `## Good`")?;
    if !rule.page.starts_with(&format!("# {}\n", rule.name)) {
        return Err("the title is not the rule's name".to_owned());
    }
    let good = example(good)?;
    let strays: Vec<String> = good
        .iter()
        .filter(|finding| is_loud(finding) || finding.rule == rule.name)
        .map(line)
        .collect();
    if !strays.is_empty() {
        return Err(format!("  the good example gives\n    {}", strays.join("\n    ")));
    }
    let found = example(bad)?;
    let of_rule = found
        .iter()
        .filter(|finding| is_loud(finding) || finding.rule == rule.name);
    let shown: String = of_rule.map(|finding| line(finding) + "\n").collect();
    let expected = fenced(bad, "text").ok_or("no block ```text below the bad example")?;
    if expected != shown && bless() {
        write_page(
            rule,
            &rule.page.replace(
                &format!("```text\n{expected}```"),
                &format!("```text\n{shown}```"),
            ),
        );
        return Ok(());
    }
    if !found.iter().any(|finding| finding.rule == rule.name) {
        return Err(format!(
            "  the bad example does not give the finding, but\n{shown}"
        ));
    }
    if expected != shown {
        return Err(format!(
            "  the bad example gives\n{shown}  and the page shows\n{expected}"
        ));
    }
    let found = found.iter().filter(|finding| finding.rule == rule.name);
    for finding in found {
        for (name, text) in [("why", &finding.why), ("help", &finding.help)] {
            if text.is_empty() {
                return Err(format!("  a finding without {name}: {}", line(finding)));
            }
        }
        if finding.location.is_none() {
            return Err(format!("  a finding without a place: {}", line(finding)));
        }
    }
    Ok(())
}

fn example(part: &str) -> Result<Vec<Finding>, String> {
    let files = fenced(part, "yaml").ok_or("no block ```yaml")?;
    let tree = firstpass_testing::tree(&format!("{BOOTSTRAP}{files}"));
    Ok(findings(tree, "clusters/prod"))
}

/// The text of the first fenced block of a language.
fn fenced<'p>(part: &'p str, language: &str) -> Option<&'p str> {
    let (_, rest) = part.split_once(&format!("```{language}\n"))?;
    rest.split_once("```").map(|(text, _)| text)
}

fn pages() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules"))
}

#[expect(clippy::disallowed_methods, reason = "asked for by whoever runs the test")]
fn bless() -> bool {
    std::env::var("FIRSTPASS_BLESS").is_ok_and(|value| value == "1")
}

fn write_page(rule: &Rule, text: &str) {
    std::fs::write(pages().join(format!("{}.md", rule.name)), text).unwrap();
}
