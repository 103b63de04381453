//! How the controllers are set up: version, feature gates and the flags that change what they do (reference sections
//! 12, 13 and 17.7).

use std::collections::BTreeMap;
use std::fmt;

use crate::{Components, Duration, FluxVersion};

/// Which controller a flag belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// kustomize-controller.
    Kustomize,
    /// helm-controller.
    Helm,
    /// source-controller.
    Source,
}

/// Feature gates of kustomize-controller (F-1200 to F-1211).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KustomizeGate {
    /// An undefined variable fails the build (F-650).
    StrictPostBuildSubstitutions,
    /// Health checks read every object live.
    DisableStatusPollerCache,
    /// A failed object does not end the health wait.
    DisableFailFastBehavior,
    /// A new event ends the health wait (F-161).
    CancelHealthCheckOnNewRevision,
    /// `readyExpr` adds to the built-in dependency check (F-124).
    AdditiveCelDependencyCheck,
    /// Sources of kind ExternalArtifact are allowed (F-131).
    ExternalArtifact,
    /// Log format only.
    GroupChangeLog,
    /// Rewrites managed fields before an apply.
    MigrateApiVersion,
    /// Sources are read live.
    DirectSourceFetch,
    /// ConfigMaps and Secrets do not wake their users (F-107).
    DisableConfigWatchers,
    /// ConfigMaps and Secrets are read from a cache.
    CacheSecretsAndConfigMaps,
    /// Workload identity per object.
    ObjectLevelWorkloadIdentity,
}

/// Feature gates of helm-controller that change what a rehearsal sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HelmGate {
    /// `readyExpr` adds to the built-in dependency check.
    AdditiveCelDependencyCheck,
    /// Charts from ExternalArtifacts.
    ExternalArtifact,
    /// ConfigMaps and Secrets do not wake their users.
    DisableConfigWatchers,
    /// A new event ends the wait.
    CancelHealthCheckOnNewRevision,
    /// Failed releases are retried unless the release says otherwise (F-1783).
    DefaultToRetryOnFailure,
    /// Helm 3's apply and waiter (F-1780).
    UseHelm3Defaults,
    /// The digest of an OCI chart is no part of its version (F-1013).
    DisableChartDigestTracking,
}

/// A flag that firstpass could not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsProblem {
    /// The flag as written.
    pub flag: String,
    /// What is wrong with it.
    pub message: String,
}

/// How Flux runs in a cluster: its version, the gates that deviate from the version's defaults, and its flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerSettings {
    /// The release.
    pub flux: FluxVersion,
    /// The controllers that are installed; `None` where nothing says which, and all are taken to be there.
    pub components: Option<Components>,
    /// `--concurrent` of kustomize-controller (F-1100).
    pub kustomize_concurrent: u32,
    /// `--concurrent` of helm-controller.
    pub helm_concurrent: u32,
    /// `--concurrent` of source-controller.
    pub source_concurrent: u32,
    /// `--requeue-dependency` of kustomize-controller (F-1102).
    pub kustomize_requeue_dependency: Duration,
    /// `--requeue-dependency` of helm-controller.
    pub helm_requeue_dependency: Duration,
    /// `--interval-jitter-percentage` (F-1103).
    pub interval_jitter_percent: u32,
    /// `--min-retry-delay` (F-1105).
    pub retry_delay_least: Duration,
    /// `--max-retry-delay` (F-1105).
    pub retry_delay_most: Duration,
    /// `--no-remote-bases` of kustomize-controller (F-812).
    pub no_remote_bases: bool,
    /// `--no-cross-namespace-refs` of kustomize-controller (F-131).
    pub no_cross_namespace_refs: bool,
    /// `--default-service-account` of kustomize-controller.
    pub default_service_account: Option<String>,
    /// `--custom-apply-stage-kinds`, since 2.8 (F-223).
    pub custom_apply_stage_kinds: Vec<String>,
    /// `--override-manager`: field managers whose fields Flux takes over (F-246).
    pub override_managers: Vec<String>,
    /// `--sops-age-secret`, since 2.7 (F-707).
    pub sops_age_secret: Option<String>,
    kustomize_gates: BTreeMap<KustomizeGate, bool>,
    helm_gates: BTreeMap<HelmGate, bool>,
}

impl KustomizeGate {
    /// All gates.
    pub const ALL: [KustomizeGate; 12] = [
        KustomizeGate::StrictPostBuildSubstitutions,
        KustomizeGate::DisableStatusPollerCache,
        KustomizeGate::DisableFailFastBehavior,
        KustomizeGate::CancelHealthCheckOnNewRevision,
        KustomizeGate::AdditiveCelDependencyCheck,
        KustomizeGate::ExternalArtifact,
        KustomizeGate::GroupChangeLog,
        KustomizeGate::MigrateApiVersion,
        KustomizeGate::DirectSourceFetch,
        KustomizeGate::DisableConfigWatchers,
        KustomizeGate::CacheSecretsAndConfigMaps,
        KustomizeGate::ObjectLevelWorkloadIdentity,
    ];

    /// The gate as `--feature-gates` spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            KustomizeGate::StrictPostBuildSubstitutions => "StrictPostBuildSubstitutions",
            KustomizeGate::DisableStatusPollerCache => "DisableStatusPollerCache",
            KustomizeGate::DisableFailFastBehavior => "DisableFailFastBehavior",
            KustomizeGate::CancelHealthCheckOnNewRevision => "CancelHealthCheckOnNewRevision",
            KustomizeGate::AdditiveCelDependencyCheck => "AdditiveCELDependencyCheck",
            KustomizeGate::ExternalArtifact => "ExternalArtifact",
            KustomizeGate::GroupChangeLog => "GroupChangeLog",
            KustomizeGate::MigrateApiVersion => "MigrateAPIVersion",
            KustomizeGate::DirectSourceFetch => "DirectSourceFetch",
            KustomizeGate::DisableConfigWatchers => "DisableConfigWatchers",
            KustomizeGate::CacheSecretsAndConfigMaps => "CacheSecretsAndConfigMaps",
            KustomizeGate::ObjectLevelWorkloadIdentity => "ObjectLevelWorkloadIdentity",
        }
    }

    /// Whether the gate is on unless somebody says otherwise (F-1760, F-1786).
    pub fn default_in(self, flux: FluxVersion) -> bool {
        match self {
            KustomizeGate::StrictPostBuildSubstitutions => flux.at_least(9),
            KustomizeGate::DisableStatusPollerCache => true,
            _ => false,
        }
    }
}

impl HelmGate {
    /// All gates.
    pub const ALL: [HelmGate; 7] = [
        HelmGate::AdditiveCelDependencyCheck,
        HelmGate::ExternalArtifact,
        HelmGate::DisableConfigWatchers,
        HelmGate::CancelHealthCheckOnNewRevision,
        HelmGate::DefaultToRetryOnFailure,
        HelmGate::UseHelm3Defaults,
        HelmGate::DisableChartDigestTracking,
    ];

    /// The gate as `--feature-gates` spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            HelmGate::AdditiveCelDependencyCheck => "AdditiveCELDependencyCheck",
            HelmGate::ExternalArtifact => "ExternalArtifact",
            HelmGate::DisableConfigWatchers => "DisableConfigWatchers",
            HelmGate::CancelHealthCheckOnNewRevision => "CancelHealthCheckOnNewRevision",
            HelmGate::DefaultToRetryOnFailure => "DefaultToRetryOnFailure",
            HelmGate::UseHelm3Defaults => "UseHelm3Defaults",
            HelmGate::DisableChartDigestTracking => "DisableChartDigestTracking",
        }
    }
}

impl Controller {
    /// The controller whose Deployment has this name.
    pub fn of_deployment(name: &str) -> Option<Controller> {
        match name {
            "kustomize-controller" => Some(Controller::Kustomize),
            "helm-controller" => Some(Controller::Helm),
            "source-controller" => Some(Controller::Source),
            _ => None,
        }
    }
}

impl ControllerSettings {
    /// The defaults of a release.
    pub fn new(flux: FluxVersion) -> ControllerSettings {
        ControllerSettings {
            flux,
            components: None,
            kustomize_concurrent: 4,
            helm_concurrent: 4,
            source_concurrent: 2,
            kustomize_requeue_dependency: Duration::from_secs(30),
            helm_requeue_dependency: Duration::from_secs(30),
            interval_jitter_percent: 5,
            retry_delay_least: Duration::from_millis(750),
            retry_delay_most: Duration::from_secs(15 * 60),
            no_remote_bases: false,
            no_cross_namespace_refs: false,
            default_service_account: None,
            custom_apply_stage_kinds: Vec::new(),
            override_managers: Vec::new(),
            sops_age_secret: None,
            kustomize_gates: BTreeMap::new(),
            helm_gates: BTreeMap::new(),
        }
    }

    /// Whether a gate of kustomize-controller is on.
    pub fn gate(&self, gate: KustomizeGate) -> bool {
        self.kustomize_gates
            .get(&gate)
            .copied()
            .unwrap_or_else(|| gate.default_in(self.flux))
    }

    /// Whether a gate of helm-controller is on.
    pub fn helm_gate(&self, gate: HelmGate) -> bool {
        self.helm_gates.get(&gate).copied().unwrap_or_default()
    }

    /// Turns a gate of kustomize-controller on or off.
    pub fn set_gate(&mut self, gate: KustomizeGate, on: bool) {
        self.kustomize_gates.insert(gate, on);
    }

    /// Turns a gate of helm-controller on or off.
    pub fn set_helm_gate(&mut self, gate: HelmGate, on: bool) {
        self.helm_gates.insert(gate, on);
    }

    /// Takes over the arguments of a controller's container. Flags that change nothing here are passed over; of a flag
    /// that is given twice the last one counts, gates add up.
    pub fn apply_args<'a>(
        &mut self,
        controller: Controller,
        args: impl IntoIterator<Item = &'a str>,
    ) -> Vec<SettingsProblem> {
        let mut problems = Vec::new();
        for argument in args {
            let Some(flag) = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-')) else {
                continue;
            };
            let (name, value) = flag.split_once('=').unwrap_or((flag, "true"));
            if let Err(message) = self.apply_flag(controller, name, value) {
                problems.push(SettingsProblem {
                    flag: argument.to_owned(),
                    message,
                });
            }
        }
        problems
    }

    fn apply_flag(&mut self, controller: Controller, name: &str, value: &str) -> Result<(), String> {
        let number = || {
            value
                .parse::<u32>()
                .map_err(|_| format!("`{value}` is no number"))
        };
        let duration = || value.parse::<Duration>().map_err(|error| error.to_string());
        let flag = || {
            value
                .parse::<bool>()
                .map_err(|_| format!("`{value}` is neither true nor false"))
        };
        let text = || Some(value.to_owned()).filter(|value| !value.is_empty());
        match (controller, name) {
            (controller, "feature-gates") => return self.apply_gates(controller, value),
            (Controller::Kustomize, "concurrent") => self.kustomize_concurrent = number()?,
            (Controller::Helm, "concurrent") => self.helm_concurrent = number()?,
            (Controller::Source, "concurrent") => self.source_concurrent = number()?,
            (Controller::Kustomize, "requeue-dependency") => self.kustomize_requeue_dependency = duration()?,
            (Controller::Helm, "requeue-dependency") => self.helm_requeue_dependency = duration()?,
            (Controller::Kustomize, "interval-jitter-percentage") => self.interval_jitter_percent = number()?,
            (Controller::Kustomize, "min-retry-delay") => self.retry_delay_least = duration()?,
            (Controller::Kustomize, "max-retry-delay") => self.retry_delay_most = duration()?,
            (Controller::Kustomize, "no-remote-bases") => self.no_remote_bases = flag()?,
            (Controller::Kustomize, "no-cross-namespace-refs") => self.no_cross_namespace_refs = flag()?,
            (Controller::Kustomize, "default-service-account") => self.default_service_account = text(),
            (Controller::Kustomize, "sops-age-secret") => self.sops_age_secret = text(),
            (Controller::Kustomize, "override-manager") => {
                let names = value.split(',').filter(|name| !name.is_empty());
                self.override_managers.extend(names.map(str::to_owned));
            }
            (Controller::Kustomize, "custom-apply-stage-kinds") => {
                self.custom_apply_stage_kinds = value
                    .split(',')
                    .filter(|kind| !kind.is_empty())
                    .map(str::to_owned)
                    .collect();
            }
            _ => {}
        }
        Ok(())
    }

    fn apply_gates(&mut self, controller: Controller, value: &str) -> Result<(), String> {
        for pair in value.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (name, on) = pair
                .split_once('=')
                .ok_or_else(|| format!("`{pair}` lacks `=true` or `=false`"))?;
            let on: bool = on
                .parse()
                .map_err(|_| format!("`{on}` is neither true nor false"))?;
            match controller {
                Controller::Kustomize => {
                    let gate = KustomizeGate::ALL.into_iter().find(|gate| gate.as_str() == name);
                    self.set_gate(
                        gate.ok_or_else(|| format!("kustomize-controller has no gate `{name}`"))?,
                        on,
                    );
                }
                Controller::Helm => {
                    if let Some(gate) = HelmGate::ALL.into_iter().find(|gate| gate.as_str() == name) {
                        self.set_helm_gate(gate, on);
                    }
                }
                Controller::Source => {}
            }
        }
        Ok(())
    }
}

impl fmt::Display for KustomizeGate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-1200, F-1760.
    #[test]
    fn strict_substitution_is_the_default_since_2_9() {
        let gate = KustomizeGate::StrictPostBuildSubstitutions;
        assert!(!ControllerSettings::new(FluxVersion::latest_of(8)).gate(gate));
        let mut settings = ControllerSettings::new(FluxVersion::NEWEST);
        assert!(settings.gate(gate));
        let problems = settings.apply_args(
            Controller::Kustomize,
            [
                "--feature-gates=StrictPostBuildSubstitutions=false,ExternalArtifact=true",
                "--concurrent=20",
                "--requeue-dependency=5s",
            ],
        );
        assert_eq!(problems, []);
        assert!(!settings.gate(gate));
        assert!(settings.gate(KustomizeGate::ExternalArtifact));
        assert_eq!(settings.kustomize_concurrent, 20);
        assert_eq!(settings.kustomize_requeue_dependency, Duration::from_secs(5));
    }

    /// F-1100, F-1102, F-1105, F-1788.
    #[test]
    fn the_defaults_are_those_of_the_controllers() {
        for minor in 4..=9 {
            let settings = ControllerSettings::new(FluxVersion::latest_of(minor));
            assert_eq!(
                (
                    settings.kustomize_concurrent,
                    settings.helm_concurrent,
                    settings.source_concurrent
                ),
                (4, 4, 2)
            );
            assert_eq!(settings.kustomize_requeue_dependency, Duration::from_secs(30));
            assert_eq!(settings.helm_requeue_dependency, Duration::from_secs(30));
            assert_eq!(settings.interval_jitter_percent, 5);
            assert_eq!(settings.retry_delay_least, Duration::from_millis(750));
            assert_eq!(settings.retry_delay_most, Duration::from_secs(900));
        }
    }

    #[test]
    fn bad_flags_are_named() {
        let mut settings = ControllerSettings::new(FluxVersion::NEWEST);
        let problems = settings.apply_args(
            Controller::Kustomize,
            [
                "--concurrent=many",
                "--feature-gates=NoSuch=true",
                "--log-level=debug",
                "positional",
            ],
        );
        let flags: Vec<_> = problems.iter().map(|problem| problem.flag.as_str()).collect();
        assert_eq!(flags, ["--concurrent=many", "--feature-gates=NoSuch=true"]);
    }
}
