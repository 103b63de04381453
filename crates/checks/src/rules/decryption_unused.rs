//! A decryption stanza with nothing to decrypt.

use firstpass_diagnostics::{Finding, Severity};
use firstpass_object::Step;
use firstpass_render::{Encryption, Tier};

use super::circle;
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "decryption-unused",
    summary: "a tier with `spec.decryption` and nothing to decrypt",
    severity: Severity::Info,
    verdict: None,
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/decryption-unused.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let tiers = input.cluster.tiers.iter();
    tiers
        .filter(|tier| is_unused(tier))
        .map(|tier| finding(input, tier))
        .collect()
}

/// Who writes the stanza means it. A parent that patches it into all of its children does not mean this one, and what is
/// generated or fetched may have been encrypted.
fn is_unused(tier: &Tier) -> bool {
    let is_patched = tier
        .origin
        .steps
        .iter()
        .any(|step| matches!(step, Step::Patched { .. }));
    let may_hide = tier.objects().iter().any(|object| {
        let generated = object
            .origin
            .steps
            .iter()
            .any(|step| matches!(step, Step::Generated { .. }));
        generated || object.encryption != Encryption::None
    });
    tier.kustomization.spec.decryption.is_some()
        && tier.is_rendered()
        && tier.remote.is_empty()
        && !is_patched
        && !may_hide
}

fn finding(input: &CheckInput<'_>, tier: &Tier) -> Finding {
    RULE.finding(format!("`{}` decrypts, and none of its files is encrypted", tier.name))
        .with_tier(&tier.name)
        .with_object(&circle::object(&tier.name))
        .with_why(
            "the stanza makes the tier depend on the key: without the Secret that it names the tier fails although nothing has to \
             be decrypted",
        )
        .with_help("remove `spec.decryption`, or move the encrypted files here that were meant to be in this tier")
        .at(input.place_in_tier(tier, &["spec", "decryption"]))
}
