//! Which Flux runs in the cluster, and how it is set up: from options, configuration and the repository, in this order.

use firstpass_diagnostics::Assumption;
use firstpass_flux::{
    Components, Controller, ControllerSettings, FluxInstance, FluxVersion, Kustomization, KustomizeGate,
    Patch, SaidBy, SourceName,
};
use firstpass_object::ObjectExt;
use firstpass_source::RepoPath;
use regex::Regex;
use serde_json::Value;

use crate::{Entry, Options, Outcome, Repository, Sync, Tier, TierSource};

/// So much of a file with Flux's own manifests is read to find its version.
const HEAD_BYTES_MAX: usize = 4096;

/// What was found out.
pub(crate) struct Detected {
    pub(crate) settings: ControllerSettings,
    pub(crate) assumptions: Vec<Assumption>,
}

/// Looks at everything known so far; `tiers` is empty before the first rendering.
pub(crate) fn detect(repository: &Repository, entry: &Entry, options: &Options, tiers: &[Tier]) -> Detected {
    let mut assumptions = Vec::new();
    let version = version(repository, entry, options, tiers, &mut assumptions);
    let mut settings = ControllerSettings::new(version.clamped());
    settings.components = components(repository, entry);
    let mut explicit_gate = false;
    let mut take = |settings: &mut ControllerSettings, controller: Controller, args: &[String]| {
        explicit_gate |= args
            .iter()
            .any(|argument| argument.contains(KustomizeGate::ExternalArtifact.as_str()));
        let problems = settings.apply_args(controller, args.iter().map(String::as_str));
        for problem in problems {
            assumptions.push(Assumption {
                about: "flux".to_owned(),
                subject: problem.flag,
                assumed: format!("the flag changes nothing: {}", problem.message),
                source: "default".to_owned(),
            });
        }
    };
    for tier in tiers {
        for object in tier.objects() {
            if let Some((controller, args)) = deployment_args(&object.object) {
                take(&mut settings, controller, &args);
            }
        }
        if installs_flux(tier) {
            for (controller, args) in args_of_patches(&tier.kustomization.spec.patches) {
                take(&mut settings, controller, &args);
            }
        }
    }
    if let Some(instance) = instance_of(repository, entry).or_else(|| instance_for_all(repository)) {
        for (controller, args) in args_of_patches(&instance.patches) {
            take(&mut settings, controller, &args);
        }
        settings.no_cross_namespace_refs |= instance.multitenant;
    }
    let generated = tiers
        .iter()
        .any(|tier| matches!(tier.source, TierSource::Generated { .. }));
    if generated && !explicit_gate {
        settings.set_gate(KustomizeGate::ExternalArtifact, true);
        assumptions.push(Assumption {
            about: "flux".to_owned(),
            subject: "feature gate ExternalArtifact".to_owned(),
            assumed: "on, since tiers are built from ExternalArtifacts".to_owned(),
            source: "default".to_owned(),
        });
    }
    Detected {
        settings,
        assumptions,
    }
}

fn version(
    repository: &Repository,
    entry: &Entry,
    options: &Options,
    tiers: &[Tier],
    assumptions: &mut Vec<Assumption>,
) -> FluxVersion {
    let parse = |text: &str| text.parse::<FluxVersion>().ok();
    let configured = entry.config.flux.as_deref().and_then(parse);
    let pinned = || {
        instance_of(repository, entry)
            .and_then(FluxInstance::flux_version)
            .or_else(|| components_version(repository, entry))
            .or_else(|| tiers.iter().find_map(manifests_version))
            .or_else(|| any_instance_version(repository))
            .or_else(|| installed_version(repository, entry))
    };
    if let Some(version) = options.flux.or(configured).or_else(pinned) {
        return version;
    }
    assumptions.push(Assumption {
        about: "flux".to_owned(),
        subject: "Flux".to_owned(),
        assumed: format!("version {}", FluxVersion::NEWEST),
        source: "default: nothing in the repository pins a version".to_owned(),
    });
    FluxVersion::NEWEST
}

/// The controllers that are installed: those of the FluxInstance, or of the bootstrap's own manifests.
fn components(repository: &Repository, entry: &Entry) -> Option<Components> {
    if let Some(instance) = instance_of(repository, entry) {
        return Some(Components::new(&instance.components, SaidBy::Instance));
    }
    let (file, head) = components_head(repository, entry)?;
    let line = head
        .lines()
        .find_map(|line| line.strip_prefix("# Components: "))?;
    let names: Vec<String> = line.split(',').map(|name| name.trim().to_owned()).collect();
    Some(Components::new(
        &names,
        SaidBy::Bootstrap(file.as_str().to_owned()),
    ))
}

/// The FluxInstance that syncs the entry, or the only description that lies below it.
fn instance_of<'r>(repository: &'r Repository, entry: &'r Entry) -> Option<&'r FluxInstance> {
    if let Sync::Instance { instance, .. } = &entry.sync {
        return Some(instance);
    }
    let below = |file: &str| RepoPath::clamped(file).is_within(&entry.directory);
    let found = repository
        .survey()
        .instances
        .iter()
        .find(|found| below(&found.origin.file));
    found.map(|found| &found.what)
}

/// The description of Flux that lies elsewhere, such as in a bootstrap stage, if there is only one way to set it up.
fn instance_for_all(repository: &Repository) -> Option<&FluxInstance> {
    let mut instances = repository.survey().instances.iter().map(|found| &found.what);
    let first = instances.next()?;
    let same =
        |other: &FluxInstance| other.patches == first.patches && other.multitenant == first.multitenant;
    instances.all(same).then_some(first)
}

/// Values of the flux-instance chart anywhere, such as those of a bootstrap stage, if they agree.
fn any_instance_version(repository: &Repository) -> Option<FluxVersion> {
    let instances = repository.survey().instances.iter();
    let mut versions: Vec<FluxVersion> = instances.filter_map(|found| found.what.flux_version()).collect();
    versions.sort_unstable();
    versions.dedup();
    (versions.len() == 1).then(|| versions[0])
}

/// A bootstrap that installs Flux from its published manifests: the one nearest to the entry, if all that are as near agree.
fn installed_version(repository: &Repository, entry: &Entry) -> Option<FluxVersion> {
    let nearness = |file: &RepoPath| {
        let parts = file.parts().zip(entry.directory.parts());
        parts.take_while(|(own, other)| own == other).count()
    };
    let installs = &repository.survey().installs;
    let nearest = installs.iter().map(|(file, _)| nearness(file)).max()?;
    let near = installs.iter().filter(|(file, _)| nearness(file) == nearest);
    let mut versions: Vec<FluxVersion> = near.map(|(_, version)| *version).collect();
    versions.sort_unstable();
    versions.dedup();
    (versions.len() == 1).then(|| versions[0])
}

/// `# Flux Version: v2.9.3` at the head of the bootstrap's own manifests.
fn components_version(repository: &Repository, entry: &Entry) -> Option<FluxVersion> {
    let (_, head) = components_head(repository, entry)?;
    let markers = ["# Flux Version: ", "app.kubernetes.io/version: "];
    markers.iter().find_map(|marker| {
        let line = head.lines().find(|line| line.contains(marker))?;
        line.rsplit(' ').next()?.parse().ok()
    })
}

/// The bootstrap's own manifests, and how they begin.
fn components_head(repository: &Repository, entry: &Entry) -> Option<(RepoPath, String)> {
    let file = entry.directory.join_clamped("flux-system/gotk-components.yaml");
    let bytes = repository.tree().read(&file).ok()?;
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD_BYTES_MAX)]).into_owned();
    Some((file, head))
}

/// A tier that installs Flux from its published manifests, by tag.
fn manifests_version(tier: &Tier) -> Option<FluxVersion> {
    tier.remote
        .iter()
        .filter(|part| part.text.contains("fluxcd/flux2"))
        .find_map(|part| {
            part.text
                .rsplit(['=', '@', '/'])
                .find_map(|word| word.trim_start_matches('v').parse().ok())
        })
        .or_else(|| {
            let objects = tier.objects().iter();
            objects
                .filter(|object| {
                    let url = object.object.text_at(&["spec", "url"]).unwrap_or_default();
                    url.ends_with("fluxcd/flux-manifests")
                })
                .find_map(|object| object.object.text_at(&["spec", "ref", "tag"])?.parse().ok())
        })
}

/// Whether a tier applies Flux's own manifests from where Flux publishes them.
fn installs_flux(tier: &Tier) -> bool {
    let foreign = matches!(&tier.source, TierSource::Foreign { url: Some(url), .. } if url.contains("fluxcd/flux-manifests"));
    let remote = tier.remote.iter().any(|part| part.text.contains("fluxcd/flux2"));
    foreign || remote && matches!(tier.outcome, Outcome::Rendered(_))
}

/// The arguments of a controller's Deployment.
fn deployment_args(object: &Value) -> Option<(Controller, Vec<String>)> {
    if object.kind() != "Deployment" {
        return None;
    }
    let controller = Controller::of_deployment(object.name())?;
    let containers = object.items_at(&["spec", "template", "spec", "containers"]);
    let ours = containers.iter().find(|container| {
        let image = container.text_at(&["image"]).unwrap_or_default();
        image.contains("fluxcd/") || image.contains(object.name())
    })?;
    Some((controller, texts(ours.items_at(&["args"]))))
}

/// The arguments that patches add to controllers, by JSON patch or strategic merge.
fn args_of_patches(patches: &[Patch]) -> Vec<(Controller, Vec<String>)> {
    let mut found = Vec::new();
    for patch in patches {
        let Ok(root) = firstpass_yaml::parse_one(&patch.patch) else {
            continue;
        };
        let Ok(value) = root.to_json() else {
            continue;
        };
        let args = match &value {
            Value::Array(operations) => operations.iter().flat_map(operation_args).collect(),
            patch => {
                let containers = patch.items_at(&["spec", "template", "spec", "containers"]);
                containers
                    .iter()
                    .flat_map(|container| texts(container.items_at(&["args"])))
                    .collect()
            }
        };
        let named = patch
            .target
            .as_ref()
            .and_then(|target| target.name.clone())
            .filter(|name| !name.is_empty());
        let kind = patch.target.as_ref().and_then(|target| target.kind.clone());
        if kind.is_some_and(|kind| kind != "Deployment") {
            continue;
        }
        let name = named.or_else(|| patch.target.is_none().then(|| value.name().to_owned()));
        for (deployment, controller) in [
            ("kustomize-controller", Controller::Kustomize),
            ("helm-controller", Controller::Helm),
            ("source-controller", Controller::Source),
        ] {
            if name.as_deref().is_none_or(|name| matches_name(name, deployment)) {
                found.push((controller, Vec::clone(&args)));
            }
        }
    }
    found
}

fn operation_args(operation: &Value) -> Vec<String> {
    let path = operation.text_at(&["path"]).unwrap_or_default();
    let adds = matches!(operation.text_at(&["op"]), Some("add" | "replace"));
    match operation.get("value") {
        Some(Value::String(text)) if adds && path.contains("/args/") => vec![text.clone()],
        Some(Value::Array(items)) if adds && path.ends_with("/args") => texts(items),
        _ => Vec::new(),
    }
}

/// Names in targets are anchored regular expressions.
fn matches_name(pattern: &str, name: &str) -> bool {
    Regex::new(&format!("^(?:{pattern})$")).is_ok_and(|pattern| pattern.is_match(name))
}

fn texts(items: &[Value]) -> Vec<String> {
    items
        .iter()
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

/// Whether a tier may use its source at all: kinds behind a gate, and namespaces that are kept apart (F-131).
pub(crate) fn source_is_denied(
    tier: &Kustomization,
    source: &SourceName,
    settings: &ControllerSettings,
) -> bool {
    let foreign_namespace = settings.no_cross_namespace_refs && source.namespace != tier.name.namespace;
    let gated = source.kind == firstpass_flux::SourceKind::ExternalArtifact
        && !settings.gate(KustomizeGate::ExternalArtifact);
    foreign_namespace || gated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_say_how_controllers_run() {
        let patch = |text: &str, name: &str| {
            let target = serde_json::json!({"patch": text, "target": {"kind": "Deployment", "name": name}});
            let object = serde_json::json!({"spec": {"patches": [target]}});
            Kustomization::read(&object).value.spec.patches
        };
        let json = "- op: add\n  path: /spec/template/spec/containers/0/args/-\n  value: --concurrent=10\n";
        let found = args_of_patches(&patch(json, "(kustomize-controller|helm-controller)"));
        assert_eq!(
            found,
            [
                (Controller::Kustomize, vec!["--concurrent=10".to_owned()]),
                (Controller::Helm, vec!["--concurrent=10".to_owned()])
            ]
        );
        let merge = "kind: Deployment\nmetadata: {name: x}\nspec: {template: {spec: {containers: [{name: manager, args: [--a=b]}]}}}\n";
        assert_eq!(
            args_of_patches(&patch(merge, "source-controller")),
            [(Controller::Source, vec!["--a=b".to_owned()])]
        );
    }
}
