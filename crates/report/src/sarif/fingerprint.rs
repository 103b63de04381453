//! What a finding is recognised by when the lines around it move.

use firstpass_diagnostics::Finding;
use sha2::{Digest, Sha256};

/// Name of the fingerprint; its version grows when its parts change.
pub(super) const NAME: &str = "firstpassFinding/v1";

/// A hash over what the finding is about: rule, tier, object, file and headline, and none of its lines and columns.
/// `nth` tells apart findings that have all of these in common.
pub(super) fn of(finding: &Finding, nth: usize) -> String {
    let tier = finding.tier.as_ref().map(ToString::to_string);
    let file = finding.location.as_ref().map(|location| location.file.as_str());
    let parts = [
        Some(finding.rule.as_str()),
        tier.as_deref(),
        finding.object.as_deref(),
        file,
        Some(finding.message.as_str()),
    ];
    let mut hash = Sha256::new();
    for part in parts {
        // A length in front keeps neighbours apart.
        let part = part.unwrap_or_default();
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    let digest: String = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{digest}:{nth}")
}
