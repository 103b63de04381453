//! What each tier's being Ready proves, and what stays blocked while it is not.

use std::fmt::Write as _;

use firstpass_diagnostics::{BlastRadius, Tier};
use firstpass_object::TierName;

use crate::clean::clean;
use crate::text::{Paint, Style};
use crate::wrap::wrap;

/// Tiers beyond this many are counted, not listed.
const LISTED_MAX: usize = 6;

/// Renders two lines per tier; empty if nothing is known of them.
pub(crate) fn render(tiers: &[Tier], style: Style) -> String {
    let mut text = String::new();
    for tier in tiers {
        let (Some(proof), Some(blast)) = (&tier.proves, &tier.blast_radius) else {
            continue;
        };
        if text.is_empty() {
            let _ = writeln!(
                text,
                "{}",
                style.paint(Paint::Bold, "what being Ready proves, and what waits for it:")
            );
        }
        let _ = writeln!(text, "  {}", clean(&tier.name.to_string()));
        for line in [
            format!("proves: {}", proof.text),
            format!("blocks: {}", blocked(blast)),
        ] {
            let wrapped = wrap(&line, style.width.saturating_sub(6).max(20)).join("\n      ");
            let _ = writeln!(text, "    {}", clean(&wrapped));
        }
    }
    text
}

fn blocked(blast: &BlastRadius) -> String {
    let mut text = listed(&blast.blocks);
    if !blast.starves.is_empty() {
        let _ = write!(
            text,
            "; its wait holds all {} workers, which starves {}",
            blast.holds_workers.len(),
            listed(&blast.starves)
        );
    }
    text
}

fn listed(tiers: &[TierName]) -> String {
    let names: Vec<String> = tiers.iter().take(LISTED_MAX).map(ToString::to_string).collect();
    match tiers.len() {
        0 => "nothing".to_owned(),
        count if count > LISTED_MAX => format!("{} and {} more", names.join(", "), count - LISTED_MAX),
        _ => names.join(", "),
    }
}
