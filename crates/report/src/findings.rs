//! One finding on a terminal: the headline, the line of the file, and the notes below it.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{self as snippets, AnnotationKind, Level, Origin, Renderer, Snippet};
use firstpass_diagnostics::{Finding, Location, Severity};
use firstpass_source::{RepoPath, Tree};

use crate::clean::clean;
use crate::group::Group;
use crate::text::Style;
use crate::wrap::wrap;

/// Blocked tiers and related objects beyond this many are counted, unless everything is asked for.
pub(crate) const LISTED_MAX: usize = 12;

/// Width of the gutter in front of notes.
const NOTE_INDENT: usize = 14;

/// Renders one finding, ending in a newline.
pub(crate) fn render(finding: &Finding, tree: &dyn Tree, style: Style) -> String {
    let alone = Group {
        first: finding,
        others: Vec::new(),
    };
    render_group(&alone, tree, style)
}

/// Renders findings with one cause: the first in full, and where else it happens.
pub(crate) fn render_group(findings: &Group<'_>, tree: &dyn Tree, style: Style) -> String {
    let finding = findings.first;
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let mut group: snippets::Group<'_> = snippets::Group::with_title(
        level
            .primary_title(clean(&finding.message))
            .id(finding.rule.as_str()),
    );
    if let Some(location) = &finding.location {
        // The line of a Secret may hold the secret.
        let shown = if is_about_secret(finding) {
            None
        } else {
            source_line(tree, location)
        };
        group = match shown {
            Some((line, span)) => group.element(
                Snippet::source(line)
                    .path(clean(&location.file).into_owned())
                    .line_start(location.line as usize)
                    .annotation(AnnotationKind::Primary.span(span)),
            ),
            None => group.element(origin(location)),
        };
    }
    let listed_max = if style.verbose { usize::MAX } else { LISTED_MAX };
    for (name, text) in notes(findings, listed_max) {
        let text = wrap(&text, style.width.saturating_sub(NOTE_INDENT)).join("\n");
        group = group.element(Level::NOTE.with_name(name).message(text));
    }
    let renderer = if style.color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut rendered = renderer
        .decor_style(DecorStyle::Ascii)
        .term_width(style.width)
        .render(&[group]);
    rendered.push('\n');
    rendered
}

/// Whether the lines of the finding may hold a secret.
pub(crate) fn is_about_secret(finding: &Finding) -> bool {
    finding
        .object_ref
        .as_ref()
        .is_some_and(|object| object.group.is_empty() && object.kind == "Secret")
}

fn origin(location: &Location) -> Origin<'static> {
    let origin = Origin::path(clean(&location.file).into_owned());
    if location.line == 0 {
        return origin;
    }
    origin
        .line(location.line as usize)
        .char_column(location.column.max(1) as usize)
}

/// The notes below a headline: name and text. Lists are cut after `listed_max` items.
pub(crate) fn notes(findings: &Group<'_>, listed_max: usize) -> Vec<(&'static str, String)> {
    let finding = findings.first;
    let mut notes = Vec::new();
    if let Some(tier) = &finding.tier {
        notes.push(("tier", tier.to_string()));
    }
    let elsewhere = findings.elsewhere();
    if !elsewhere.is_empty() {
        notes.push(("also", listed(&elsewhere, listed_max)));
    }
    if !finding.related.is_empty() {
        notes.push(("with", listed(&finding.related, listed_max)));
    }
    if !finding.why.is_empty() {
        notes.push(("why", finding.why.clone()));
    }
    let blocks = findings.blocks();
    if !blocks.is_empty() {
        notes.push(("blocks", listed(&blocks, listed_max)));
    }
    if !finding.help.is_empty() {
        notes.push(("help", finding.help.clone()));
    }
    notes
}

/// Items in one line, those beyond `listed_max` counted.
pub(crate) fn listed(items: &[String], listed_max: usize) -> String {
    let shown = items
        .iter()
        .take(listed_max)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match items.len().saturating_sub(listed_max) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The line that a location points at and the span, in bytes of that line, to underline: from the column to the end of
/// the word.
pub(crate) fn source_line(tree: &dyn Tree, location: &Location) -> Option<(String, std::ops::Range<usize>)> {
    let bytes = tree.read(&RepoPath::clamped(&location.file)).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = clean(
        text.lines()
            .nth(location.line.checked_sub(1)? as usize)?
            .trim_end(),
    );
    let start = line
        .char_indices()
        .nth(location.column.saturating_sub(1) as usize)?
        .0;
    let length = line[start..]
        .find(char::is_whitespace)
        .unwrap_or(line.len() - start);
    Some((
        line.clone().into_owned(),
        start..start + length.max(1).min(line.len() - start),
    ))
}
