//! What does Flux's API say: typed objects with their defaults, the words of its conditions, and what differs between
//! versions?
//!
//! Objects are read leniently ([`Read`]): whatever is well-formed is there, and each field that is not becomes a
//! [`FieldProblem`]. A repository with one mistyped field still renders.
//!
//! ```text
//! serde_json::Value ── read ──► Kustomization | HelmRelease | Source | FluxInstance | ArtifactGenerator  + problems
//! FluxVersion ──► ControllerVersions, served API versions, default gates ──► ControllerSettings (+ flags of the repository)
//! ```
//!
//! Absent on purpose: behaviour. What the controllers do with these objects is in `render`, `controllers` and `apiserver`.

pub mod names;

mod artifact_generator;
mod components;
mod duration;
mod fields;
mod helm_release;
mod instance;
mod kustomization;
mod schema;
mod settings;
mod source;
mod version;

pub use artifact_generator::{Artifact, ArtifactGenerator, Copy, GeneratorSource};
pub use components::{Components, DEFAULT_COMPONENTS, SaidBy, component_of};
pub use duration::{Duration, InvalidDuration};
pub use fields::{FieldProblem, Read};
pub use helm_release::{
    ChartReference, ChartTemplate, CrdPolicy, HelmRelease, HelmReleaseSpec, InstallStrategy, ReleaseAction,
    Remediation, TestSpec, UndoAction, ValuesFrom,
};
pub use instance::{FluxInstance, InstanceSync};
pub use kustomization::{
    CommonMetadata, Decryption, DeletionPolicy, DependencyReference, HealthCheck, HealthCheckExpr, Ignore,
    Image, KubeConfig, Kustomization, KustomizationSpec, Patch, PatchTarget, PostBuild, SourceRef,
    SubstituteReference, SubstituteStrategy,
};
pub use schema::{field_since, spec_schema};
pub use settings::{Controller, ControllerSettings, HelmGate, KustomizeGate, SettingsProblem};
pub use source::{Source, SourceKind, SourceName};
pub use version::{ControllerVersion, FluxVersion, InvalidVersion, served_versions};
