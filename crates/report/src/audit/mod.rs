//! Who brings each kind and who owns each object, as text and for scripts.

mod kinds;
mod objects;

use firstpass_order::{Audit, KindAudit};
use firstpass_rehearse::OwnedObject;
use serde::Serialize;

use crate::clean::clean;
use crate::text::{Paint, Style};

/// Version of the JSON document.
const SCHEMA_VERSION: u32 = 1;

/// The audit of a cluster, to be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownAudit {
    /// The cluster entry.
    pub entry: String,
    /// The kinds.
    #[serde(flatten)]
    pub audit: Audit,
    /// The objects after a rehearsal, if one was played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<Vec<OwnedObject>>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    clusters: &'a [ShownAudit],
}

/// The audits as one JSON document.
pub fn audit_to_json(audits: &[ShownAudit]) -> String {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        clusters: audits,
    };
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// The audits as text.
pub fn audit_to_text(audits: &[ShownAudit], style: Style) -> String {
    let parts: Vec<String> = audits.iter().map(|shown| audit(shown, style)).collect();
    parts.join("\n")
}

fn audit(shown: &ShownAudit, style: Style) -> String {
    let entry = if shown.entry.is_empty() { "." } else { &shown.entry };
    let runtime = shown
        .audit
        .kinds
        .iter()
        .filter(|kind| kind.comes_at_runtime())
        .count();
    let loose = shown.audit.kinds.iter().filter(|kind| is_loose(kind)).count();
    let mut text = format!(
        "{}: {} kinds, {}, {}\n",
        style.paint(Paint::Bold, &clean(entry)),
        shown.audit.kinds.len(),
        match runtime {
            0 => "none comes at runtime".to_owned(),
            1 => "1 comes at runtime".to_owned(),
            many => format!("{many} come at runtime"),
        },
        match loose {
            0 => "each in time".to_owned(),
            1 => style.paint(Paint::Bad, "1 not certainly in time"),
            many => style.paint(Paint::Bad, &format!("{many} not certainly in time")),
        },
    );
    text.push_str(&kinds::render(&shown.audit, style));
    if let Some(objects) = &shown.objects {
        text.push_str(&objects::render(objects, style));
    }
    text
}

/// Whether somebody uses a kind that is not certainly there.
fn is_loose(kind: &KindAudit) -> bool {
    kind.used_by.iter().any(|used| used.guaranteed == Some(false))
}
