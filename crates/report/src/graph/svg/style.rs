//! How the picture looks. Meaning never hangs on colour alone: trouble has words and a line of its own kind, and a tier
//! that is not Ready has a dashed outline.
//!
//! Colours are written out for light surroundings and again for dark ones. Variables would be shorter, and some viewers
//! do not know them.

use super::super::drawing::Stroke;

/// What has no colour.
const PLAIN: &str = "\
text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}
.label{font-size:12px}.note,.key,.remark{font-size:10px}
.bad .label{font-weight:600}
.gate{stroke-width:4;stroke-linecap:round}
.bad .box{stroke-width:2}.waiting .box{stroke-dasharray:5 3}.unseen .box{stroke-dasharray:2 3}
.line{fill:none;stroke-width:1.4}.creates{stroke-dasharray:2 4}.no-edge{stroke-dasharray:6 4}
.line.no-barrier,.line.no-edge{stroke-width:1.8}.line.blocked{stroke-width:2.4}
";

/// Selector, property, light colour, dark colour.
const COLORS: [(&str, &str, &str, &str); 20] = [
    (".page", "fill", "#ffffff", "#0d1117"),
    (".label", "fill", "#1f2430", "#e6e9ef"),
    (".note,.key,.unseen .label", "fill", "#667085", "#98a2b3"),
    (".box", "fill", "#f8fafc", "#171c25"),
    (".box,.block", "stroke", "#c3cad6", "#3b4453"),
    (".block", "fill", "#fbfcfe", "#11161e"),
    (".gate", "stroke", "#475467", "#cdd5df"),
    (".ready .box", "fill", "#ecf8f2", "#11261d"),
    (".ready .box,.ready .gate", "stroke", "#1a7f5a", "#56c596"),
    (".waiting .box", "fill", "#fff8eb", "#2a2010"),
    (".waiting .box,.waiting .gate", "stroke", "#b45309", "#f0a63c"),
    (".waiting .note", "fill", "#b45309", "#f0a63c"),
    (".bad .box", "fill", "#fef1f0", "#2d1514"),
    (".bad .box,.bad .gate", "stroke", "#c8281e", "#ff7b72"),
    (
        ".bad .note,.dot.bad,.head.blocked,.remark.blocked",
        "fill",
        "#c8281e",
        "#ff7b72",
    ),
    (".dot.ready", "fill", "#1a7f5a", "#56c596"),
    (".line", "stroke", "#98a2b3", "#667085"),
    (".head,.dot.unseen", "fill", "#98a2b3", "#667085"),
    (".line.no-barrier,.line.no-edge", "stroke", "#b45309", "#f0a63c"),
    (
        ".head.no-barrier,.head.no-edge,.remark.no-barrier,.remark.no-edge,.dot.waiting",
        "fill",
        "#b45309",
        "#f0a63c",
    ),
];

/// Red lines; they come last, so that they win.
const BLOCKED: (&str, &str) = ("#c8281e", "#ff7b72");

/// The style sheet.
pub(super) fn sheet() -> String {
    let rules = |is_dark: bool| {
        let mut text = String::new();
        for (selector, property, light, dark) in COLORS {
            text.push_str(&format!(
                "{selector}{{{property}:{}}}\n",
                if is_dark { dark } else { light }
            ));
        }
        let red = if is_dark { BLOCKED.1 } else { BLOCKED.0 };
        text.push_str(&format!(".line.blocked{{stroke:{red}}}\n"));
        text
    };
    format!(
        "<style>\n{PLAIN}{}@media (prefers-color-scheme:dark){{\n{}}}\n</style>\n",
        rules(false),
        rules(true)
    )
}

/// The arrow heads, one per stroke.
pub(super) fn markers() -> String {
    let mut text = String::from("<defs>\n");
    for stroke in Stroke::ALL {
        let class = stroke.class();
        text.push_str(&format!(
            "<marker id=\"{class}\" viewBox=\"0 0 8 8\" refX=\"6.5\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
             markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"head {class}\" d=\"M0 0.8L7 4L0 7.2z\"/></marker>\n"
        ));
    }
    text.push_str("</defs>\n");
    text
}
