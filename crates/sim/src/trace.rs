//! The trace: a rehearsal as a document.
//!
//! One line per change of state, in the order in which they happened, in columns: the time in seconds, who did it, what it
//! is about, what happened. Same inputs and same seed give the same text, byte for byte.
//!
//! ```text
//!     12.750  kustomize-controller  Kustomization/flux-system/apps  Ready=False DependencyNotReady: dependency '…' is not ready
//! ```

use std::fmt::Write;

use firstpass_apiserver::Time;
use firstpass_controllers::Line;

/// The trace as text, with times counted from `epoch`.
pub fn text(lines: &[Line], epoch: Time) -> String {
    let mut text = String::with_capacity(lines.len() * 96);
    for Line {
        at,
        actor,
        subject,
        what,
    } in lines
    {
        let micros = at.since(epoch).as_micros();
        let time = format!("{}.{:03}", micros / 1_000_000, micros / 1000 % 1000);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{time:>11}  {actor:<23}  {subject:<48}  {what}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_columns() {
        let line = Line {
            at: Time::from_micros(12_750_400),
            actor: "kubelet".into(),
            subject: "Deployment/web/web".to_owned(),
            what: "available".to_owned(),
        };
        let text = text(&[line], Time::START);
        assert_eq!(
            text,
            "     12.750  kubelet                  Deployment/web/web                                available\n"
        );
    }
}
