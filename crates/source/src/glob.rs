//! Files by pattern, as configuration names them.

use crate::{RepoPath, Tree};

/// The files that a pattern names: `*` and `?` within one part of a path, `**` over any number of parts.
pub fn glob(tree: &dyn Tree, pattern: &str) -> Vec<RepoPath> {
    let parts: Vec<&str> = pattern
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let mut files = Vec::new();
    collect_files(tree, &RepoPath::root(), &parts, &mut files);
    files.sort();
    files.dedup();
    files
}

fn collect_files(tree: &dyn Tree, directory: &RepoPath, parts: &[&str], files: &mut Vec<RepoPath>) {
    let Some((part, rest)) = parts.split_first() else {
        return;
    };
    if *part == "**" {
        collect_files(tree, directory, rest, files);
    }
    for (name, _) in tree.list(directory).unwrap_or_default() {
        let path = directory.join_clamped(&name);
        let below = if *part == "**" { parts } else { rest };
        if *part != "**" && !matches(part, &name) {
            continue;
        }
        if tree.is_directory(&path) {
            collect_files(tree, &path, below, files);
        } else if rest.is_empty() && *part != "**" {
            files.push(path);
        }
    }
}

/// Whether a name fits a pattern of `*` and `?`.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut position, mut star) = (0, 0, None);
    while position < name.len() {
        if at < pattern.len() && (pattern[at] == '?' || pattern[at] == name[position]) && pattern[at] != '*' {
            at += 1;
            position += 1;
        } else if at < pattern.len() && pattern[at] == '*' {
            star = Some((at, position));
            at += 1;
        } else if let Some((star_at, taken)) = star {
            star = Some((star_at, taken + 1));
            at = star_at + 1;
            position = taken + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|character| *character == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_files() {
        let mut tree = crate::MemoryTree::new();
        for path in ["a/x.yaml", "a/b/y.yaml", "a/b/z.txt", "c.yaml"] {
            tree.insert(path, "");
        }
        let names =
            |pattern: &str| -> Vec<String> { glob(&tree, pattern).iter().map(ToString::to_string).collect() };
        assert_eq!(names("a/*.yaml"), ["a/x.yaml"]);
        assert_eq!(names("**/*.yaml"), ["a/b/y.yaml", "a/x.yaml", "c.yaml"]);
        assert_eq!(names("./a/b/?.*"), ["a/b/y.yaml", "a/b/z.txt"]);
    }
}
