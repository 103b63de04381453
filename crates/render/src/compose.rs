//! ArtifactGenerator: an artifact put together from parts of others (F-904).
//!
//! Behaves as the builder of fluxcd/source-watcher for what it copies; archives are not unpacked.
//! <https://github.com/fluxcd/source-watcher/blob/main/internal/builder/builder.go>

use std::collections::BTreeMap;

use firstpass_envsubst::glob;
use firstpass_flux::{Artifact, Copy};
use firstpass_source::{EntryKind, MemoryTree, RepoPath, Tree};

use crate::artifacts::Files;

/// Artifacts made of artifacts made of artifacts.
pub(crate) const DEPTH_MAX: usize = 5;
/// Directories below directories.
const DIRECTORY_DEPTH_MAX: usize = 100;

/// The files of an artifact and where each came from.
pub(crate) fn compose(
    artifact: &Artifact,
    inputs: &BTreeMap<String, Files>,
) -> Result<(MemoryTree, BTreeMap<RepoPath, String>), String> {
    let mut stage = Stage {
        tree: MemoryTree::new(),
        places: BTreeMap::new(),
    };
    for rule in &artifact.copy {
        stage
            .copy(rule, inputs)
            .map_err(|why| format!("copying `{}` to `{}`: {why}", rule.from, rule.to))?;
    }
    Ok((stage.tree, stage.places))
}

struct Stage {
    tree: MemoryTree,
    places: BTreeMap<RepoPath, String>,
}

impl Stage {
    fn copy(&mut self, rule: &Copy, inputs: &BTreeMap<String, Files>) -> Result<(), String> {
        if let Some(strategy) = rule
            .strategy
            .as_deref()
            .filter(|strategy| *strategy != "Overwrite")
        {
            return Err(format!("the strategy `{strategy}` is not followed"));
        }
        let (alias, pattern) = rule
            .from
            .strip_prefix('@')
            .and_then(|from| from.split_once('/'))
            .ok_or("`from` has to be `@alias/pattern`")?;
        let files = inputs
            .get(alias)
            .ok_or_else(|| format!("no source has the alias `{alias}`"))?;
        let to = rule
            .to
            .strip_prefix("@artifact/")
            .ok_or("`to` has to start with `@artifact/`")?;
        let target = RepoPath::root().join(to).map_err(|error| error.to_string())?;
        if !pattern.contains(['*', '?', '[', ']']) {
            return self.copy_named(
                files,
                pattern,
                &target,
                to.ends_with('/') || to.is_empty(),
                &rule.exclude,
            );
        }
        let matches = matching(&*files.tree, pattern);
        if matches.is_empty() {
            return Err(format!("no file matches `{pattern}`"));
        }
        let prefix = pattern.strip_suffix("/**").map(|prefix| format!("{prefix}/"));
        for found in matches {
            let relative = prefix
                .as_deref()
                .and_then(|prefix| found.as_str().strip_prefix(prefix));
            let destination = target.join_clamped(relative.unwrap_or(found.as_str()));
            self.copy_entry(files, &found, &destination, &rule.exclude, 0)?;
        }
        Ok(())
    }

    fn copy_named(
        &mut self,
        files: &Files,
        path: &str,
        target: &RepoPath,
        into: bool,
        exclude: &[String],
    ) -> Result<(), String> {
        let path = RepoPath::clamped(path);
        let into = into || self.tree.is_directory(target) && !target.is_root();
        match files.tree.entry(&path) {
            Some(EntryKind::Directory) => {
                self.copy_entry(files, &path, &target.join_clamped(path.file_name()), exclude, 0)
            }
            Some(_) if into => {
                self.copy_entry(files, &path, &target.join_clamped(path.file_name()), exclude, 0)
            }
            Some(_) => self.copy_entry(files, &path, target, exclude, 0),
            None => Err(format!("`{path}` does not exist")),
        }
    }

    fn copy_entry(
        &mut self,
        files: &Files,
        from: &RepoPath,
        to: &RepoPath,
        exclude: &[String],
        depth: usize,
    ) -> Result<(), String> {
        if depth > DIRECTORY_DEPTH_MAX {
            return Err("directories are nested too deep".to_owned());
        }
        if exclude.iter().any(|pattern| excludes(pattern, from)) {
            return Ok(());
        }
        if files.tree.entry(from) == Some(EntryKind::Directory) {
            for (name, _) in files.tree.list(from).map_err(|error| error.to_string())? {
                self.copy_entry(
                    files,
                    &from.join_clamped(&name),
                    &to.join_clamped(&name),
                    exclude,
                    depth + 1,
                )?;
            }
            return Ok(());
        }
        let content = files.tree.read(from).map_err(|error| error.to_string())?;
        self.tree.insert(to.as_str(), content.to_vec());
        self.places.insert(to.clone(), files.places.file(from.as_str()));
        Ok(())
    }
}

/// The entries that a pattern matches part by part; `**` is no more than `*` here.
fn matching(tree: &dyn Tree, pattern: &str) -> Vec<RepoPath> {
    let mut found = vec![RepoPath::root()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for directory in found {
            let entries = tree.list(&directory).unwrap_or_default();
            let matches = |name: &str| glob::matches(part.as_bytes(), name.as_bytes()) == Ok(true);
            next.extend(
                entries
                    .iter()
                    .filter(|(name, _)| matches(name))
                    .map(|(name, _)| directory.join_clamped(name)),
            );
        }
        found = next;
    }
    found
}

/// Whether an exclusion matches a path, its name, or a directory above it; `**` spans directories.
fn excludes(pattern: &str, path: &RepoPath) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.parts().collect();
    (0..path.len()).any(|start| matches_parts(&pattern, &path[start..]))
}

fn matches_parts(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => {
            matches_parts(rest, path) || !path.is_empty() && matches_parts(pattern, &path[1..])
        }
        (Some((first, rest)), Some((part, below))) => {
            glob::matches(first.as_bytes(), part.as_bytes()) == Ok(true) && matches_parts(rest, below)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use firstpass_flux::{SourceKind, SourceName};

    use super::*;
    use crate::TierSource;
    use crate::artifacts::Places;

    fn compose_with(rules: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let tree = firstpass_testing::tree(
            "--- infra/controllers/a.yaml\na\n--- infra/configs/b.yaml\nb\n--- apps/base/c.yaml\nc\n",
        );
        let name = SourceName {
            kind: SourceKind::GitRepository,
            namespace: "n".to_owned(),
            name: "n".to_owned(),
        };
        let files = Files {
            identity: String::new(),
            source: TierSource::Repository {
                name,
                root: RepoPath::root(),
            },
            tree: Arc::new(tree),
            places: Places::Below(RepoPath::root()),
        };
        let copy = rules.iter().map(|(from, to)| Copy {
            from: (*from).to_owned(),
            to: (*to).to_owned(),
            exclude: Vec::new(),
            strategy: None,
        });
        let artifact = Artifact {
            name: "x".to_owned(),
            revision: None,
            copy: copy.collect(),
        };
        let (tree, _) = compose(&artifact, &BTreeMap::from([("repo".to_owned(), files)]))?;
        Ok(tree.paths().map(|path| path.as_str().to_owned()).collect())
    }

    #[test]
    fn directories_are_copied_with_or_without_their_name() {
        let table: [(&str, &str, &[&str]); 5] = [
            (
                "@repo/infra/**",
                "@artifact/",
                &["configs/b.yaml", "controllers/a.yaml"],
            ),
            ("@repo/apps/base/**", "@artifact/base/", &["base/c.yaml"]),
            ("@repo/apps", "@artifact/x/", &["x/apps/base/c.yaml"]),
            ("@repo/apps/base/c.yaml", "@artifact/d.yaml", &["d.yaml"]),
            ("@repo/infra/*/b.yaml", "@artifact/", &["infra/configs/b.yaml"]),
        ];
        for (from, to, expected) in table {
            assert_eq!(compose_with(&[(from, to)]).unwrap(), expected, "{from} {to}");
        }
        assert!(compose_with(&[("@repo/none/**", "@artifact/")]).is_err());
        assert!(compose_with(&[("@other/x", "@artifact/")]).is_err());
    }

    #[test]
    fn exclusions_span_directories() {
        assert!(excludes("**/*.md", &RepoPath::clamped("a/b/c.md")));
        assert!(excludes("*.md", &RepoPath::clamped("a/b/c.md")));
        assert!(!excludes("*.md", &RepoPath::clamped("a/b/c.yaml")));
    }
}
