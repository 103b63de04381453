//! Annotations by which models tell each other what an object of the simulated cluster stands for. They exist in
//! simulated clusters only.

/// The operator that runs in a workload that a chart or another operator started.
pub(crate) const OPERATOR: &str = "firstpass.invalid/operator";
/// The delay until a workload is ready, where the usual start is no good guess: a name of `timing`.
pub(crate) const READY_AFTER: &str = "firstpass.invalid/ready-after";
/// The release of the product that runs in a workload, for facts that differ between releases.
pub(crate) const VERSION: &str = "firstpass.invalid/version";
/// The values of the chart that started an operator, as JSON.
pub(crate) const VALUES: &str = "firstpass.invalid/values";

/// The workload that a pod belongs to. Pods are stored only where their crashing matters to somebody (F-530).
pub(crate) const POD_OF: &str = "firstpass.invalid/pod-of";

/// A condition that models write when the pods of a workload run, which may be a while before they are ready: operators
/// do their first work in between.
pub(crate) const PODS_RUNNING: &str = "PodsRunning";
