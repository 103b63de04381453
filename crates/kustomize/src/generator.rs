//! Generators: ConfigMaps and Secrets out of literals and files.

mod iam;
mod sources;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use firstpass_object::{Origin, Step};
use firstpass_yaml::{Mark, Node, NodeKind, Scalar, Style, Tag};

use crate::Error;
use crate::file::{GeneratorArgs, GeneratorOptions, Located};
use crate::resource::{Resource, notes, string_map_node};
use crate::scalar::{self, text_of};
use crate::session::Site;

pub(crate) use iam::IamPolicy;

/// What a generator makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ConfigMap,
    Secret,
}

/// Base64 text is broken into lines of this length, as Kubernetes' own tools do.
const BASE64_LINE: usize = 70;

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::ConfigMap => "ConfigMap",
            Kind::Secret => "Secret",
        }
    }

    /// The name of the generator as kustomize notes it.
    pub(crate) fn generator(self) -> &'static str {
        match self {
            Kind::ConfigMap => "ConfigMapGenerator",
            Kind::Secret => "SecretGenerator",
        }
    }
}

/// Makes the object that an entry of a generator describes.
pub(crate) fn generate(
    kind: Kind,
    args: &Located<GeneratorArgs>,
    site: Site<'_, '_>,
) -> Result<Resource, Error> {
    let located = |error: Error| error.at(site.file, args.mark);
    if args.name.is_empty() {
        return Err(located(
            Error::new("a configmap must have a name").help("set `name`"),
        ));
    }
    let data = sources::load(args, site).map_err(located)?;
    let node = object(kind, args, &data);
    let origin = Origin {
        file: site.file.as_str().to_owned(),
        document: 0,
        line: args.mark.line,
        steps: vec![Step::Generated {
            by: site.file.as_str().to_owned(),
        }],
    };
    let mut resource = Resource::new(node, origin, &site.session.schemas);
    if !args
        .options
        .as_ref()
        .is_some_and(|options| options.disable_name_suffix_hash)
    {
        resource.set_annotation(notes::NEEDS_HASH_SUFFIX, notes::ENABLED);
    }
    let behavior = match args.behavior.as_str() {
        known @ ("create" | "replace" | "merge") => known,
        _ => "unspecified",
    };
    resource.set_annotation(notes::GENERATOR_BEHAVIOR, behavior);
    Ok(resource)
}

/// The options of an entry with those of the whole file: local labels and annotations win, switches add up.
pub(crate) fn merged_options(
    local: Option<&GeneratorOptions>,
    global: Option<&GeneratorOptions>,
) -> Option<GeneratorOptions> {
    let Some(global) = global else {
        return local.cloned();
    };
    let mut merged = local.cloned().unwrap_or_default();
    for (ours, theirs) in [
        (&mut merged.labels, &global.labels),
        (&mut merged.annotations, &global.annotations),
    ] {
        for (key, value) in theirs {
            ours.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    merged.disable_name_suffix_hash |= global.disable_name_suffix_hash;
    merged.immutable |= global.immutable;
    Some(merged)
}

/// Takes over the data of an object that a generated one is merged into; its own keys win.
pub(crate) fn merge_data(resource: &mut Resource, old: &Resource) {
    let read = |node: &Node, field: &str| -> BTreeMap<String, String> {
        let map = node.get(field).and_then(Node::as_map);
        map.into_iter()
            .flat_map(|map| map.iter())
            .map(|(key, value)| (text_of(key).to_owned(), text_of(value).to_owned()))
            .collect()
    };
    for field in ["data", "binaryData"] {
        let mut merged = read(old.node(), field);
        merged.extend(read(resource.node(), field));
        if let Some(map) = resource.node_mut().as_map_mut() {
            map.remove(field);
            if !merged.is_empty() {
                map.insert(field, string_map_node(&merged));
            }
        }
    }
}

fn object(kind: Kind, args: &GeneratorArgs, data: &BTreeMap<String, Vec<u8>>) -> Node {
    let mut root = firstpass_yaml::Map::default();
    root.insert("apiVersion", Node::string("v1"));
    root.insert("kind", Node::string(kind.name()));
    let mut metadata = firstpass_yaml::Map::default();
    metadata.insert("name", untyped(&args.name));
    if !args.namespace.is_empty() {
        metadata.insert("namespace", untyped(&args.namespace));
    }
    if let Some(options) = &args.options {
        for (field, values) in [("labels", &options.labels), ("annotations", &options.annotations)] {
            if !values.is_empty() {
                metadata.insert(field, string_map_node(values));
            }
        }
    }
    root.insert("metadata", Node::new(NodeKind::Map(metadata)));
    match kind {
        Kind::ConfigMap => fill_config_map(&mut root, data),
        Kind::Secret => fill_secret(&mut root, args, data),
    }
    if args.options.as_ref().is_some_and(|options| options.immutable) {
        root.insert("immutable", Node::new(NodeKind::Scalar(Scalar::plain("true"))));
    }
    Node {
        kind: NodeKind::Map(root),
        mark: Mark::NONE,
    }
}

/// Text goes into `data`, anything else into `binaryData`.
fn fill_config_map(root: &mut firstpass_yaml::Map, data: &BTreeMap<String, Vec<u8>>) {
    for (key, bytes) in data {
        let (field, text) = match std::str::from_utf8(bytes) {
            Ok(text) => ("data", text.to_owned()),
            Err(_) => ("binaryData", base64_lines(bytes)),
        };
        if let Some(map) = root.get_or_insert_with(field, Node::map).as_map_mut() {
            map.push(scalar::key(key), string(text));
        }
    }
}

fn fill_secret(root: &mut firstpass_yaml::Map, args: &GeneratorArgs, data: &BTreeMap<String, Vec<u8>>) {
    let secret_type = if args.secret_type.is_empty() {
        "Opaque"
    } else {
        &args.secret_type
    };
    root.insert("type", Node::string(secret_type));
    let encoded = data
        .iter()
        .map(|(key, bytes)| (scalar::key(key), string(base64_lines(bytes))));
    root.insert("data", Node::new(NodeKind::Map(encoded.collect())));
}

/// Names and namespaces of generated objects carry no type: `name: 123` makes a number.
fn untyped(text: &str) -> Node {
    Node::new(NodeKind::Scalar(Scalar::plain(text)))
}

fn string(text: String) -> Node {
    let style = if text.contains('\n') {
        Style::Literal
    } else {
        Style::Plain
    };
    Node::new(NodeKind::Scalar(Scalar {
        text: text.into(),
        tag: Tag::Str,
        style,
    }))
}

/// Base64, broken into lines if it is longer than one.
fn base64_lines(bytes: &[u8]) -> String {
    let encoded = STANDARD.encode(bytes);
    if encoded.len() < BASE64_LINE {
        return encoded;
    }
    let mut lines = String::with_capacity(encoded.len() + encoded.len() / BASE64_LINE + 1);
    for line in encoded.as_bytes().chunks(BASE64_LINE) {
        lines.extend(line.iter().map(|byte| char::from(*byte)));
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_base64_is_broken_into_lines() {
        assert_eq!(base64_lines(b"short"), "c2hvcnQ=");
        let long = base64_lines(&[0; 60]);
        assert_eq!(long.lines().map(str::len).collect::<Vec<_>>(), [70, 10]);
        assert!(long.ends_with('\n'));
    }

    #[test]
    fn local_options_win_over_global_ones() {
        let options = |value: &str, immutable| GeneratorOptions {
            labels: [("a".to_owned(), value.to_owned())].into(),
            immutable,
            ..GeneratorOptions::default()
        };
        let merged = merged_options(Some(&options("local", false)), Some(&options("global", true))).unwrap();
        assert_eq!(merged, options("local", true));
        assert_eq!(merged_options(None, None), None);
    }
}
