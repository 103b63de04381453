//! The graph for Graphviz.

use std::fmt::Write as _;

use super::ShownGraph;
use super::drawing::{Drawing, Look, Stroke};

/// The graphs in the DOT language, one `digraph` each.
pub fn graph_to_dot(graphs: &[ShownGraph]) -> String {
    let parts: Vec<String> = graphs
        .iter()
        .map(|shown| digraph(shown, graphs.len() > 1))
        .collect();
    parts.join("\n")
}

fn digraph(shown: &ShownGraph, is_named: bool) -> String {
    let name = if is_named {
        shown.entries.join(", ")
    } else {
        "tiers".to_owned()
    };
    let drawing = Drawing::of(shown);
    let mut text = format!("digraph {} {{\n", quoted(&name));
    text.push_str("  rankdir=LR;\n");
    text.push_str("  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"monospace\", fontsize=11];\n");
    text.push_str("  edge [fontname=\"sans-serif\", fontsize=9, arrowsize=0.7];\n");
    for (tier, a_box) in shown.view.tiers.iter().zip(&drawing.boxes) {
        let label = match &a_box.note {
            Some(note) => format!("{}\n{note}", a_box.label),
            None => a_box.label.clone(),
        };
        let mut attributes = vec![
            format!("label={}", quoted(&label)),
            format!("tooltip={}", quoted(&a_box.details)),
        ];
        if let Some((fill, line)) = colors(a_box.look) {
            attributes.push(format!("fillcolor=\"{fill}\", color=\"{line}\""));
        }
        if a_box.is_gate {
            attributes.push("penwidth=2".to_owned());
        }
        let _ = writeln!(
            text,
            "  {} [{}];",
            quoted(&tier.name.to_string()),
            attributes.join(", ")
        );
    }
    for line in &drawing.lines {
        let end = |place: usize| quoted(&shown.view.tiers[place].name.to_string());
        let mut attributes = vec![format!("tooltip={}", quoted(&line.details))];
        let style = match line.stroke {
            Stroke::Depends => None,
            Stroke::Creates => Some("style=dashed, color=gray60"),
            Stroke::NoBarrier => Some("color=darkorange2, fontcolor=darkorange3"),
            Stroke::NoEdge => {
                Some("style=dashed, color=darkorange2, fontcolor=darkorange3, constraint=false")
            }
            Stroke::Blocked => Some("color=red3, fontcolor=red3, penwidth=2, constraint=false"),
        };
        attributes.extend(style.map(str::to_owned));
        attributes.extend(
            line.label
                .as_ref()
                .map(|label| format!("label={}", quoted(label))),
        );
        let _ = writeln!(
            text,
            "  {} -> {} [{}];",
            end(line.from),
            end(line.to),
            attributes.join(", ")
        );
    }
    text.push_str("}\n");
    text
}

/// Fill and outline.
fn colors(look: Look) -> Option<(&'static str, &'static str)> {
    match look {
        Look::Plain => None,
        Look::Ready => Some(("#e6f4ea", "#2e7d4f")),
        Look::Waiting => Some(("#fff4dc", "#b7791f")),
        Look::Bad => Some(("#fde7e7", "#c0392b")),
        Look::Unseen => Some(("#f0f0f0", "#8a8f98")),
    }
}

fn quoted(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    let clean: String = escaped
        .chars()
        .filter(|character| !character.is_control())
        .collect();
    format!("\"{clean}\"")
}
