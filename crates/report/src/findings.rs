//! One finding on a terminal: the headline, the line of the file, and the notes below it.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use firstpass_diagnostics::{Finding, Location, Severity};
use firstpass_source::{RepoPath, Tree};

use crate::clean::clean;
use crate::text::Style;
use crate::wrap::wrap;

/// Blocked tiers and related objects beyond this many are counted, not listed: the JSON report has them all.
const LISTED_MAX: usize = 12;

/// Width of the gutter in front of notes.
const NOTE_INDENT: usize = 14;

/// Renders one finding, ending in a newline.
pub(crate) fn render(finding: &Finding, tree: &dyn Tree, style: Style) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let mut group: Group<'_> = Group::with_title(
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
    for (name, text) in notes(finding) {
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

fn is_about_secret(finding: &Finding) -> bool {
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

fn notes(finding: &Finding) -> Vec<(&'static str, String)> {
    let mut notes = Vec::new();
    if let Some(tier) = &finding.tier {
        notes.push(("tier", tier.to_string()));
    }
    if !finding.related.is_empty() {
        notes.push(("with", listed(&finding.related)));
    }
    if !finding.why.is_empty() {
        notes.push(("why", finding.why.clone()));
    }
    if !finding.blocks.is_empty() {
        let blocks: Vec<String> = finding.blocks.iter().map(ToString::to_string).collect();
        notes.push(("blocks", listed(&blocks)));
    }
    if !finding.help.is_empty() {
        notes.push(("help", finding.help.clone()));
    }
    notes
}

fn listed(items: &[String]) -> String {
    let shown = items
        .iter()
        .take(LISTED_MAX)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match items.len().saturating_sub(LISTED_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The line that a location points at and the span, in bytes of that line, to underline: from the column to the end of
/// the word.
fn source_line(tree: &dyn Tree, location: &Location) -> Option<(String, std::ops::Range<usize>)> {
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
