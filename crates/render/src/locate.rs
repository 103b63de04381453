//! Where in the repository is this? Answered by reading the file again, when a finding needs it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use firstpass_diagnostics::Location;
use firstpass_kustomize::file::KustomizationFile;
use firstpass_object::{Origin, Step};
use firstpass_source::{RepoPath, Tree};
use firstpass_yaml::{Documents, Found, PathSegment};

/// The start of the document that an object came from.
pub(crate) fn start_of(origin: &Origin) -> Option<Location> {
    (!origin.file.is_empty()).then(|| Location::new(&origin.file, origin.line.max(1), 1))
}

/// Finds fields. What was looked into last is kept, since findings come file by file and a file may hold thousands of
/// documents.
#[derive(Default)]
pub(crate) struct Locator {
    last: Mutex<Option<(String, Arc<Documents>)>>,
}

impl Locator {
    /// The value of a field; the nearest field above it if it is not written there.
    pub(crate) fn field(&self, tree: &dyn Tree, origin: &Origin, path: &[&str]) -> Option<Location> {
        let start = start_of(origin)?;
        if is_generated(origin) {
            return Some(start);
        }
        let found = self
            .documents(tree, &origin.file)
            .and_then(|documents| documents.locate_nearest(origin.document, &segments(path)));
        Some(found.map_or(start, |found| place_of(origin, &found)))
    }

    fn documents(&self, tree: &dyn Tree, file: &str) -> Option<Arc<Documents>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, documents)) = &*last
            && known == file
        {
            return Some(Arc::clone(documents));
        }
        let documents = Arc::new(Documents::of(&text_of(tree, file)?));
        *last = Some((file.to_owned(), Arc::clone(&documents)));
        Some(documents)
    }
}

/// The same field of many objects, in their order. Each file is read once, however many objects are written in it.
pub(crate) fn fields<'o>(
    tree: &dyn Tree,
    origins: impl Iterator<Item = &'o Origin>,
    path: &[&str],
) -> Vec<Option<Location>> {
    let segments = segments(path);
    let mut places = Vec::new();
    let mut by_file: BTreeMap<&str, Vec<(usize, &Origin)>> = BTreeMap::new();
    for (index, origin) in origins.enumerate() {
        places.push(start_of(origin));
        if places[index].is_some() && !is_generated(origin) {
            by_file.entry(&origin.file).or_default().push((index, origin));
        }
    }
    for (file, origins) in by_file {
        let Some(text) = text_of(tree, file) else { continue };
        let documents = Documents::of(&text);
        for (index, origin) in origins {
            if let Some(found) = documents.locate_nearest(origin.document, &segments) {
                places[index] = Some(place_of(origin, &found));
            }
        }
    }
    places
}

fn segments<'p>(path: &[&'p str]) -> Vec<PathSegment<'p>> {
    path.iter()
        .map(|part| match part.parse() {
            Ok(index) => PathSegment::Index(index),
            Err(_) => PathSegment::Key(part),
        })
        .collect()
}

fn place_of(origin: &Origin, found: &Found) -> Location {
    Location::new(&origin.file, found.value.start.line, found.value.start.column)
}

/// The first place of a text in the document that an object came from, or in the files that a generator read.
pub(crate) fn text(tree: &dyn Tree, origin: &Origin, needle: &str) -> Option<Location> {
    let own = text_of(tree, &origin.file).and_then(|text| {
        let first = usize::try_from(origin.line.max(1)).unwrap_or(1);
        find(&text, needle, first).or_else(|| find(&text, needle, 1))
    });
    if let Some((line, column)) = own {
        return Some(Location::new(&origin.file, line, column));
    }
    if is_generated(origin)
        && let Some(location) = generator_files(tree, origin).into_iter().find_map(|file| {
            let (line, column) = find(&text_of(tree, &file)?, needle, 1)?;
            Some(Location::new(file, line, column))
        })
    {
        return Some(location);
    }
    start_of(origin)
}

/// The line and column of a text from a line on.
fn find(text: &str, needle: &str, first_line: usize) -> Option<(u32, u32)> {
    let lines = text.lines().enumerate().skip(first_line - 1);
    let position = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    let mut found = lines.filter_map(|(line, content)| Some((line, content, content.find(needle)?)));
    let (line, content, at) = found.next()?;
    Some((position(line), position(content[..at].chars().count())))
}

/// The files that generators of the kustomization file read.
fn generator_files(tree: &dyn Tree, origin: &Origin) -> Vec<String> {
    let file = RepoPath::clamped(&origin.file);
    let directory = file.parent().unwrap_or_default();
    let Some(kustomization) =
        text_of(tree, &origin.file).and_then(|text| KustomizationFile::read_leniently(&text, &file).ok())
    else {
        return Vec::new();
    };
    let generators = kustomization
        .config_map_generator
        .iter()
        .chain(&kustomization.secret_generator);
    let paths = generators.flat_map(|generator| {
        let files = generator.files.iter();
        let files = files.map(|entry| entry.split_once('=').map_or(entry.as_str(), |(_, path)| path));
        files
            .chain(generator.envs.iter().map(String::as_str))
            .collect::<Vec<_>>()
    });
    paths
        .filter_map(|path| Some(directory.join(path).ok()?.as_str().to_owned()))
        .collect()
}

fn is_generated(origin: &Origin) -> bool {
    origin
        .steps
        .iter()
        .any(|step| matches!(step, Step::Generated { .. }))
}

fn text_of(tree: &dyn Tree, file: &str) -> Option<String> {
    let bytes = tree.read(&RepoPath::root().join(file).ok()?).ok()?;
    firstpass_yaml::decode(&bytes)
        .ok()
        .map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_fields_are_found_where_each_is() {
        let tree = firstpass_testing::tree(
            "
--- a.yaml
metadata: {name: one}
---
metadata:
  name: two
---
kind: nameless
--- b.yaml
metadata: {name: three}
--- broken.yaml
metadata: {name: four}
---x
",
        );
        let origin = |file: &str, document: usize, line: u32| Origin {
            file: file.to_owned(),
            document,
            line,
            ..Origin::default()
        };
        let mut generated = origin("a.yaml", 0, 1);
        generated.steps.push(Step::Generated {
            by: "a.yaml".to_owned(),
        });
        let origins = [
            origin("b.yaml", 0, 1),
            origin("a.yaml", 1, 3),
            origin("a.yaml", 0, 1),
            origin("a.yaml", 2, 6),
            origin("a.yaml", 9, 1),
            origin("broken.yaml", 0, 1),
            origin("missing.yaml", 0, 1),
            origin("", 0, 0),
            generated,
        ];
        let path = ["metadata", "name"];
        let found = fields(&tree, origins.iter(), &path);
        let locator = Locator::default();
        let one_by_one: Vec<_> = origins
            .iter()
            .map(|origin| locator.field(&tree, origin, &path))
            .collect();
        assert_eq!(found, one_by_one);
        assert_eq!(found[1], Some(Location::new("a.yaml", 4, 9)));
    }
}
