//! The legend: what the lines and boxes of this picture mean, and nothing that it does not show.

use std::fmt::Write as _;

use super::super::drawing::{Drawing, Look, Stroke};
use super::shape::NOTE_CHARACTER;
use super::{MARGIN, number};

/// The legend's text, how far to the right it goes, and where it ends.
pub(super) struct Legend {
    pub(super) text: String,
    pub(super) width: f64,
    pub(super) bottom: f64,
}

/// Draws the legend below everything else.
pub(super) fn legend(drawing: &Drawing, top: f64) -> Legend {
    let mut text = String::from("<g>\n");
    let mut left = MARGIN;
    let mut width = MARGIN;
    let mut row = top;
    let mut entry = |mark: &dyn Fn(f64, f64) -> String, words: &str| {
        let takes = 34.0 + words.chars().count() as f64 * NOTE_CHARACTER + 22.0;
        if left > MARGIN && left + takes > 900.0 {
            left = MARGIN;
            row += 20.0;
        }
        text.push_str(&mark(left, row));
        let _ = writeln!(
            text,
            "<text class=\"key\" x=\"{}\" y=\"{}\">{words}</text>",
            number(left + 34.0),
            number(row + 3.5)
        );
        left += takes;
        width = width.max(left);
    };
    if drawing.boxes.iter().any(|a_box| a_box.is_gate) {
        let mark = |left: f64, row: f64| {
            format!(
                "<rect class=\"box\" x=\"{}\" y=\"{}\" width=\"24\" height=\"14\" rx=\"4\"/>\
                 <path class=\"gate\" d=\"M{} {}v8\"/>\n",
                number(left),
                number(row - 7.0),
                number(left + 24.0),
                number(row - 4.0)
            )
        };
        entry(&mark, "Ready only when what it waits for is healthy");
    }
    for look in Look::ALL {
        let words = match look {
            Look::Plain => continue,
            Look::Ready => "Ready in the rehearsal",
            Look::Waiting => "waits for others",
            Look::Bad => "fails, or nothing meets its needs",
            Look::Unseen => "suspended, or not to be seen",
        };
        if drawing.boxes.iter().any(|a_box| a_box.look == look) {
            let mark = |left: f64, row: f64| {
                format!(
                    "<g class=\"{}\"><rect class=\"box\" x=\"{}\" y=\"{}\" width=\"24\" height=\"14\" rx=\"4\"/></g>\n",
                    look.class(),
                    number(left),
                    number(row - 7.0)
                )
            };
            entry(&mark, words);
        }
    }
    for stroke in Stroke::ALL {
        let words = match stroke {
            Stroke::Depends => "dependsOn",
            Stroke::Creates => "creates",
            Stroke::NoBarrier => "comes first, and proves nothing about what is needed",
            Stroke::NoEdge => "needed, and nothing orders the two",
            Stroke::Blocked => "needed, and waits for the one that needs it",
        };
        if drawing.lines.iter().any(|line| line.stroke == stroke) {
            let class = stroke.class();
            let mark = |left: f64, row: f64| {
                format!(
                    "<path class=\"line {class}\" d=\"M{} {}h22\" marker-end=\"url(#{class})\"/>\n",
                    number(left),
                    number(row)
                )
            };
            entry(&mark, words);
        }
    }
    text.push_str("</g>\n");
    Legend {
        text,
        width,
        bottom: row + 8.0,
    }
}
