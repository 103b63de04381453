//! From the text of a file to the objects in it.

use std::collections::VecDeque;

use firstpass_object::Origin;
use firstpass_source::RepoPath;
use firstpass_yaml::{Mark, Node, NodeKind, parse_all};

use crate::Error;
use crate::resource::Resource;
use crate::scalar::{is_nil_or_empty, text_of};
use crate::session::Session;

/// An object in a text.
struct Found {
    node: Node,
    document: usize,
}

/// The objects of a text in order, lists of objects expanded: all that can be known of them without the build.
pub(crate) struct Parsed(Vec<Found>);

impl Parsed {
    /// Makes them resources of a build. `file` is where the text stands.
    pub(crate) fn into_resources(self, file: &RepoPath, session: &Session) -> impl Iterator<Item = Resource> {
        self.0.into_iter().map(|Found { node, document }| {
            let origin = Origin {
                file: file.as_str().to_owned(),
                document,
                line: node.mark.line,
                steps: Vec::new(),
            };
            Resource::new(node, origin, &session.schemas)
        })
    }
}

/// The objects of a text as resources of a build; see [`parse`].
///
/// # Errors
/// As [`parse`].
pub(crate) fn read(text: &str, file: &RepoPath, session: &Session) -> Result<Vec<Resource>, Error> {
    Ok(parse(text, file)?.into_resources(file, session).collect())
}

/// The objects of a text. `file` is where the text stands.
///
/// # Errors
/// Text that is no YAML, and documents that are no objects: without kind, or without a name.
pub(crate) fn parse(text: &str, file: &RepoPath) -> Result<Parsed, Error> {
    let documents = parse_all(text).map_err(|error| Error::unreadable(file, &error))?;
    let mut waiting = VecDeque::new();
    for document in documents {
        accept(document.root, document.index, file, &mut waiting)?;
    }
    let mut objects = Vec::with_capacity(waiting.len());
    while let Some(found) = waiting.pop_front() {
        objects.extend(expand(found, file, &mut waiting)?);
    }
    Ok(Parsed(objects))
}

/// Queues a document if it holds an object. Empty ones are passed over.
fn accept(node: Node, document: usize, file: &RepoPath, queue: &mut VecDeque<Found>) -> Result<(), Error> {
    if is_nil_or_empty(&node) {
        return Ok(());
    }
    check_metadata(&node).map_err(|error| {
        error
            .at(file, node.mark)
            .help("every document must be a Kubernetes object with apiVersion, kind and metadata.name")
    })?;
    queue.push_back(Found { node, document });
    Ok(())
}

/// Whether a tree has what kustomize wants of an object.
pub(crate) fn check_metadata(node: &Node) -> Result<(), Error> {
    let present = |node: Option<&Node>| node.is_some_and(|node| !is_nil_or_empty(node));
    let field = |path: &[&str]| node.at(path).filter(|node| !is_nil_or_empty(node)).map(text_of);
    let metadata = ["name", "namespace", "labels", "annotations"];
    let has_any = present(node.get("apiVersion"))
        || present(node.get("kind"))
        || metadata.iter().any(|name| present(node.at(&["metadata", name])));
    if !has_any {
        return Err(Error::new("missing Resource metadata"));
    }
    let kind = field(&["kind"]).unwrap_or_default();
    if kind.is_empty() {
        return Err(Error::new("missing kind in object"));
    }
    if kind.ends_with("List") || !field(&["metadata", "name"]).unwrap_or_default().is_empty() {
        return Ok(());
    }
    let error = Error::new(format!("missing metadata.name in object of kind {kind}"));
    Err(match node.at(&["metadata", "generateName"]) {
        Some(_) => error.help("kustomize needs a name; generateName alone is not enough"),
        None => error,
    })
}

/// The object itself; if it is a list of objects, its items are queued instead.
fn expand(found: Found, file: &RepoPath, queue: &mut VecDeque<Found>) -> Result<Option<Found>, Error> {
    let Found { node, document } = found;
    let kind = node.get("kind").map(text_of).unwrap_or_default();
    if !kind.ends_with("List") || node.get("items").is_none() {
        return Ok(Some(Found { node, document }));
    }
    let kind = kind.to_owned();
    let NodeKind::Map(map) = node.kind else {
        return Ok(None);
    };
    let Some((_, items)) = map.into_iter().find(|(key, _)| key.as_text() == Some("items")) else {
        return Ok(None);
    };
    let mark = items.mark;
    match items.kind {
        NodeKind::Seq(items) => {
            for item in items {
                accept(item, document, file, queue)?;
            }
            Ok(None)
        }
        NodeKind::Scalar(scalar) if scalar.tag == firstpass_yaml::Tag::Null => Ok(None),
        _ => Err(expected_items(&kind).at(file, mark)),
    }
}

fn expected_items(kind: &str) -> Error {
    Error::new(format!("expected array in {kind}/items")).help("make `items` a list of objects")
}

/// The place of a whole file.
pub(crate) const START: Mark = Mark { line: 1, column: 1 };
