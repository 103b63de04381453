//! Markdown, read by a CommonMark parser with GitHub's tables.

use firstpass_diagnostics::{Finding, Location, Report, Severity};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::report::{HOSTILE, cluster, world};

/// GitHub's limit for the body of a comment.
const CHARS_MAX: usize = 65_536;

/// The tags that a report writes itself.
const TAGS: [&str; 9] = [
    "<details>",
    "</details>",
    "<summary>",
    "</summary>",
    "<b>",
    "</b>",
    "<code>",
    "</code>",
    "\n",
];

/// Checks that nothing became a link, an image or foreign HTML, and gives the text outside code.
pub(crate) fn read(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let (mut text, mut in_block, mut in_code, mut open) = (String::new(), false, false, 0_i32);
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_block = true,
            Event::End(TagEnd::CodeBlock) => in_block = false,
            Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::Emphasis | Tag::Strikethrough) => {
                panic!("a link, an image or emphasis in\n{markdown}")
            }
            Event::InlineHtml(html) if &*html == "<code>" => in_code = true,
            Event::InlineHtml(html) if &*html == "</code>" => in_code = false,
            Event::Html(html) | Event::InlineHtml(html) => {
                open += i32::try_from(html.matches("<details>").count()).unwrap();
                open -= i32::try_from(html.matches("</details>").count()).unwrap();
                assert!(open >= 0, "a detail ends that has not begun");
                text.push_str(&without_tags(&html));
            }
            Event::Text(part) if !in_block && !in_code => text.push_str(&part),
            _ => {}
        }
    }
    assert_eq!(open, 0, "every detail ends");
    assert!(!in_block && !in_code);
    text
}

/// The text of a piece of HTML whose tags are all ours; what is code is left out.
fn without_tags(html: &str) -> String {
    let mut rest = html.to_owned();
    while let (Some(start), Some(end)) = (rest.find("<code>"), rest.find("</code>")) {
        rest.replace_range(start..end + "</code>".len(), "");
    }
    for tag in TAGS {
        rest = rest.replace(tag, " ");
    }
    assert!(!rest.contains('<'), "foreign HTML: {html}");
    decoded(&rest)
}

/// HTML text as it is shown.
fn decoded(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once("&#") {
        let (number, behind) = after.split_once(';').expect("an entity ends");
        text.push_str(before);
        text.push(char::from_u32(number.parse().unwrap()).unwrap());
        rest = behind;
    }
    text.push_str(rest);
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
}

#[test]
fn text_of_the_repository_stays_text() {
    let world = world();
    let markdown = firstpass_report::to_markdown(&world.report, world.context());
    let text = read(&markdown);
    assert!(HOSTILE.contains("@everyone") && !text.contains("@everyone"));
    for call in ["@me", "#1", "GH-2", "www.evil", "://"] {
        assert!(!text.contains(call), "{call} in {text}");
    }
    assert!(!markdown.contains("hunter2"));
}

#[test]
fn what_does_not_fit_is_counted() {
    let finding = |index: u32| {
        let severity = if index.is_multiple_of(2) {
            Severity::Error
        } else {
            Severity::Warning
        };
        Finding::new("a-rule", severity, None, format!("finding {index}: {HOSTILE}"))
            .with_why("w".repeat(9_000))
            .with_location(Location::new("a.yaml", index + 1, 1))
    };
    let cluster = cluster("clusters/prod", Vec::new(), (0..100).map(finding).collect());
    let mut world = world();
    world.report = Report::new("check", "0.1.0", vec![cluster]);
    let markdown = firstpass_report::to_markdown(&world.report, world.context());
    read(&markdown);
    assert!(
        markdown.chars().count() < CHARS_MAX && markdown.len() > CHARS_MAX / 2,
        "{}",
        markdown.len()
    );
    let shown = markdown.matches("<details>").count();
    assert!(shown > 3);
    assert!(
        markdown.contains(&format!("{} errors, 50 warnings", 50 - shown)),
        "{}",
        &markdown[markdown.len() - 400..]
    );
}

#[test]
fn many_clusters_leave_room_for_findings() {
    let mut world = world();
    let bad = world.report.clusters.remove(0);
    let dev = world.report.clusters.remove(0);
    world.report.clusters = (0..2_000)
        .map(|index| {
            let mut cluster = dev.clone();
            cluster.entry = format!("clusters/edge-{index:04}");
            cluster
        })
        .chain([bad])
        .collect();
    let markdown = firstpass_report::to_markdown(&world.report, world.context());
    read(&markdown);
    assert!(markdown.chars().count() < CHARS_MAX);
    let table = markdown.split("<details>").next().unwrap();
    assert!(table.contains("**deadlock**"), "the worst is shown");
    assert!(table.contains("more clusters, none worse"));
    assert!(markdown.contains("second-order-kind-in-same-pass"));
}

#[test]
fn markdown_as_it_is_seen() {
    let world = world();
    insta::assert_snapshot!(firstpass_report::to_markdown(&world.report, world.context()));
}
