//! Replacements: the value of one field, copied into others.
//!
//! ```text
//! source ──selects one resource, one field──► value ──► targets: resources × field paths
//! ```
//!
//! A field path may go on inside of a text that is itself JSON or YAML ([`structured`]). Only the text of a scalar is
//! copied into a scalar; its type and quotes stay, so that `8080` copied over `"80"` stays a text.
//!
//! Upstream: `api/filters/replacement/replacement.go`, `kyaml/yaml/match.go`.

mod layout;
mod matcher;
mod structured;
mod write;

use firstpass_yaml::{Node, NodeKind, Scalar, Style};

use crate::Error;
use crate::fieldspec::{self, Step, split_path_smart};
use crate::file::{FieldOptions, Replacement, ReplacementSource, ReplacementTarget};
use crate::resid::ResId;
use crate::scalar::{is_nil_or_empty, text_of, undecided};
use crate::selector::{SelectorRegex, matches_metadata};
use matcher::{Found, Make};

const DEFAULT_PATH: &str = "metadata.name";
const DEFAULT_NAMESPACE: &str = "default";

/// How deep a value may be that is copied, and how many parts it may have. Replacements that copy a field into itself
/// make as much of it as one likes.
const DEPTH_MAX: usize = 400;
const PARTS_MAX: usize = 100_000;

/// A resource as replacements see it.
pub trait Target {
    /// The tree.
    fn node(&self) -> &Node;
    /// The tree, for change.
    fn node_mut(&mut self) -> &mut Node;
    /// What it is called now, and before that what it was called in the layers below.
    fn ids(&self) -> Vec<ResId>;
}

/// Copies a value from its source to its targets.
///
/// # Errors
/// A source or target that is not there or not unique, and a field that cannot be written. What was written before
/// stays written.
pub fn apply<T: Target>(resources: &mut [T], replacement: &Replacement) -> Result<(), Error> {
    let Some(targets) = &replacement.targets else {
        return Err(Error::new(
            "replacements must specify a source and at least one target",
        ));
    };
    let mut value = match (&replacement.source, &replacement.source_value) {
        (Some(_), Some(_)) => return Err(Error::new("value and resource selectors are mutually exclusive")),
        (None, None) => {
            return Err(Error::new(
                "replacements must specify a source and at least one target",
            ));
        }
        (None, Some(text)) => Value::Fixed(Node::new(NodeKind::Scalar(undecided(text)))),
        (Some(source), None) => read_source(resources, source)?,
    };
    targets
        .iter()
        .try_for_each(|target| write_target(resources, &mut value, target))
}

/// The value to copy.
enum Value {
    Fixed(Node),
    /// A field of a resource. It is read again for each target, since the source may be a target as well; what was
    /// read last counts if the field is overwritten together with what it was in.
    Field {
        resource: usize,
        steps: Vec<Step>,
        last: Node,
    },
}

impl Value {
    fn node<T: Target>(&mut self, resources: &[T]) -> Node {
        match self {
            Value::Fixed(node) => node.clone(),
            Value::Field {
                resource,
                steps,
                last,
            } => {
                if let Some(node) = fieldspec::get(resources[*resource].node(), steps) {
                    last.clone_from(node);
                }
                last.clone()
            }
        }
    }
}

fn read_source<T: Target>(resources: &[T], source: &ReplacementSource) -> Result<Value, Error> {
    let mut selected = resources
        .iter()
        .enumerate()
        .filter(|(_, resource)| resource.ids().iter().any(|id| is_source(id, &source.id)))
        .map(|(index, _)| index);
    let index = selected
        .next()
        .ok_or_else(|| Error::new(format!("nothing selected by {}", described(source))))?;
    if selected.next().is_some() {
        return Err(
            Error::new(format!("multiple matches for selector {}", described(source)))
                .help("say more of the source: kind, name or namespace"),
        );
    }
    let path = or_default(&source.field_path);
    let resource = resources[index].node();
    let steps = fieldspec::look_up(resource, &split_path_smart(path, '.')).map_err(|mut error| {
        error.what = format!("error looking up replacement source: {}", error.what);
        error
    })?;
    let found = steps
        .as_deref()
        .and_then(|steps| fieldspec::get(resource, steps))
        .filter(|node| !is_nil_or_empty(node));
    let (Some(node), Some(steps)) = (found, &steps) else {
        return Err(Error::new(format!(
            "fieldPath `{path}` is missing for replacement source {}",
            source.id
        )));
    };
    match &source.options {
        Some(options) if !options.delimiter.is_empty() => part_of(node, options).map(Value::Fixed),
        _ => Ok(Value::Field {
            resource: index,
            steps: steps.clone(),
            last: node.clone(),
        }),
    }
}

/// Whether a resource of this id is the source. Its namespace may be left out, and `default` is the same as none.
fn is_source(id: &ResId, source: &ResId) -> bool {
    let or_default = |namespace: &str| match namespace {
        "" => DEFAULT_NAMESPACE.to_owned(),
        namespace => namespace.to_owned(),
    };
    (source.name.is_empty() || source.name == id.name)
        && (source.namespace.is_empty() || or_default(&source.namespace) == or_default(&id.namespace))
        && id.gvk.is_selected_by(&source.gvk)
}

fn part_of(node: &Node, options: &FieldOptions) -> Result<Node, Error> {
    let NodeKind::Scalar(scalar) = &node.kind else {
        return Err(only_scalars());
    };
    let part = usize::try_from(options.index)
        .ok()
        .and_then(|index| scalar.text.split(options.delimiter.as_str()).nth(index))
        .ok_or_else(|| {
            Error::new(format!(
                "options.index {} is out of bounds for value {}",
                options.index, scalar.text
            ))
        })?;
    let mut scalar = scalar.clone();
    scalar.text = part.into();
    Ok(Node::new(NodeKind::Scalar(scalar)))
}

fn write_target<T: Target>(
    resources: &mut [T],
    value: &mut Value,
    target: &ReplacementTarget,
) -> Result<(), Error> {
    let Some(select) = &target.select else {
        return Err(Error::new("target must specify resources to select"));
    };
    let selects = SelectorRegex::new(select)?;
    let rejects = target
        .reject
        .iter()
        .map(|reject| SelectorRegex::new(reject).map(|regex| (reject, regex)))
        .collect::<Result<Vec<_>, _>>()?;
    let default_path = [DEFAULT_PATH.to_owned()];
    let paths = match target.field_paths.as_slice() {
        [] => &default_path[..],
        paths => paths,
    };
    for index in 0..resources.len() {
        let resource = &resources[index];
        if !matches_metadata(select, resource.node())? {
            continue;
        }
        let mut is_rejected = false;
        for (reject, regex) in &rejects {
            let by_metadata = !reject.annotation_selector.is_empty() || !reject.label_selector.is_empty();
            is_rejected |= by_metadata && matches_metadata(reject, resource.node())?;
            let by_id = reject.id != ResId::default();
            is_rejected |= by_id && resource.ids().iter().any(|id| regex.matches(id));
        }
        if is_rejected || !resource.ids().iter().any(|id| selects.matches(id)) {
            continue;
        }
        for path in paths {
            let value = value.node(resources);
            let mut parts_left = PARTS_MAX;
            if !is_within(&value, DEPTH_MAX, &mut parts_left) {
                return Err(Error::new("the value of a replacement is too large"));
            }
            write_field(resources[index].node_mut(), path, &value, target.options.as_ref())?;
        }
    }
    Ok(())
}

/// Whether a value is no deeper than that and has no more parts than are left, which are used up.
fn is_within(value: &Node, depth: usize, parts_left: &mut usize) -> bool {
    let (Some(depth), Some(left)) = (depth.checked_sub(1), parts_left.checked_sub(1)) else {
        return false;
    };
    *parts_left = left;
    match &value.kind {
        NodeKind::Scalar(_) => true,
        NodeKind::Seq(items) => items.iter().all(|item| is_within(item, depth, parts_left)),
        NodeKind::Map(map) => map.iter().all(|(_, field)| is_within(field, depth, parts_left)),
    }
}

fn write_field(
    resource: &mut Node,
    path: &str,
    value: &Node,
    options: Option<&FieldOptions>,
) -> Result<(), Error> {
    let make = options
        .filter(|options| options.create)
        .map(|_| Make::like(value));
    let parts = split_path_smart(path, '.');
    if structured::write(resource, &parts, value, make).is_ok() {
        return Ok(());
    }
    let retrieval = || {
        let or_create = if make.is_some() { "find or create" } else { "find" };
        format!("unable to {or_create} field \"{path}\" in replacement target")
    };
    let found = matcher::find(resource, &parts, make).map_err(|mut error| {
        error.what = format!("{}: {}", retrieval(), error.what);
        error
    })?;
    if found.is_empty() {
        return Err(Error::new(retrieval()).help("set `create: true` in `options` to make the field"));
    }
    for field in found {
        match field {
            Found::Field(steps) => {
                if let Some(field) = fieldspec::get_mut(resource, &steps) {
                    put(field, value, options)?;
                }
            }
            Found::Elsewhere(mut field) => put(&mut field, value, options)?,
        }
    }
    Ok(())
}

/// Puts a value, or its part between delimiters, into a field.
fn put(field: &mut Node, value: &Node, options: Option<&FieldOptions>) -> Result<(), Error> {
    let Some(options) = options.filter(|options| !options.delimiter.is_empty()) else {
        put_whole(field, value, text_of(value));
        return Ok(());
    };
    let NodeKind::Scalar(old) = &field.kind else {
        return Err(only_scalars());
    };
    let old = old.text.clone();
    let mut parts: Vec<&str> = old.split(options.delimiter.as_str()).collect();
    let part = text_of(value);
    match usize::try_from(options.index) {
        Err(_) => parts.insert(0, part),
        Ok(index) if index >= parts.len() => parts.push(part),
        Ok(index) => parts[index] = part,
    }
    put_whole(field, value, &parts.join(&options.delimiter));
    Ok(())
}

/// Puts a value into a field: into a scalar only its text, anything else is replaced.
fn put_whole(field: &mut Node, value: &Node, text: &str) {
    match &mut field.kind {
        NodeKind::Scalar(Scalar { text: old, style, .. }) => {
            *old = text.into();
            if *style == Style::Nothing {
                *style = Style::Plain;
            }
        }
        kind => *kind = value.kind.clone(),
    }
}

fn only_scalars() -> Error {
    Error::new("delimiter option can only be used with scalar nodes")
}

fn or_default(path: &str) -> &str {
    if path.is_empty() { DEFAULT_PATH } else { path }
}

/// A source as kustomize writes it.
fn described(source: &ReplacementSource) -> String {
    let mut parts = vec![source.id.to_string()];
    if !source.field_path.is_empty() {
        parts.push(source.field_path.clone());
    }
    match &source.options {
        Some(options) if !options.delimiter.is_empty() || options.create => parts.push(format!(
            "{}({}), create={}",
            options.delimiter, options.index, options.create
        )),
        _ => {}
    }
    parts.join(":")
}

#[cfg(test)]
mod tests;
