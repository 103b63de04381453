//! The annotations that a build uses for its own notes, and those that users may ask for.

/// Marks an annotation as internal to kustomize and the tools around it.
pub(crate) const INTERNAL_PREFIX: &str = "internal.config.kubernetes.io/";

pub(crate) const PREVIOUS_KINDS: &str = "internal.config.kubernetes.io/previousKinds";
pub(crate) const PREVIOUS_NAMES: &str = "internal.config.kubernetes.io/previousNames";
pub(crate) const PREVIOUS_NAMESPACES: &str = "internal.config.kubernetes.io/previousNamespaces";
pub(crate) const PREFIXES: &str = "internal.config.kubernetes.io/prefixes";
pub(crate) const SUFFIXES: &str = "internal.config.kubernetes.io/suffixes";
pub(crate) const REFERRED_BY: &str = "internal.config.kubernetes.io/refBy";
pub(crate) const GENERATOR_BEHAVIOR: &str = "internal.config.kubernetes.io/generatorBehavior";
pub(crate) const NEEDS_HASH_SUFFIX: &str = "internal.config.kubernetes.io/needsHashSuffix";
pub(crate) const ALLOW_NAME_CHANGE: &str = "internal.config.kubernetes.io/allowNameChange";
pub(crate) const ALLOW_KIND_CHANGE: &str = "internal.config.kubernetes.io/allowKindChange";
pub(crate) const HELM_GENERATED: &str = "internal.config.kubernetes.io/helm-generated";

/// The value of a note that is a switch.
pub(crate) const ENABLED: &str = "enabled";

/// Drops the object from the output unless it says `false` (F-810).
pub(crate) const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";
/// Where the object came from; `originAnnotations` of `buildMetadata`.
pub(crate) const ORIGIN: &str = "config.kubernetes.io/origin";
/// What shaped the object; `transformerAnnotations` of `buildMetadata`.
pub(crate) const TRANSFORMATIONS: &str = "alpha.config.kubernetes.io/transformations";

/// Older spellings of internal annotations that other tools write.
const LEGACY: [&str; 3] = [
    "config.kubernetes.io/path",
    "config.kubernetes.io/index",
    "config.k8s.io/id",
];

/// What is taken off every object at the end of a build.
pub(crate) const OF_THE_BUILD: &[&str] = &[
    PREVIOUS_KINDS,
    PREVIOUS_NAMES,
    PREFIXES,
    SUFFIXES,
    PREVIOUS_NAMESPACES,
    ALLOW_NAME_CHANGE,
    ALLOW_KIND_CHANGE,
    REFERRED_BY,
    GENERATOR_BEHAVIOR,
    NEEDS_HASH_SUFFIX,
    "internal.config.kubernetes.io/path",
    "internal.config.kubernetes.io/index",
    "internal.config.kubernetes.io/seqindent",
    "internal.config.kubernetes.io/id",
    "internal.config.kubernetes.io/annotations-migration-resource-id",
    LEGACY[0],
    LEGACY[1],
    LEGACY[2],
    HELM_GENERATED,
];

/// Whether an annotation survives a JSON patch that would remove it.
pub(crate) fn is_internal(key: &str) -> bool {
    key.starts_with(INTERNAL_PREFIX) || LEGACY.contains(&key)
}
