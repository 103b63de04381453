//! The kinds, by how they come.

use std::fmt::Write as _;

use firstpass_order::{Audit, Bringer, KindAudit, KindUse, ProviderClass};

use crate::clean::clean;
use crate::text::{Paint, Style};
use crate::wrap::wrap;

/// Tiers in one line beyond this many are counted, unless all are asked for.
const TIERS_LISTED_MAX: usize = 4;

/// Kinds that come in the same way to the same tiers.
struct Group<'a> {
    kinds: Vec<&'a str>,
    first: &'a KindAudit,
}

pub(super) fn render(audit: &Audit, style: Style) -> String {
    let mut text = String::new();
    let mut class = None;
    for group in groups(audit) {
        let here = group.first.provider;
        let of_class = audit.kinds.iter().filter(|kind| kind.provider == here).count();
        if class != Some(here) {
            class = Some(here);
            let _ = writeln!(text, "\n{}", style.paint(Paint::Bold, title(here)));
            if is_plain(here) && !style.verbose {
                let line = format!("{of_class} kinds; -v lists them");
                let _ = writeln!(text, "  {}", style.paint(Paint::Dim, &line));
            }
        }
        if is_plain(here) && !style.verbose {
            continue;
        }
        let _ = writeln!(text, "  {}", lines(&group.kinds.join(", "), 2, style));
        let bringers: Vec<String> = group.first.brought_by.iter().map(bringer).collect();
        if !bringers.is_empty() {
            let line = format!("by {}", bringers.join("; and by "));
            let _ = writeln!(text, "    {}", style.paint(Paint::Dim, &lines(&line, 4, style)));
        }
        let line = format!("for {}", uses(&group.first.used_by, style));
        let paint = if super::is_loose(group.first) {
            Paint::Warn
        } else {
            Paint::Dim
        };
        let _ = writeln!(text, "    {}", style.paint(paint, &lines(&line, 4, style)));
    }
    text
}

/// Kinds that nobody has to think about.
fn is_plain(class: ProviderClass) -> bool {
    matches!(class, ProviderClass::BuiltIn | ProviderClass::Baseline)
}

fn title(class: ProviderClass) -> &'static str {
    match class {
        ProviderClass::AfterObject => {
            "second-order kinds: an operator brings them after it has reconciled an object"
        }
        ProviderClass::AtStart => "kinds that an operator registers when it starts",
        ProviderClass::Nobody => "kinds that nobody brings, as far as can be seen",
        ProviderClass::Chart => "kinds of charts",
        ProviderClass::Git => "kinds with their CRD in git",
        ProviderClass::Baseline => "kinds that are there before Flux starts",
        ProviderClass::BuiltIn => "kinds of Kubernetes itself",
    }
}

fn groups(audit: &Audit) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for kind in &audit.kinds {
        let tiers = |kind: &KindAudit| -> Vec<(String, Option<bool>)> {
            kind.used_by
                .iter()
                .map(|used| (used.tier.to_string(), used.guaranteed))
                .collect()
        };
        let is_alike = |group: &&mut Group<'_>| {
            group.first.provider == kind.provider
                && group
                    .first
                    .brought_by
                    .iter()
                    .map(bringer)
                    .eq(kind.brought_by.iter().map(bringer))
                && tiers(group.first) == tiers(kind)
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.kinds.push(&kind.kind),
            None => groups.push(Group {
                kinds: vec![&kind.kind],
                first: kind,
            }),
        }
    }
    groups
}

/// Who brings it, and through what: the name of a CRD says nothing that its kind does not.
fn bringer(bringer: &Bringer) -> String {
    let object = bringer
        .object
        .as_ref()
        .filter(|_| bringer.class != ProviderClass::Git);
    match (object, &bringer.tier, &bringer.by) {
        (Some(object), Some(tier), Some(by)) => format!("{object} of {tier} ({by})"),
        (_, Some(tier), _) => tier.to_string(),
        (_, None, Some(by)) => by.clone(),
        (_, None, None) => "what is there before Flux".to_owned(),
    }
}

fn uses(used_by: &[KindUse], style: Style) -> String {
    let limit = if style.verbose {
        usize::MAX
    } else {
        TIERS_LISTED_MAX
    };
    let word = |used: &KindUse| {
        let mut word = used.tier.to_string();
        if used.guaranteed == Some(false) {
            word.push_str(" (not certainly in time)");
        }
        word
    };
    // Whoever is late comes first, so that nothing hides it.
    let mut tiers: Vec<&KindUse> = used_by.iter().collect();
    tiers.sort_by_key(|used| used.guaranteed != Some(false));
    let shown: Vec<String> = tiers.iter().take(limit).map(|used| word(used)).collect();
    match tiers.len().saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn lines(line: &str, indent: usize, style: Style) -> String {
    let separator = format!("\n{:1$}", "", indent + 2);
    wrap(&clean(line), style.width.saturating_sub(indent + 2)).join(&separator)
}
