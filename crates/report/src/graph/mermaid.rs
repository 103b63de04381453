//! The graph for Mermaid, which many code hosts draw by themselves.

use std::fmt::Write as _;

use super::ShownGraph;
use super::drawing::{Drawing, Look, Stroke};

/// The graph as a Mermaid flowchart.
pub fn graph_to_mermaid(shown: &ShownGraph) -> String {
    let drawing = Drawing::of(shown);
    let mut text = String::from("flowchart LR\n");
    for (place, a_box) in drawing.boxes.iter().enumerate() {
        let label = match &a_box.note {
            Some(note) => format!("{}<br/><small>{}</small>", escaped(&a_box.label), escaped(note)),
            None => escaped(&a_box.label),
        };
        let class = match a_box.look {
            Look::Plain => String::new(),
            look => format!(":::{}", look.class()),
        };
        let _ = writeln!(text, "  t{place}[\"{label}\"]{class}");
    }
    for line in &drawing.lines {
        let arrow = match line.stroke {
            Stroke::Depends | Stroke::NoBarrier => "-->",
            Stroke::Creates | Stroke::NoEdge => "-.->",
            Stroke::Blocked => "==>",
        };
        let label = line
            .label
            .as_ref()
            .map(|label| format!("|\"{}\"|", escaped(label)));
        let _ = writeln!(
            text,
            "  t{} {arrow}{} t{}",
            line.from,
            label.unwrap_or_default(),
            line.to
        );
    }
    for (place, line) in drawing.lines.iter().enumerate() {
        let color = match line.stroke {
            Stroke::Depends => continue,
            Stroke::Creates => "#8a8f98",
            Stroke::NoBarrier | Stroke::NoEdge => "#d97706",
            Stroke::Blocked => "#dc2626",
        };
        let _ = writeln!(text, "  linkStyle {place} stroke:{color}");
    }
    for look in Look::ALL {
        let style = match look {
            Look::Plain => continue,
            Look::Ready => "stroke:#2e7d4f,stroke-width:2px",
            Look::Waiting => "stroke:#d97706,stroke-width:2px,stroke-dasharray:4 3",
            Look::Bad => "stroke:#dc2626,stroke-width:3px",
            Look::Unseen => "stroke:#8a8f98,stroke-dasharray:2 3",
        };
        if drawing.boxes.iter().any(|a_box| a_box.look == look) {
            let _ = writeln!(text, "  classDef {} {style}", look.class());
        }
    }
    text
}

/// Mermaid reads HTML entities, written with `#` for `&`.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars().filter(|character| !character.is_control()) {
        match character {
            '"' | '<' | '>' | '#' | '&' | '`' => {
                let _ = write!(escaped, "#{};", u32::from(character));
            }
            _ => escaped.push(character),
        }
    }
    escaped
}
