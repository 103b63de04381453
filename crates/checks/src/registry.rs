//! The one list of rules.

use firstpass_diagnostics::{Finding, Severity, Verdict};

use crate::Context;
use crate::rules::*;

/// One rule: what it is called, how much it matters, and how it looks.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name, as findings carry it.
    pub name: &'static str,
    /// What it finds, in one line.
    pub summary: &'static str,
    /// The severity of its findings, unless a finding knows better.
    pub severity: Severity,
    /// The verdict that its findings imply; none for hygiene.
    pub verdict: Option<Verdict>,
    /// How far it has come.
    pub status: Status,
    /// Its page, in Markdown: what it checks, why it hurts, a bad example, a good one, how to fix.
    pub page: &'static str,
    /// The check.
    pub(crate) check: fn(&Context<'_>) -> Vec<Finding>,
}

/// How far a rule has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// May still change its name or go away.
    Preview,
    /// Here to stay.
    Stable {
        /// The version of firstpass that has it first.
        since: &'static str,
    },
}

impl Rule {
    /// An empty finding of this rule.
    pub(crate) fn finding(&self, message: impl Into<String>) -> Finding {
        Finding::new(self.name, self.severity, self.verdict, message)
    }
}

/// The rule of that name.
pub fn rule(name: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.name == name)
}

/// Every rule, those that stop a cluster first.
pub static RULES: &[&Rule] = &[
    // Refused whatever happens later.
    &build_failed::RULE,
    &substitution_failed::RULE,
    &undefined_variable::RULE,
    &duplicate_object::RULE,
    &encrypted_without_decryption::RULE,
    &invalid_object::RULE,
    &value_retyped::RULE,
    &object_without_namespace::RULE,
    &expression_invalid::RULE,
    // Waiting for each other.
    &second_order_kind_in_same_pass::RULE,
    &chart_kind_in_same_pass::RULE,
    &namespace_in_same_pass::RULE,
    &kind_in_later_tier::RULE,
    &namespace_in_later_tier::RULE,
    &variables_come_too_late::RULE,
    &health_check_on_later_tier::RULE,
    &dependency_cycle::RULE,
    &parent_waits_for_child::RULE,
    &claim_waits_for_consumer::RULE,
    &pod_needs_later_tier::RULE,
    &object_needs_later_tier::RULE,
    &release_dependency_cycle::RULE,
    &tiers_wait_for_each_other::RULE,
    &source_inside_cluster::RULE,
    &network_missing::RULE,
    // Waiting for something that never comes.
    &kind_without_provider::RULE,
    &namespace_missing::RULE,
    &dependency_missing::RULE,
    &release_dependency_missing::RULE,
    &release_namespace_missing::RULE,
    &release_suspended::RULE,
    &source_missing::RULE,
    &values_under_another_name::RULE,
    &dependency_suspended::RULE,
    &health_check_missing_object::RULE,
    &service_account_missing::RULE,
    &pod_class_missing::RULE,
    &storage_class_missing::RULE,
    // Coming up by luck.
    &kind_without_edge::RULE,
    &kind_without_barrier::RULE,
    &webhook_without_barrier::RULE,
    &read_once_without_edge::RULE,
    &object_in_two_tiers::RULE,
    &namespace_without_edge::RULE,
    &namespace_without_barrier::RULE,
    &variable_without_edge::RULE,
    &variable_without_barrier::RULE,
    &literal_variable::RULE,
    &shell_expansion_rewritten::RULE,
    &ciphertext_applied::RULE,
    &address_outside_pools::RULE,
    // What the configuration asks for.
    &invariant_broken::RULE,
    &invariant_invalid::RULE,
    &placeholder::RULE,
    &foreign_address::RULE,
    &overlay_adds_object::RULE,
    &overlay_patches_more::RULE,
    &graph_differs::RULE,
    &pins_disagree::RULE,
    // Coming up, and in the way of something later.
    &plain_secret::RULE,
    &force_recreates_data::RULE,
    &version_skew::RULE,
    &virt_class_incapable::RULE,
    &vm_disk_not_migratable::RULE,
    &vm_blocks_drain::RULE,
    // About suppressions of the others.
    &suppression_invalid::RULE,
    &suppression_unused::RULE,
    // Worth knowing.
    &api_version_deprecated::RULE,
    &api_version_off::RULE,
    &retry_waits_long::RULE,
    &variable_inherited::RULE,
    &unused_variable::RULE,
    &uncovered_path::RULE,
    &decryption_unused::RULE,
    &unpinned::RULE,
    &variable_source_missing::RULE,
    &remote_base::RULE,
    &unrendered::RULE,
    &suspended::RULE,
];
