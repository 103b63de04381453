//! Values inside of texts that are JSON or YAML themselves, such as a file in a ConfigMap.
//!
//! The text is read, changed and written again: JSON as JSON, on one line or indented as it was, everything else as
//! YAML. Writing it again gives it kustomize's layout also where nothing was changed.

use firstpass_yaml::{Mark, Node, NodeKind, Tag};

use super::layout::Layout;
use super::matcher::{self, Found, Make};
use super::put_whole;
use super::write::write as write_yaml;
use crate::Error;
use crate::fieldspec;
use crate::scalar::{is_undecided, text_of};

/// Writes a value into a text on the way of the path.
///
/// # Errors
/// If no text is on the way, or the rest of the path leads nowhere in it. The caller then looks elsewhere.
pub(super) fn write(
    resource: &mut Node,
    parts: &[String],
    value: &Node,
    make: Option<Make>,
) -> Result<(), Error> {
    // The shortest part of the path that leads to a text which can be read.
    let text = (1..parts.len()).find_map(|length| {
        let steps = fieldspec::look_up(resource, &parts[..length]).ok()??;
        let text = fieldspec::get(resource, &steps)?.as_scalar()?.text.clone();
        firstpass_yaml::parse_all(&text).ok()?;
        Some((steps, text, length))
    });
    let (steps, text, length) = text.ok_or_else(|| Error::new("no structured data found in path"))?;
    let mut data = parse(&text)?;
    let layout = Layout::of(&text, &data);
    let found = matcher::find(&mut data, &parts[length..], make)?;
    if found.is_empty() {
        return Err(Error::new("unable to find field in structured data"));
    }
    for field in found {
        if let Found::Field(steps) = field
            && let Some(field) = fieldspec::get_mut(&mut data, &steps)
        {
            put_whole(field, value, text_of(value));
            forget_places(field);
            quote_nothing(field, value);
        }
    }
    let written = serialize(&data, &text, &layout)?;
    if let Some(NodeKind::Scalar(scalar)) = fieldspec::get_mut(resource, &steps).map(|node| &mut node.kind) {
        scalar.text = written.into();
    }
    Ok(())
}

/// Reads a text.
///
/// # Errors
/// Text that is no YAML, or nothing at all.
pub(super) fn parse(text: &str) -> Result<Node, Error> {
    let node = firstpass_yaml::parse_one(text).map_err(|error| Error::new(error.message))?;
    let is_nothing = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if node.is_null() && text.lines().all(is_nothing) {
        return Err(Error::new(
            "wrong node kind: expected MappingNode but got nothing",
        ));
    }
    Ok(node)
}

/// An empty text in a field that was made stays a text in JSON, which knows no empty scalars.
fn quote_nothing(field: &mut Node, value: &Node) {
    if let NodeKind::Scalar(scalar) = &mut field.kind
        && scalar.text.is_empty()
        && !value.is_null()
        && is_undecided(scalar)
    {
        scalar.tag = Tag::Str;
    }
}

/// What came from elsewhere has no layout in this text.
fn forget_places(field: &mut Node) {
    match &mut field.kind {
        NodeKind::Scalar(_) => {}
        NodeKind::Seq(items) => items.iter_mut().for_each(|item| {
            item.mark = Mark::NONE;
            forget_places(item);
        }),
        NodeKind::Map(map) => map.iter_mut().for_each(|(key, value)| {
            (key.mark, value.mark) = (Mark::NONE, Mark::NONE);
            forget_places(value);
        }),
    }
    if field.as_scalar().is_none() {
        field.mark = Mark::NONE;
    }
}

fn serialize(data: &Node, original: &str, layout: &Layout) -> Result<String, Error> {
    if !original.trim_start().starts_with(['{', '[']) {
        return Ok(write_yaml(data, layout).trim().to_owned());
    }
    let value = data.to_json().map_err(|error| Error::new(error.message))?;
    let is_indented = original.contains('\n') && original.contains("  ");
    let json = if is_indented {
        serde_json::to_string_pretty(&value)
    } else {
        serde_json::to_string(&value)
    };
    json.map(|json| escape_html(&json))
        .map_err(|error| Error::new(error.to_string()))
}

/// Go writes JSON so that it can stand in a web page.
fn escape_html(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}
