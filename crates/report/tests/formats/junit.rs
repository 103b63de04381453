//! JUnit, read by an XML parser and held against what the format's readers (Jenkins, GitLab, Forgejo) look for.

use roxmltree::{Document, Node};

use crate::report::world;

/// Reads a document and checks what every reader relies on: names, and counts that are those of the elements.
pub(crate) fn read(text: &str) -> Document<'_> {
    let document = Document::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "testsuites");
    check_counts(root);
    for suite in elements(root) {
        assert_eq!(suite.tag_name().name(), "testsuite");
        assert!(suite.attribute("name").is_some_and(|name| !name.is_empty()));
        check_counts(suite);
        for child in elements(suite) {
            match child.tag_name().name() {
                "properties" => {
                    assert!(elements(child).all(|property| property.attribute("value").is_some()));
                }
                "testcase" => check_case(child),
                other => panic!("a suite holds no `{other}`"),
            }
        }
    }
    document
}

fn check_case(case: Node<'_, '_>) {
    assert!(
        ["name", "classname"]
            .iter()
            .all(|name| case.attribute(*name).is_some_and(|it| !it.is_empty()))
    );
    let outcomes = elements(case).filter(|child| ["failure", "skipped"].contains(&child.tag_name().name()));
    assert!(outcomes.count() <= 1, "a case has one outcome");
    for child in elements(case) {
        match child.tag_name().name() {
            "failure" => assert!(child.attribute("message").is_some() && child.attribute("type").is_some()),
            "skipped" => assert!(child.attribute("message").is_some()),
            "system-out" => {}
            other => panic!("a case holds no `{other}`"),
        }
    }
}

fn check_counts(node: Node<'_, '_>) {
    let cases = || node.descendants().filter(|child| child.has_tag_name("testcase"));
    let with = |name: &str| {
        cases()
            .filter(|case| elements(*case).any(|child| child.has_tag_name(name)))
            .count()
    };
    let count = |name: &str| node.attribute(name).map(|count| count.parse::<usize>().unwrap());
    assert_eq!(count("tests"), Some(cases().count()));
    assert_eq!(count("failures"), Some(with("failure")));
    assert_eq!(count("errors"), Some(0));
    if let Some(skipped) = count("skipped") {
        assert_eq!(skipped, with("skipped"));
    }
}

fn elements<'a, 'i>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(Node::is_element)
}

fn case<'a, 'i>(document: &'a Document<'i>, suite: &str, name: &str) -> Node<'a, 'i> {
    let suite = elements(document.root_element())
        .find(|node| node.attribute("name") == Some(suite))
        .unwrap();
    elements(suite)
        .find(|node| node.attribute("name") == Some(name))
        .unwrap_or_else(|| panic!("no case {name}"))
}

fn outcome<'a>(case: Node<'a, '_>) -> Option<&'a str> {
    let mut children = elements(case);
    children
        .find(|child| !child.has_tag_name("system-out"))
        .map(|child| child.attribute("message").unwrap())
}

#[test]
fn a_run_shows_what_was_tested_and_what_failed() {
    let world = world();
    let text = firstpass_report::to_junit(&world.report, world.context());
    let document = read(&text);
    let prod = |name: &str| outcome(case(&document, "clusters/prod", name));
    assert_eq!(
        prod("comes up"),
        Some("deadlock, 1 of 4 tiers Ready, 1 suspended")
    );
    assert_eq!(prod("flux-system/platform"), None);
    assert_eq!(
        prod("flux-system/platform-config"),
        Some("flux-system/platform-config is never Ready: it waits for kind StorageProfile.cdi.kubevirt.io")
    );
    assert_eq!(prod("flux-system/media"), Some("suspended"));
    assert!(prod("second-order-kind-in-same-pass").is_some());
    assert!(
        prod("not-listed").is_some(),
        "a rule that nobody listed has a case all the same"
    );
    let warned = case(&document, "clusters/prod", "kind-without-barrier");
    assert_eq!(
        outcome(warned),
        None,
        "warnings do not fail under --fail-on error"
    );
    assert!(
        warned
            .descendants()
            .any(|node| node.text().is_some_and(|text| text.contains("flux-system/web")))
    );
    // A cluster without failures shows the same cases.
    let dev = |name: &str| outcome(case(&document, "clusters/dev", name));
    assert_eq!(
        (dev("comes up"), dev("second-order-kind-in-same-pass")),
        (None, None)
    );
}

#[test]
fn nothing_fails_under_fail_on_never() {
    let world = world();
    let context = firstpass_report::Context {
        threshold: None,
        ..world.context()
    };
    let text = firstpass_report::to_junit(&world.report, context);
    assert_eq!(read(&text).root_element().attribute("failures"), Some("0"));
}

#[test]
fn junit_as_it_is_seen() {
    let world = world();
    insta::assert_snapshot!(firstpass_report::to_junit(&world.report, world.context()));
}
