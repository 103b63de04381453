//! Which paths of a kustomization file are no paths but addresses: URLs of files, and git repositories.

use firstpass_source::RepoPath;

/// A part of a build that lies elsewhere, and so is missing from it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemoteRef {
    /// The address as written.
    pub text: String,
    /// The kustomization file that names it.
    pub file: RepoPath,
    /// The line of the address, from 1; 0 if it is not known.
    pub line: u32,
    /// The column of the address, from 1; 0 if it is not known.
    pub column: u32,
}

/// Whether a path is the URL of a file.
pub(crate) fn is_url(path: &str) -> bool {
    let scheme = path.split(':').next().unwrap_or_default();
    path.len() > scheme.len() && (scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
}

/// Whether a path of `resources` or `components` names a git repository: by a scheme, or as `user@host:path`, or as
/// something on github.com; and with the two path segments that a repository has.
pub(crate) fn is_repository(path: &str) -> bool {
    if path.starts_with('/') {
        return false;
    }
    let rest = path.split('?').next().unwrap_or_default();
    let rest = strip_ignoring_case(rest, "git::").unwrap_or(rest);
    let schemes = ["ssh://", "https://", "http://", "file://"];
    let (scheme, rest) = schemes
        .iter()
        .find_map(|scheme| Some((*scheme, strip_ignoring_case(rest, scheme)?)))
        .unwrap_or(("", rest));
    let (user, rest) = match rest.split_once('@') {
        Some((user, after)) if is_user(user) => (user, after),
        _ => ("", rest),
    };
    let github = ["github.com/", "github.com:"]
        .iter()
        .any(|host| strip_ignoring_case(rest, host).is_some());
    let scp_style = scheme.is_empty() && (!user.is_empty() || github);
    if scheme.is_empty() && !scp_style {
        return false;
    }
    if scheme == "file://" {
        return !rest.is_empty() && !leaves_repository(rest);
    }
    match host_end(rest, scp_style) {
        Some(end) => names_repository(&rest[end + 1..]),
        None => false,
    }
}

fn strip_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

fn is_user(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Where the host ends: at a slash, or at the colon of an scp-style address.
fn host_end(text: &str, scp_style: bool) -> Option<usize> {
    let slash = text.find('/');
    if !scp_style {
        return slash;
    }
    match (slash, text.find(':')) {
        (Some(slash), Some(colon)) if colon > 0 && colon < slash => Some(colon),
        (None, colon) => colon,
        (slash, _) => slash,
    }
}

/// Whether the path behind the host names a repository and perhaps a directory in it.
fn names_repository(path: &str) -> bool {
    let directory = if let Some((_, after)) = path.split_once("_git/") {
        after.split_once('/').map_or("", |(_, directory)| directory)
    } else if let Some((repository, directory)) = path.split_once("//") {
        if repository.is_empty() {
            return false;
        }
        directory
    } else if let Some(end) = path.find(".git") {
        &path[end + ".git".len()..]
    } else {
        let mut segments = path.splitn(3, '/').skip(1);
        if segments.next().is_none() {
            return false;
        }
        segments.next().unwrap_or_default()
    };
    !leaves_repository(directory)
}

/// Whether a directory lies outside of the repository that it is read from.
fn leaves_repository(directory: &str) -> bool {
    RepoPath::root().join(directory.trim_start_matches('/')).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_repositories() {
        for address in [
            "https://github.com/owner/name",
            "https://github.com/owner/name//deploy?ref=v1",
            "github.com/owner/name/deploy?ref=v1",
            "git@github.com:owner/name.git//deploy",
            "ssh://git@example.com/owner/name.git?ref=main",
            "git::https://example.com/owner/name",
            "https://dev.azure.com/org/project/_git/repo/deploy",
            "file:///srv/git/name.git",
        ] {
            assert!(is_repository(address), "{address}");
        }
    }

    #[test]
    fn paths_that_are_no_repositories() {
        for path in [
            "../base",
            "base",
            "/absolute/path",
            "deploy.yaml",
            "github.com",
            "https://example.com/one",
            "example.com/owner/name",
            "https://github.com/owner/name//../../other",
        ] {
            assert!(!is_repository(path), "{path}");
        }
    }

    #[test]
    fn urls() {
        assert!(is_url("https://example.com/crds.yaml"));
        assert!(is_url("HTTP://example.com/crds.yaml"));
        assert!(!is_url("http"));
        assert!(!is_url("ssh://example.com/owner/name"));
        assert!(!is_url("https-proxy.yaml"));
    }
}
