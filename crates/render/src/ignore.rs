//! Which files source-controller packs into an artifact (F-905, F-906).
//!
//! The patterns are those of `.gitignore` as go-git reads them, which differs from git: a name matches at any depth, the
//! last pattern that matches decides, and a file can be brought back although its directory is left out.

use firstpass_envsubst::glob;
use firstpass_source::{RepoPath, Tree};

/// The file with patterns that may lie in every directory.
pub(crate) const IGNORE_FILE: &str = ".sourceignore";

/// Left out whatever else is said.
const VCS: &str = ".git/,.gitignore,.gitmodules,.gitattributes";
/// Left out unless somebody brings patterns of their own.
const DEFAULT: &str = "*.jpg,*.jpeg,*.gif,*.png,*.wmv,*.flv,*.tar.gz,*.zip,\
                       .github/,.circleci/,.travis.yml,.gitlab-ci.yml,appveyor.yml,.drone.yml,cloudbuild.yaml,\
                       codeship-services.yml,codeship-steps.yml,\
                       **/.goreleaser.yml,**/.sops.yaml,**/.flux.yaml";

/// Patterns in order of rising priority.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IgnoreRules {
    patterns: Vec<Pattern>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    /// The directory that the pattern belongs to, as parts.
    domain: Vec<String>,
    parts: Vec<String>,
    include: bool,
    directories_only: bool,
}

impl IgnoreRules {
    /// The rules of a source: `.sourceignore` files of the tree, in the order in which their directories are walked, and
    /// `spec.ignore` last. Without either, the defaults hold.
    pub(crate) fn of_source(
        tree: &dyn Tree,
        ignore_files: &[RepoPath],
        spec_ignore: Option<&str>,
    ) -> IgnoreRules {
        let mut own = Vec::new();
        for file in ignore_files {
            let directory = file.parent().unwrap_or_default();
            let text = tree.read(file).unwrap_or_default();
            own.extend(read_patterns(&String::from_utf8_lossy(&text), &directory));
        }
        own.extend(read_patterns(spec_ignore.unwrap_or_default(), &RepoPath::root()));
        let mut patterns: Vec<Pattern> = VCS
            .split(',')
            .map(|text| Pattern::new(text, &RepoPath::root()))
            .collect();
        if own.is_empty() {
            patterns.extend(
                DEFAULT
                    .split(',')
                    .map(|text| Pattern::new(text, &RepoPath::root())),
            );
        }
        patterns.extend(own);
        IgnoreRules { patterns }
    }

    /// Whether a file or directory is left out.
    pub(crate) fn excludes(&self, path: &RepoPath, is_directory: bool) -> bool {
        let parts: Vec<&str> = path.parts().collect();
        let deciding = self
            .patterns
            .iter()
            .rev()
            .find(|pattern| pattern.matches(&parts, is_directory));
        deciding.is_some_and(|pattern| !pattern.include)
    }

    /// Whether a pattern brings something back, so that a directory that is left out may still hold files.
    pub(crate) fn brings_back(&self) -> bool {
        self.patterns.iter().any(|pattern| pattern.include)
    }
}

fn read_patterns(text: &str, domain: &RepoPath) -> Vec<Pattern> {
    let lines = text.lines().map(|line| line.strip_suffix('\r').unwrap_or(line));
    lines
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| Pattern::new(line, domain))
        .collect()
}

impl Pattern {
    fn new(text: &str, domain: &RepoPath) -> Pattern {
        let (include, text) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let text = if text.ends_with("\\ ") {
            text
        } else {
            text.trim_end_matches(' ')
        };
        let (directories_only, text) = match text.strip_suffix('/') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        Pattern {
            domain: domain.parts().map(str::to_owned).collect(),
            parts: text.split('/').map(str::to_owned).collect(),
            include,
            directories_only,
        }
    }

    fn matches(&self, path: &[&str], is_directory: bool) -> bool {
        if path.len() <= self.domain.len()
            || !self.domain.iter().zip(path).all(|(ours, theirs)| ours == theirs)
        {
            return false;
        }
        let path = &path[self.domain.len()..];
        match self.parts.as_slice() {
            [name] => self.matches_name(name, path, is_directory),
            _ => self.matches_path(path, is_directory),
        }
    }

    /// A pattern without `/` matches a part at any depth.
    fn matches_name(&self, name: &str, path: &[&str], is_directory: bool) -> bool {
        for (index, part) in path.iter().enumerate() {
            match part_matches(name, part) {
                None => return false,
                Some(false) => {}
                Some(true) => return !self.directories_only || is_directory || index + 1 < path.len(),
            }
        }
        false
    }

    fn matches_path(&self, mut path: &[&str], is_directory: bool) -> bool {
        let mut matched = false;
        let mut any_depth = false;
        for (index, part) in self.parts.iter().enumerate() {
            if part.is_empty() {
                any_depth = false;
                continue;
            }
            if part == "**" {
                if index + 1 == self.parts.len() {
                    break;
                }
                any_depth = true;
                continue;
            }
            if part.contains("**") || path.is_empty() {
                return false;
            }
            if any_depth {
                any_depth = false;
                matched = false;
                while let Some((first, rest)) = path.split_first() {
                    path = rest;
                    match part_matches(part, first) {
                        None => return false,
                        Some(true) => {
                            matched = true;
                            break;
                        }
                        Some(false) => {}
                    }
                }
            } else {
                if part_matches(part, path[0]) != Some(true) {
                    return false;
                }
                matched = true;
                path = &path[1..];
            }
        }
        matched && !(self.directories_only && !is_directory && path.is_empty())
    }
}

/// Whether a part matches; `None` if the pattern is malformed.
fn part_matches(pattern: &str, part: &str) -> Option<bool> {
    glob::matches(pattern.as_bytes(), part.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excluded(rules: &str, paths: &[&str]) -> Vec<String> {
        let rules = IgnoreRules {
            patterns: read_patterns(rules, &RepoPath::root()),
        };
        let excluded = |path: &&&str| rules.excludes(&RepoPath::clamped(path), path.ends_with('/'));
        paths
            .iter()
            .filter(excluded)
            .map(|path| (*path).to_owned())
            .collect()
    }

    #[test]
    fn the_last_pattern_that_matches_decides() {
        let paths = [
            "README.md",
            "kubernetes/",
            "kubernetes/main/a.yaml",
            "kubernetes/other/a.yaml",
        ];
        assert_eq!(
            excluded("# all\n/*\n!/kubernetes/main\n", &paths),
            ["README.md", "kubernetes/", "kubernetes/other/a.yaml"]
        );
    }

    #[test]
    fn names_match_at_any_depth_and_directories_with_all_below() {
        let paths = ["a/docs/x.yaml", "docs", "a/b.md", "a/docs/"];
        assert_eq!(
            excluded("docs/\n*.md", &paths),
            ["a/docs/x.yaml", "a/b.md", "a/docs/"]
        );
        assert_eq!(excluded("**/docs/*.yaml", &paths), ["a/docs/x.yaml"]);
    }

    /// F-905.
    #[test]
    fn patterns_of_ones_own_switch_the_defaults_off() {
        let tree = firstpass_testing::tree("--- x.png\n\n--- .sourceignore\nsecret\n");
        let png = RepoPath::clamped("docs/x.png");
        let sops = RepoPath::clamped("a/.sops.yaml");
        let default = IgnoreRules::of_source(&tree, &[], None);
        assert!(default.excludes(&png, false) && default.excludes(&sops, false));
        let own = IgnoreRules::of_source(&tree, &[RepoPath::clamped(".sourceignore")], None);
        assert!(!own.excludes(&png, false) && own.excludes(&RepoPath::clamped("a/secret/b"), false));
        assert!(own.excludes(&RepoPath::clamped(".git/config"), false));
    }
}
