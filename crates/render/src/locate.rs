//! Where in the repository is this? Answered by reading the file again, when a finding needs it.

use firstpass_diagnostics::Location;
use firstpass_kustomize::file::KustomizationFile;
use firstpass_object::{Origin, Step};
use firstpass_source::{RepoPath, Tree};
use firstpass_yaml::PathSegment;

/// The start of the document that an object came from.
pub(crate) fn start_of(origin: &Origin) -> Option<Location> {
    (!origin.file.is_empty()).then(|| Location::new(&origin.file, origin.line.max(1), 1))
}

/// The value of a field; the nearest field above it if it is not written there.
pub(crate) fn field(tree: &dyn Tree, origin: &Origin, path: &[&str]) -> Option<Location> {
    let start = start_of(origin)?;
    if is_generated(origin) {
        return Some(start);
    }
    let segments: Vec<PathSegment<'_>> = path
        .iter()
        .map(|part| match part.parse() {
            Ok(index) => PathSegment::Index(index),
            Err(_) => PathSegment::Key(part),
        })
        .collect();
    let found = text_of(tree, &origin.file)
        .and_then(|text| firstpass_yaml::locate_nearest(&text, origin.document, &segments))
        .map(|found| Location::new(&origin.file, found.value.start.line, found.value.start.column));
    Some(found.unwrap_or(start))
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
