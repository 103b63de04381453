//! From what is typed after `--faults` to faults: names are looked up in the cluster as it is at the end of its nominal
//! schedule, and a name that is not there is an error that says which is nearest.
//!
//! ```text
//! NAME[=TARGET][@BEGIN][+LASTS]        source-down=GitRepository/flux-system/infra@5m+20m
//! ```

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use firstpass_apiserver::Duration;
use firstpass_flux::names;
use firstpass_object::{GroupKind, ObjectExt, ObjectId, TierName};
use firstpass_sim::faults::{Fault, FaultKind, FluxController};
use firstpass_sim::{Random, World};
use firstpass_yaml::nearest;

use crate::rehearsal::Script;

/// How long a fault lasts that does not say.
const LASTS: Duration = Duration::from_secs(10 * 60);
/// How long a crash loop lasts that does not say.
const CRASH_LASTS: Duration = Duration::from_secs(30 * 60);
/// When a controller restarts, or a webhook dies, that does not say.
const LATER: Duration = Duration::from_secs(5 * 60);
/// So many names are told where none was meant.
const LISTED_MAX: usize = 8;
/// Random faults begin within this time.
const RANDOM_BEGIN_S_MAX: u64 = 15 * 60;
/// Random faults last at most so long.
const RANDOM_LASTS_S_MAX: u64 = 20 * 60;

/// The faults that can be typed, with what each does.
pub const FAULTS: [(&str, &str); 11] = [
    (
        "source-down",
        "[=SOURCE] a source, or all of them, cannot be fetched",
    ),
    (
        "source-slow",
        "[=SOURCE] fetches of a source, or of all of them, take longer than their timeout",
    ),
    (
        "artifact-gone",
        "[=SOURCE] the artifact of a source, or of all of them, cannot be downloaded",
    ),
    ("crash-loop", "=WORKLOAD its pods crash as soon as they run"),
    (
        "slow-image",
        "[=WORKLOAD] its images, or all, are not there before the fault is over",
    ),
    (
        "slow-operator",
        "[=NAME] an operator, or all of them, does nothing",
    ),
    ("stuck", "=OBJECT whoever controls it never reports it well"),
    ("webhook-dies", "=WEBHOOK what serves it crashes"),
    (
        "remote-base-slow",
        "remote bases are not fetched within kustomize's 27 s",
    ),
    (
        "restart-controller",
        "=NAME kustomize-, helm- or source-controller restarts at BEGIN",
    ),
    ("random", "[=N] N faults of these sorts, drawn by the seed"),
];

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Troubles {
    /// Faults of every schedule.
    pub fixed: Vec<Fault>,
    /// How many more each schedule draws.
    pub random: u32,
    /// What those can strike.
    targets: Arc<Targets>,
}

impl Troubles {
    /// The faults of one schedule: those that are asked for, and those that its seed draws.
    pub(crate) fn of_seed(&self, seed: u64) -> Vec<Fault> {
        let drawn = (0..u64::from(self.random)).filter_map(|nth| self.targets.draw(Random::new(seed), nth));
        self.fixed.iter().cloned().chain(drawn).collect()
    }
}

/// A fault that means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultError {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

impl fmt::Display for FaultError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.message, self.help)
    }
}

impl std::error::Error for FaultError {}

/// One fault as it is typed, taken apart.
struct Typed<'t> {
    text: &'t str,
    name: &'t str,
    target: Option<&'t str>,
    begins: Option<Duration>,
    lasts: Option<Option<Duration>>,
}

impl Script {
    /// Reads faults as they are typed, several in one text divided by commas.
    ///
    /// # Errors
    /// If a text is no fault, or names something that the cluster does not have.
    pub fn faults(&self, typed: &[String]) -> Result<Troubles, FaultError> {
        let texts: Vec<&str> = typed
            .iter()
            .flat_map(|text| text.split(','))
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .collect();
        if texts.is_empty() {
            return Ok(Troubles::default());
        }
        let targets = Targets::of(self, &self.nominal_end());
        let mut troubles = Troubles::default();
        for text in texts {
            let typed = Typed::read(text)?;
            if typed.name == "random" {
                let count = typed.target.map_or(Some(1), |count| count.parse().ok());
                troubles.random +=
                    count
                        .filter(|count| (1..=100).contains(count))
                        .ok_or_else(|| FaultError {
                            message: format!("`{text}`: how many random faults?"),
                            help: "write it like `random=3`, up to 100".to_owned(),
                        })?;
            } else {
                troubles.fixed.push(targets.fault(&typed)?);
            }
        }
        troubles.targets = Arc::new(targets);
        Ok(troubles)
    }
}

impl<'t> Typed<'t> {
    fn read(text: &'t str) -> Result<Typed<'t>, FaultError> {
        let (head, lasts) = split(text, '+');
        let (head, begins) = split(head, '@');
        let (name, target) = head
            .split_once('=')
            .map_or((head, None), |(name, target)| (name, Some(target)));
        if !FAULTS.iter().any(|(known, _)| *known == name) {
            let names = FAULTS.iter().map(|(name, _)| *name);
            let near = nearest(name, names.clone()).map(|near| format!("did you mean `{near}`?"));
            return Err(FaultError {
                message: format!("`{name}` is no fault"),
                help: near.unwrap_or_else(|| format!("there are {}", names.collect::<Vec<_>>().join(", "))),
            });
        }
        let mut typed = Typed {
            text,
            name,
            target,
            begins: begins.map(|begins| duration(text, begins)).transpose()?,
            lasts: match lasts {
                None => None,
                Some("never") => Some(None),
                Some(lasts) => Some(Some(duration(text, lasts)?)),
            },
        };
        // `source-down=10m`: a time in place of a target is how long it lasts.
        if let Some(span) = typed
            .target
            .filter(|_| typed.name != "random")
            .and_then(parse_duration)
        {
            typed.target = None;
            typed.lasts = Some(Some(span));
        }
        Ok(typed)
    }

    /// What it is about. `names` are those that there are.
    fn target<N: fmt::Display>(
        &self,
        example: &str,
        names: impl IntoIterator<Item = N>,
    ) -> Result<&'t str, FaultError> {
        self.target
            .filter(|target| !target.is_empty())
            .ok_or_else(|| FaultError {
                message: format!("`{}` does not say of what", self.text),
                help: format!("write it like `{}={example}`; {}", self.name, listed(names)),
            })
    }
}

/// What faults can be about.
#[derive(Debug, Default)]
struct Targets {
    objects: Vec<ObjectId>,
    sources: Vec<ObjectId>,
    workloads: Vec<ObjectId>,
    /// Operators that run in a workload of the cluster.
    operators: Vec<String>,
    /// Webhooks with the workload that serves each.
    webhooks: Vec<(String, ObjectId)>,
    tiers_with_remote_bases: BTreeSet<TierName>,
}

impl Targets {
    fn of(script: &Script, world: &World) -> Targets {
        let objects: Vec<ObjectId> = world.server.all_objects().map(|(id, _)| id.clone()).collect();
        let sources = objects
            .iter()
            .filter(|id| id.group == names::SOURCE_GROUP)
            .cloned()
            .collect();
        let operators: BTreeSet<String> = world
            .operators
            .running()
            .map(|(name, _)| name.to_owned())
            .collect();
        let served = world.server.webhooks().into_iter().filter_map(|webhook| {
            let (namespace, service) = webhook.service?;
            Some((webhook.name, serving(world, &namespace, &service)?))
        });
        let webhooks: BTreeSet<(String, ObjectId)> = served.collect();
        let remote = script
            .findings
            .iter()
            .filter(|finding| finding.rule == "remote-base");
        Targets {
            sources,
            workloads: world.workloads.workloads().keys().cloned().collect(),
            operators: operators.into_iter().collect(),
            webhooks: webhooks.into_iter().collect(),
            tiers_with_remote_bases: remote.filter_map(|finding| finding.tier.clone()).collect(),
            objects,
        }
    }

    fn fault(&self, typed: &Typed<'_>) -> Result<Fault, FaultError> {
        let (begins, lasts) = match typed.name {
            "restart-controller" => (LATER, None),
            "webhook-dies" => (LATER, Some(LASTS)),
            "crash-loop" => (Duration::ZERO, Some(CRASH_LASTS)),
            "stuck" => (Duration::ZERO, None),
            _ => (Duration::ZERO, Some(LASTS)),
        };
        Ok(Fault {
            kind: self.kind(typed)?,
            begins: typed.begins.unwrap_or(begins),
            lasts: typed.lasts.unwrap_or(lasts),
        })
    }

    fn kind(&self, typed: &Typed<'_>) -> Result<FaultKind, FaultError> {
        let optional = |objects: &[ObjectId], what: &str| {
            typed.target.map(|target| find(target, objects, what)).transpose()
        };
        Ok(match typed.name {
            "source-down" => FaultKind::SourceDown(optional(&self.sources, "source")?),
            "source-slow" => FaultKind::SourceSlow(optional(&self.sources, "source")?),
            "artifact-gone" => FaultKind::ArtifactGone(optional(&self.sources, "source")?),
            "slow-image" => FaultKind::SlowImage(optional(&self.workloads, "workload")?),
            "crash-loop" => FaultKind::CrashLoop(find(
                typed.target("Deployment/NAMESPACE/NAME", &self.workloads)?,
                &self.workloads,
                "workload",
            )?),
            "stuck" => FaultKind::Stuck(find(
                typed.target("KIND/NAMESPACE/NAME", &self.objects)?,
                &self.objects,
                "object",
            )?),
            "slow-operator" => FaultKind::SlowOperator(
                typed
                    .target
                    .map(|target| named(target, self.operators.iter().map(String::as_str), "operator"))
                    .transpose()?,
            ),
            "webhook-dies" => {
                let webhooks = &self.webhooks;
                let names = webhooks.iter().map(|(name, _)| name.as_str());
                let name = named(
                    typed.target("NAME", names.clone())?,
                    names,
                    "webhook that a workload of the cluster serves",
                )?;
                let server = webhooks
                    .iter()
                    .find(|(webhook, _)| *webhook == name)
                    .map(|(_, server)| server.clone());
                let server = server.unwrap_or_else(|| ObjectId::new("apps", "Deployment", None, &name));
                FaultKind::WebhookDies { name, server }
            }
            "restart-controller" => {
                let all = FluxController::ALL;
                let name = named(
                    typed.target("kustomize-controller", all.iter().map(|known| known.name()))?,
                    all.iter().map(|known| known.name()),
                    "controller of Flux",
                )?;
                let controller = all
                    .into_iter()
                    .find(|known| known.name() == name)
                    .unwrap_or(FluxController::Kustomize);
                FaultKind::RestartController(controller)
            }
            _ => {
                let tiers = self.tiers_with_remote_bases.clone();
                if tiers.is_empty() {
                    return Err(FaultError {
                        message: format!("`{}`: no tier of this cluster builds a remote base", typed.text),
                        help: "leave it out".to_owned(),
                    });
                }
                FaultKind::RemoteBaseSlow(tiers)
            }
        })
    }

    /// A fault that a seed draws; `None` where the sort that was drawn finds nothing to strike.
    fn draw(&self, random: Random, nth: u64) -> Option<Fault> {
        let draw = |purpose: &str, most: u64| random.between(0, most, "fault", purpose, nth);
        let pick = |objects: &[ObjectId]| {
            let last = u64::try_from(objects.len()).ok()?.checked_sub(1)?;
            objects.get(usize::try_from(draw("target", last)).ok()?).cloned()
        };
        let kind = match draw("sort", 8) {
            6 => FaultKind::SourceSlow(pick(&self.sources)),
            7 => FaultKind::ArtifactGone(pick(&self.sources)),
            0 => FaultKind::SourceDown(pick(&self.sources)),
            1 => FaultKind::CrashLoop(pick(&self.workloads)?),
            2 => FaultKind::SlowImage(pick(&self.workloads)),
            3 => {
                let operators = &self.operators;
                let last = u64::try_from(operators.len()).ok()?.checked_sub(1)?;
                FaultKind::SlowOperator(
                    operators
                        .get(usize::try_from(draw("target", last)).ok()?)
                        .cloned(),
                )
            }
            4 => {
                let webhooks = &self.webhooks;
                let last = u64::try_from(webhooks.len()).ok()?.checked_sub(1)?;
                let (name, server) = webhooks.get(usize::try_from(draw("target", last)).ok()?)?.clone();
                FaultKind::WebhookDies { name, server }
            }
            5 => FaultKind::RestartController(FluxController::ALL[usize::try_from(draw("target", 2)).ok()?]),
            _ => FaultKind::RemoteBaseSlow(
                Some(self.tiers_with_remote_bases.clone()).filter(|tiers| !tiers.is_empty())?,
            ),
        };
        Some(Fault {
            kind,
            begins: Duration::from_secs(draw("begins", RANDOM_BEGIN_S_MAX)),
            lasts: Some(Duration::from_secs(draw("lasts", RANDOM_LASTS_S_MAX))),
        })
    }
}

/// The workload behind a Service: the one of its name, or the one that its selector picks.
fn serving(world: &World, namespace: &str, service: &str) -> Option<ObjectId> {
    let kinds = ["Deployment", "DaemonSet", "StatefulSet"];
    let of_name = kinds.map(|kind| ObjectId::new("apps", kind, Some(namespace), service));
    if let Some(found) = of_name.into_iter().find(|id| world.server.object(id).is_some()) {
        return Some(found);
    }
    let service = world
        .server
        .object(&ObjectId::new("", "Service", Some(namespace), service))?;
    let selector = service.at(&["spec", "selector"])?.as_object();
    let selector = selector.filter(|selector| !selector.is_empty())?;
    let kinds = kinds.map(|kind| GroupKind::new("apps", kind));
    let mut workloads = kinds
        .iter()
        .flat_map(|kind| world.server.objects(kind, Some(namespace)));
    let found = workloads.find(|(_, workload)| {
        let labels = workload.at(&["spec", "template", "metadata", "labels"]);
        selector
            .iter()
            .all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
    });
    found.map(|(id, _)| id.clone())
}

/// The object that is meant: `Kind/name` or `Kind/namespace/name`.
fn find(target: &str, objects: &[ObjectId], what: &str) -> Result<ObjectId, FaultError> {
    if let Some(found) = objects.iter().find(|id| id.to_string() == target) {
        return Ok(found.clone());
    }
    let names: BTreeSet<String> = objects.iter().map(ToString::to_string).collect();
    Err(unknown(target, names.iter().map(String::as_str), what))
}

fn named<'n>(
    target: &str,
    names: impl Iterator<Item = &'n str> + Clone,
    what: &str,
) -> Result<String, FaultError> {
    if names.clone().any(|name| name == target) {
        return Ok(target.to_owned());
    }
    Err(unknown(target, names, what))
}

fn unknown<'n>(target: &str, names: impl Iterator<Item = &'n str> + Clone, what: &str) -> FaultError {
    if target.is_empty() {
        return FaultError {
            message: format!("which {what}?"),
            help: listed(names),
        };
    }
    let near = nearest(target, names.clone());
    // A name without its kind and namespace is what people remember.
    let ends = names
        .clone()
        .find(|name| name.rsplit('/').next() == target.rsplit('/').next());
    let help = match near.or(ends) {
        Some(near) => format!("did you mean `{near}`?"),
        None => listed(names),
    };
    FaultError {
        message: format!("this cluster has no {what} `{target}`"),
        help,
    }
}

/// Some of the names that there are.
fn listed<N: fmt::Display>(names: impl IntoIterator<Item = N>) -> String {
    let mut names = names.into_iter().map(|name| name.to_string());
    let some: Vec<String> = names.by_ref().take(LISTED_MAX).collect();
    let rest = names.count();
    match (some.is_empty(), rest) {
        (true, _) => "this cluster has none".to_owned(),
        (false, 0) => format!("there are {}", some.join(", ")),
        (false, rest) => format!("there are {} and {rest} more", some.join(", ")),
    }
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    text.rsplit_once(at)
        .map_or((text, None), |(head, tail)| (head, Some(tail)))
}

fn duration(text: &str, span: &str) -> Result<Duration, FaultError> {
    parse_duration(span).ok_or_else(|| FaultError {
        message: format!("`{text}`: `{span}` is no time"),
        help: "write times like `90s`, `10m` or `1h30m`".to_owned(),
    })
}

fn parse_duration(text: &str) -> Option<Duration> {
    let parsed: firstpass_flux::Duration = text.parse().ok()?;
    let seconds = parsed.as_secs_f64();
    (0.0..=7.0 * 86_400.0)
        .contains(&seconds)
        .then(|| Duration::from_millis((seconds * 1000.0) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_taken_apart() {
        let typed = Typed::read("crash-loop=Deployment/web/web@5m+1h").unwrap();
        assert_eq!(
            (typed.name, typed.target),
            ("crash-loop", Some("Deployment/web/web"))
        );
        assert_eq!(typed.begins, Some(Duration::from_secs(300)));
        assert_eq!(typed.lasts, Some(Some(Duration::from_secs(3600))));
        let typed = Typed::read("source-down=10m").unwrap();
        assert_eq!(
            (typed.target, typed.lasts),
            (None, Some(Some(Duration::from_secs(600))))
        );
        assert_eq!(Typed::read("stuck=CDI/cdi+never").unwrap().lasts, Some(None));
    }

    #[test]
    fn what_is_no_fault_says_what_is_near() {
        let error = Typed::read("sorce-down").err().unwrap();
        assert_eq!(error.help, "did you mean `source-down`?");
        let error = Typed::read("source-down@soon").err().unwrap();
        assert!(error.message.contains("`soon` is no time"), "{error}");
    }
}
