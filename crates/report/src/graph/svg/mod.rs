//! The graph as an SVG picture: no fonts, scripts or links of its own, light and dark.

mod blocks;
mod draw;
mod layout;
mod legend;
mod shape;
mod style;

use std::fmt::Write as _;

use super::ShownGraph;
use super::drawing::Drawing;
use shape::{Placed, Shape};

/// Room between two layers.
const LAYER_GAP: f64 = 56.0;

/// Room around everything.
const MARGIN: f64 = 24.0;

/// The graph as an SVG document.
pub fn graph_to_svg(shown: &ShownGraph) -> String {
    let drawing = Drawing::of(shown);
    let (blocks, lines) = blocks::gather(&drawing);
    let shapes = shape::of(&blocks, &drawing);
    let boxes: Vec<(usize, f64)> = blocks
        .iter()
        .zip(&shapes)
        .map(|(block, shape)| (block.layer, shape.height))
        .collect();
    let ends: Vec<(usize, usize, usize)> = lines
        .iter()
        .map(|line| (line.from, line.to, drawing.lines[line.line].stroke as usize))
        .collect();
    let layout = layout::layout(&layout::Input {
        boxes: &boxes,
        lines: &ends,
    });
    let columns = columns(&boxes, &shapes);
    let placed: Vec<Placed<'_>> = blocks
        .iter()
        .zip(&shapes)
        .zip(&layout.boxes)
        .map(|((block, shape), middle)| Placed {
            block,
            shape,
            left: columns[block.layer].0,
            top: MARGIN + middle - shape.height / 2.0,
        })
        .collect();
    let legend = legend::legend(&drawing, MARGIN + layout.height + 28.0);
    let right = columns.last().map_or(0.0, |(left, width)| left + width);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">",
        number((right.max(legend.width) + MARGIN).ceil()),
        number((legend.bottom + MARGIN).ceil()),
    );
    let tiers = super::counted(shown.view.tiers.len(), "tier");
    let _ = writeln!(text, "<title>Reconciliation graph of {tiers}</title>");
    text.push_str(&style::sheet());
    text.push_str(&style::markers());
    text.push_str("<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
    // Lines first, so that boxes lie on top; trouble last among them.
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|index| drawing.lines[lines[*index].line].stroke);
    for index in order {
        let ends = (&placed[lines[index].from], &placed[lines[index].to]);
        let way = draw::way(ends, &layout.passes[index], &columns);
        draw::line(&mut text, &drawing.lines[lines[index].line], &way);
    }
    placed
        .iter()
        .for_each(|placed| draw::block(&mut text, placed, &drawing));
    text.push_str(&legend.text);
    text.push_str("</svg>\n");
    text
}

/// Left edge and width of each layer.
fn columns(boxes: &[(usize, f64)], shapes: &[Shape]) -> Vec<(f64, f64)> {
    let layers = boxes.iter().map(|(layer, _)| layer + 1).max().unwrap_or(0);
    let mut widths = vec![0.0_f64; layers];
    for ((layer, _), shape) in boxes.iter().zip(shapes) {
        widths[*layer] = widths[*layer].max(shape.width);
    }
    let mut left = MARGIN;
    let column = |width: f64| {
        let column = (left, width);
        left += width + LAYER_GAP;
        column
    };
    widths.into_iter().map(column).collect()
}

/// A number with at most one decimal.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let short = text.strip_suffix(".0").unwrap_or(&text);
    if short == "-0" {
        "0".to_owned()
    } else {
        short.to_owned()
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push('\n'),
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}
