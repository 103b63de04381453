//! What to apply by hand: YAML for `kubectl apply`, with the proof as comments. No value of a Secret is printed.

use std::fmt::Write as _;

use firstpass_diagnostics::Verdict;
use firstpass_object::TierName;
use firstpass_rehearse::{PreApplied, Proof};
use firstpass_render::Encryption;
use serde::Serialize;
use serde_json::Value;

use super::ShownPreApply;
use crate::clean::clean;
use firstpass_diagnostics::duration_text;

#[derive(Serialize)]
pub(super) struct Json<'a> {
    entry: &'a str,
    verdict: Verdict,
    stuck: &'a [TierName],
    still_stuck: &'a [TierName],
    takes_s: Option<f64>,
    rehearsals: usize,
    objects: Vec<JsonObject<'a>>,
}

#[derive(Serialize)]
struct JsonObject<'a> {
    object: String,
    tier: &'a TierName,
    file: &'a str,
    /// How many tiers stay stuck without it; null where a rehearsal cannot show that.
    stuck_without: Option<usize>,
    /// Null for Secrets.
    manifest: Option<&'a Value>,
}

pub(super) fn json(shown: &ShownPreApply) -> Json<'_> {
    let found = &shown.found;
    Json {
        entry: &shown.entry,
        verdict: shown.verdict,
        stuck: &found.stuck,
        still_stuck: &found.still_stuck,
        takes_s: found.takes_s,
        rehearsals: found.plays,
        objects: found.objects.iter().map(json_object).collect(),
    }
}

fn json_object(applied: &PreApplied) -> JsonObject<'_> {
    JsonObject {
        object: applied.object.id().to_string(),
        tier: &applied.tier,
        file: &applied.object.origin.file,
        stuck_without: match applied.proof {
            Proof::Missed(stuck) => Some(stuck),
            Proof::Permissions => None,
        },
        manifest: (!applied.is_secret()).then_some(&*applied.object.object),
    }
}

pub(super) fn yaml(shown: &ShownPreApply) -> String {
    let mut text = String::new();
    for line in head(shown) {
        let _ = writeln!(text, "# {}", clean(&line));
    }
    for applied in &shown.found.objects {
        text.push_str("---\n");
        for line in about(applied) {
            let _ = writeln!(text, "# {}", clean(&line));
        }
        if !applied.is_secret() {
            text.push_str(&firstpass_yaml::emit(&applied.object.object));
        }
    }
    text
}

/// What this is, and what it is proven by.
fn head(shown: &ShownPreApply) -> Vec<String> {
    let found = &shown.found;
    let entry = if shown.entry.is_empty() { "." } else { &shown.entry };
    let up = shown.tiers - found.stuck.len();
    if found.stuck.is_empty() {
        return vec![format!(
            "{entry}: all {} tiers come up by themselves; there is nothing to apply",
            shown.tiers
        )];
    }
    let mut lines = vec![format!(
        "{entry} is stuck at this revision: {}, {up} of {} tiers come up.",
        shown.verdict, shown.tiers
    )];
    if found.objects.is_empty() {
        lines.push(
            "No object of the repository helps that is applied by hand: the files have to change.".to_owned(),
        );
        lines.push("`firstpass rehearse` says how.".to_owned());
        lines.push(format!("stuck: {}", names(&found.stuck)));
        return lines;
    }
    let reached = match shown.tiers - found.still_stuck.len() {
        reached if reached == shown.tiers => format!("all {reached}"),
        reached => reached.to_string(),
    };
    let takes = found
        .takes_s
        .map(|seconds| format!(" {} later", duration_text(seconds)))
        .unwrap_or_default();
    lines.push(match found.objects.len() {
        1 => format!("With the object below applied by hand, {reached} are Ready{takes}."),
        count => format!("With the {count} objects below applied by hand, {reached} are Ready{takes}."),
    });
    lines.push(format!("Proven by {} rehearsals. This helps this cluster once; the next one to start from these files is stuck again.", found.plays));
    if !found.still_stuck.is_empty() {
        lines.push(format!("still stuck: {}", names(&found.still_stuck)));
    }
    lines.push(format!(
        "  firstpass order {entry} --pre-apply | kubectl apply --server-side -f -"
    ));
    lines
}

fn about(applied: &PreApplied) -> Vec<String> {
    let object = &applied.object;
    let file = &object.origin.file;
    let proof = match applied.proof {
        Proof::Missed(1) => "without it 1 tier stays stuck".to_owned(),
        Proof::Missed(stuck) => format!("without it {stuck} tiers stay stuck"),
        Proof::Permissions => "its workload runs with it; rehearsals have no permissions".to_owned(),
    };
    let mut lines = vec![format!(
        "{} of {}, from {file}: {proof}",
        object.id(),
        applied.tier
    )];
    if applied.is_secret() {
        let command = match object.encryption {
            Encryption::None => format!("kubectl apply --server-side -f {file}"),
            Encryption::Decrypted | Encryption::Ciphertext => {
                format!("sops decrypt {file} | kubectl apply --server-side -f -")
            }
        };
        lines.push(format!(
            "Values of Secrets are not printed. Apply it before the others: {command}"
        ));
    }
    for variable in &object.unknown_variables {
        lines.push(format!(
            "Put in the value of ${{{}}}: only the cluster has it, in {}.",
            variable.name, variable.from
        ));
    }
    lines
}

fn names(tiers: &[TierName]) -> String {
    tiers
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
