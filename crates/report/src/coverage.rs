//! How far substitution reaches: a line per path.

use std::fmt::Write as _;

use firstpass_diagnostics::Coverage;

use crate::clean::clean;
use crate::text::{Paint, Style};

/// More paths than this are counted, unless all are asked for; those with hazards are always shown.
const LISTED_MAX: usize = 40;

/// The paths that are substituted, then those that are not.
pub(crate) fn render(coverage: &[Coverage], style: Style) -> String {
    let mut text = String::new();
    let mut budget = LISTED_MAX;
    for (covered, title) in [(true, "substitution covers:"), (false, "outside substitution:")] {
        let lines: Vec<&Coverage> = coverage.iter().filter(|line| line.covered == covered).collect();
        if lines.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{}", style.paint(Paint::Bold, title));
        let mut hidden = 0;
        for line in lines {
            if style.verbose || line.hazards > 0 || budget > 0 {
                budget = budget.saturating_sub(1);
                let _ = writeln!(text, "  {}", clean(&line.to_string()));
            } else {
                hidden += 1;
            }
        }
        if hidden > 0 {
            let _ = writeln!(text, "  {hidden} more without hazards; -v shows them");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstpass_object::TierName;

    #[test]
    fn every_path_has_one_line() {
        let line = |path: &str, covered: bool, hazards: usize| Coverage {
            path: path.to_owned(),
            tier: TierName::new("flux-system", "x"),
            covered,
            files: 2,
            defined: 0,
            hazards,
        };
        let style = Style {
            color: false,
            width: 100,
            verbose: false,
        };
        let text = render(
            &[line("./tools", false, 1), line("./platform-config-cdi", true, 0)],
            style,
        );
        assert_eq!(
            text,
            "substitution covers:\n  path=./platform-config-cdi files=2 defined=0 hazards=0\n\
             outside substitution:\n  path=./tools files=2 defined=0 hazards=1\n"
        );
        let many: Vec<Coverage> = (0..50)
            .map(|number| line(&format!("./{number}"), true, usize::from(number == 49)))
            .collect();
        let text = render(&many, style);
        assert_eq!(text.lines().count(), 43);
        assert!(
            text.contains("path=./49 ") && text.contains("9 more without hazards"),
            "{text}"
        );
    }
}
