//! An API version that is on its way out.

use std::collections::BTreeMap;

use firstpass_diagnostics::{Finding, Severity};
use firstpass_object::{ObjectExt, ObjectId};
use firstpass_render::{RenderedObject, Tier};
use firstpass_schema::kinds::{self, KUBERNETES_MINORS};

use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status, wording};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "api-version-deprecated",
    summary: "an API version that this Kubernetes or Flux still serves and a later one does not",
    severity: Severity::Info,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/api-version-deprecated.md"),
    check,
};

/// What is known about a version's end.
struct Ending {
    /// Who takes it away, and when: `Kubernetes 1.37`.
    gone_in: Option<String>,
    /// What to write instead.
    instead: String,
    source: String,
}

fn check(input: &Context<'_>) -> Vec<Finding> {
    // One finding per tier and kind: who uses an old version tends to do it everywhere.
    let mut found: Vec<(&Tier, &RenderedObject, Ending, Vec<ObjectId>)> = Vec::new();
    let mut known: BTreeMap<(usize, String, String), usize> = BTreeMap::new();
    for (index, tier) in input.cluster.tiers.iter().enumerate() {
        for object in tier.objects() {
            let content = &*object.object;
            let Some(ending) = ending(input, object) else {
                continue;
            };
            let key = (index, content.api_version().to_owned(), content.kind().to_owned());
            if let Some(at) = known.get(&key) {
                found[*at].3.push(object.id());
            } else {
                known.insert(key, found.len());
                found.push((tier, object, ending, Vec::new()));
            }
        }
    }
    found
        .into_iter()
        .map(|(tier, object, ending, more)| finding(input, tier, object, &ending, &more))
        .collect()
}

fn ending(input: &CheckInput<'_>, object: &RenderedObject) -> Option<Ending> {
    let content = &*object.object;
    let (group, version) = content
        .api_version()
        .split_once('/')
        .unwrap_or(("", content.api_version()));
    let kind = content.kind();
    if group.ends_with(".fluxcd.io") {
        return of_flux(input, group, version, kind);
    }
    let minor = input.stage.kubernetes_minor();
    let listed = input
        .knowledge
        .deprecation(group, version, kind)
        .filter(|entry| entry.since_minor() <= minor);
    if let Some(entry) = listed {
        return Some(Ending {
            gone_in: None,
            instead: entry.instead.clone(),
            source: entry.source.clone(),
        });
    }
    let last = kinds::kind(group, version, kind)?.last_minor()?;
    (last >= minor && last < *KUBERNETES_MINORS.end()).then(|| {
        let instead = kinds::versions_of(group, kind)
            .iter()
            .filter(|row| row.version != version && row.last_minor().is_none())
            .map(|row| format!("`{group}/{}`", row.version))
            .next_back();
        Ending {
            gone_in: Some(format!("Kubernetes 1.{}", last + 1)),
            instead: instead.unwrap_or_else(|| "another kind".to_owned()),
            source: "Kubernetes' own API documents".to_owned(),
        }
    })
}

/// Flux serves older versions of its kinds for a while beside the one that it stores.
fn of_flux(input: &CheckInput<'_>, group: &str, version: &str, kind: &str) -> Option<Ending> {
    let flux = input.cluster.settings.flux;
    let release = input.knowledge.flux_release(&flux.to_string())?;
    let served = release.served(group, kind);
    let stored = served.first().filter(|stored| *stored != version)?;
    served.iter().find(|known| *known == version)?;
    let later = input
        .knowledge
        .flux_releases()
        .skip_while(|other| other.minor != release.minor)
        .skip(1);
    let mut later = later;
    let gone = later.find(|other| !other.served(group, kind).iter().any(|known| known == version));
    Some(Ending {
        gone_in: gone.map(|release| format!("Flux {}", release.minor)),
        instead: format!("`{group}/{stored}`"),
        source: release.file.clone(),
    })
}

fn finding(
    input: &CheckInput<'_>,
    tier: &Tier,
    object: &RenderedObject,
    ending: &Ending,
    more: &[ObjectId],
) -> Finding {
    let content = &*object.object;
    let ids: Vec<ObjectId> = std::iter::once(object.id()).chain(more.iter().cloned()).collect();
    let end = match &ending.gone_in {
        Some(when) => format!("is gone in {when}"),
        None => "is deprecated".to_owned(),
    };
    RULE
        .finding(format!("`{}` of `{}` {end}", content.kind(), content.api_version()))
        .with_tier(&tier.name)
        .with_object(&object.id())
        .with_related(more.iter().map(ToString::to_string))
        .with_why(format!(
            "{} {} written in it. The version works here and now; after the upgrade the dry-run fails with `no matches for kind`, \
             and with it the whole pass ({})",
            wording::objects(&ids.iter().collect::<Vec<_>>()),
            if ids.len() == 1 { "is" } else { "are" },
            ending.source
        ))
        .with_help(format!("write {} before the upgrade", ending.instead))
        .at(input.repository.locate(&object.origin, &["apiVersion"]))
}
