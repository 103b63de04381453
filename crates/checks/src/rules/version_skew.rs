//! Versions that do not go together.

use std::collections::BTreeSet;

use firstpass_baseline::Release;
use firstpass_diagnostics::{Finding, Severity};
use firstpass_knowledge::Version;
use firstpass_object::ObjectExt;
use firstpass_render::RenderedObject;
use serde_json::Value;

use super::release;
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "version-skew",
    summary: "kubectl, Flux or a component of a version that is not made for the cluster's Kubernetes",
    severity: Severity::Warning,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/version-skew.md"),
    check,
};

/// Images whose tag is the version of the kubectl in them.
const KUBECTL_IMAGES: [&str; 5] = [
    "alpine/kubectl",
    "bitnami/kubectl",
    "k8s.io/kubectl",
    "portainer/kubectl-shell",
    "rancher/kubectl",
];

/// Only a version that somebody has stated can disagree with another.
fn check(input: &Context<'_>) -> Vec<Finding> {
    let assumed = input
        .stage
        .assumptions
        .iter()
        .any(|assumption| assumption.about == "kubernetes");
    if assumed {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = of_flux(input).into_iter().collect();
    let mut seen = BTreeSet::new();
    for (tier, object) in input.cluster.objects() {
        for (path, image) in images(&object.object) {
            let text = image.as_str();
            let skew = kubectl_skew(input, text).or_else(|| component_skew(input, text));
            if let Some(skew) = skew
                .filter(|_| object.is_certain(&["spec"]) && seen.insert((tier.name.clone(), image.clone())))
            {
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                let place = input.repository.locate(&object.origin, &path);
                findings.push(
                    skew.finding()
                        .with_tier(&tier.name)
                        .with_object(&object.id())
                        .at(place),
                );
            }
        }
    }
    for (tier, object) in release::all(input) {
        if let Some(skew) = chart_skew(input, object) {
            let place = input
                .repository
                .locate(&object.origin, &["spec", "chart", "spec", "version"]);
            findings.push(
                skew.finding()
                    .with_tier(&tier.name)
                    .with_object(&object.id())
                    .at(place),
            );
        }
    }
    findings
}

/// Two versions that do not fit.
struct Skew {
    severity: Severity,
    message: String,
    why: String,
    help: String,
}

impl Skew {
    fn finding(self) -> Finding {
        let mut finding = RULE.finding(self.message).with_why(self.why).with_help(self.help);
        finding.severity = self.severity;
        finding
    }
}

fn of_flux(input: &CheckInput<'_>) -> Option<Finding> {
    let flux_is_assumed = input
        .cluster
        .assumptions
        .iter()
        .any(|assumption| assumption.about == "flux" && assumption.subject == "Flux");
    let flux = input.cluster.settings.flux;
    let release = input
        .knowledge
        .flux_release(&flux.to_string())
        .filter(|_| !flux_is_assumed)?;
    let least = Version::parse(&release.kubernetes_min)?;
    let has = Version::parse(&input.stage.kubernetes)?;
    if has >= least {
        return None;
    }
    let root = input
        .cluster
        .roots
        .first()
        .and_then(|root| input.cluster.tier(root))?;
    let finding = Skew {
        severity: Severity::Warning,
        message: format!(
            "Flux {} asks for Kubernetes {} or newer, and the cluster has {}",
            release.minor, release.kubernetes_min, input.stage.kubernetes
        ),
        why: format!(
            "`flux check --pre` and `flux bootstrap` refuse the cluster ({})",
            release.source
        ),
        help: "upgrade Kubernetes first, or stay on an older Flux".to_owned(),
    };
    Some(finding.finding().with_tier(&root.name).at(root.location.clone()))
}

fn kubectl_skew(input: &CheckInput<'_>, image: &str) -> Option<Skew> {
    let (name, tag) = name_and_tag(image)?;
    KUBECTL_IMAGES.iter().find(|known| name.ends_with(**known))?;
    let version = Version::parse(tag).filter(|version| version.0 == 1)?;
    let cluster = u64::from(input.stage.kubernetes_minor());
    (version.1.abs_diff(cluster) > 1).then(|| Skew {
        severity: Severity::Warning,
        message: format!("kubectl 1.{} in `{image}` is for Kubernetes 1.{} to 1.{}, and the cluster has 1.{cluster}", version.1, version.1.saturating_sub(1), version.1 + 1),
        why: "kubectl is supported within one minor version of the API server. Beyond that it may send fields that the server does \
              not know, or miss those that it has (Kubernetes' version skew policy)"
            .to_owned(),
        help: format!("use a kubectl of 1.{cluster}"),
    })
}

fn component_skew(input: &CheckInput<'_>, image: &str) -> Option<Skew> {
    let (name, tag) = name_and_tag(image)?;
    let support = input
        .knowledge
        .support()
        .iter()
        .find(|support| support.images.iter().any(|known| name.ends_with(known.as_str())))?;
    skew(input, support, tag)
}

fn chart_skew(input: &CheckInput<'_>, object: &RenderedObject) -> Option<Skew> {
    let release = Release::of_object(&object.object, &|_| None);
    let chart = release
        .chart
        .name
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_owned();
    let support = input
        .knowledge
        .support()
        .iter()
        .find(|support| support.charts.contains(&chart))?;
    skew(input, support, release.chart.version.as_deref()?)
}

fn skew(input: &CheckInput<'_>, support: &firstpass_knowledge::Support, version: &str) -> Option<Skew> {
    let version = Version::parse(version)?;
    let cluster = Version::parse(&input.stage.kubernetes)?;
    let release = support.releases.iter().find(|release| {
        Version::parse(&release.release).is_some_and(|known| (known.0, known.1) == (version.0, version.1))
    })?;
    let (first, last) = (
        Version::parse(&release.kubernetes.0)?,
        Version::parse(&release.kubernetes.1)?,
    );
    if (first..=last).contains(&cluster) {
        return None;
    }
    Some(Skew {
        // What is newer than anything tested mostly works; what is older than the oldest mostly does not.
        severity: if cluster < first {
            Severity::Warning
        } else {
            Severity::Info
        },
        message: format!(
            "{} {} is made for Kubernetes {} to {}, and the cluster has {}",
            support.component,
            release.release,
            release.kubernetes.0,
            release.kubernetes.1,
            input.stage.kubernetes
        ),
        why: format!("nobody has tested the two together ({})", support.source),
        help: format!(
            "choose a release of {} for Kubernetes {}",
            support.component, input.stage.kubernetes
        ),
    })
}

/// The images of an object's containers, with their paths.
pub(super) fn images(object: &Value) -> Vec<(Vec<String>, String)> {
    let prefix: &[&str] = match object.kind() {
        "Pod" => &["spec"],
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" => &["spec", "template", "spec"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    for list in ["initContainers", "containers"] {
        let path = [prefix, &[list]].concat();
        for (index, container) in object.items_at(&path).iter().enumerate() {
            if let Some(image) = container.text_at(&["image"]) {
                let at = index.to_string();
                let full = path.iter().copied().chain([at.as_str(), "image"]);
                found.push((full.map(str::to_owned).collect(), image.to_owned()));
            }
        }
    }
    found
}

/// An image without its digest, and its tag.
pub(super) fn name_and_tag(image: &str) -> Option<(&str, &str)> {
    let image = image.split('@').next()?;
    let (name, tag) = image.rsplit_once(':')?;
    (!tag.contains('/')).then_some((name, tag))
}
