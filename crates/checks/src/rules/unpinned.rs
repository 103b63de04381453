//! What can change without a commit.

use firstpass_diagnostics::{Finding, Location, Severity};
use firstpass_flux::HelmRelease;
use firstpass_object::ObjectExt;
use firstpass_render::{RenderedObject, Tier, TierSource};

use super::version_skew::{images, name_and_tag};
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "unpinned",
    summary: "an image, a chart or a source that can change without a commit; only where `rules:` asks for it",
    severity: Severity::Info,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/unpinned.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    // Who follows versions on purpose need not hear of it: the configuration has to name the rule.
    if !input.repository.config().rules.contains_key(RULE.name) {
        return Vec::new();
    }
    let objects = input.cluster.objects();
    objects
        .flat_map(|(tier, object)| findings(input, tier, object))
        .collect()
}

/// One thing that is not pinned.
struct Loose {
    what: String,
    help: &'static str,
    place: Option<Location>,
}

fn findings(input: &CheckInput<'_>, tier: &Tier, object: &RenderedObject) -> Vec<Finding> {
    let mut loose: Vec<Loose> = Vec::new();
    let at = |path: &[&str]| input.repository.locate(&object.origin, path);
    for (path, image) in images(&object.object) {
        if is_loose_image(&image) {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            loose.push(Loose {
                what: format!("the image `{image}`"),
                help: "name a version, better still a digest",
                place: at(&path),
            });
        }
    }
    let content = &*object.object;
    if HelmRelease::is(content)
        && let Some(chart) = HelmRelease::read(content).value.spec.chart
    {
        let version = chart.version.as_deref().unwrap_or("*");
        if is_range(version) {
            loose.push(Loose {
                what: format!("the chart `{}` in version `{version}`", chart.chart),
                help: "name one version under `spec.chart.spec.version`",
                place: at(&["spec", "chart", "spec", "version"]),
            });
        }
    }
    if let Some(what) = loose_source(input, object) {
        loose.push(Loose {
            what,
            help: "name a tag, a commit or a digest under `spec.ref`",
            place: at(&["spec", "ref"]),
        });
    }
    let finding = |loose: Loose| {
        RULE.finding(format!("{} of `{}` can change without a commit", loose.what, object.id()))
            .with_tier(&tier.name)
            .with_object(&object.id())
            .with_why("what comes up tomorrow is not what was reviewed today, and two clusters of one revision can differ")
            .with_help(loose.help)
            .at(loose.place)
    };
    loose.into_iter().map(finding).collect()
}

fn is_loose_image(image: &str) -> bool {
    if image.contains('@') || image.contains("${") {
        return false;
    }
    match name_and_tag(image) {
        None => true,
        Some((_, tag)) => matches!(
            tag,
            "latest" | "main" | "master" | "edge" | "nightly" | "stable" | "rolling"
        ),
    }
}

/// Whether a version of a chart is a range.
fn is_range(version: &str) -> bool {
    let version = version.trim();
    let is_wildcard = |part: &str| matches!(part, "x" | "X" | "*");
    version.is_empty()
        || version.contains(['<', '>', '^', '~', '|', ',', ' '])
        || version.split('.').any(is_wildcard)
        || version.split('.').count() < 3
}

/// A source other than the cluster's own that follows a branch or a range.
fn loose_source(input: &CheckInput<'_>, object: &RenderedObject) -> Option<String> {
    let content = &*object.object;
    let id = object.id();
    let is_git = id.is("source.toolkit.fluxcd.io", "GitRepository");
    if !is_git && !id.is("source.toolkit.fluxcd.io", "OCIRepository") || is_own(input, object) {
        return None;
    }
    let text = |key: &str| {
        content
            .text_at(&["spec", "ref", key])
            .filter(|text| !text.is_empty())
    };
    let pinned = text("commit")
        .or_else(|| text("digest"))
        .or_else(|| text("tag").filter(|tag| *tag != "latest"));
    if pinned.is_some() {
        return None;
    }
    let follows = match (text("semver"), text("branch"), text("name")) {
        (Some(range), _, _) => format!("the range `{range}`"),
        (None, Some(branch), _) => format!("the branch `{branch}`"),
        (None, None, Some(name)) => format!("the reference `{name}`"),
        _ if is_git => "the branch `master`".to_owned(),
        _ => "the tag `latest`".to_owned(),
    };
    Some(follows)
}

/// Whether tiers of this repository are built from the source: it has to follow its branch.
fn is_own(input: &CheckInput<'_>, object: &RenderedObject) -> bool {
    let id = object.id();
    input
        .cluster
        .tiers
        .iter()
        .any(|tier| matches!(&tier.source, TierSource::Repository { name, .. } if name.id() == id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_ranges_are_told_apart() {
        for version in ["1.2.3", "v1.2.3", "1.2.3-rc.1"] {
            assert!(!is_range(version), "{version}");
        }
        for version in ["", "*", "1.x", "1.2", ">=1.2.3", "~1.2.3", "1.2.x"] {
            assert!(is_range(version), "{version}");
        }
    }

    #[test]
    fn images_are_pinned_by_a_version_or_a_digest() {
        for image in ["a/b:1.2", "a/b@sha256:00", "registry:5000/a:1"] {
            assert!(!is_loose_image(image), "{image}");
        }
        for image in ["a/b", "a/b:latest", "registry:5000/a"] {
            assert!(is_loose_image(image), "{image}");
        }
    }
}
