//! `firstpass audit`: who brings each kind, and who owns each object.

use firstpass_order::Audit;
use firstpass_rehearse::Options;
use firstpass_report::{ShownAudit, audit_to_json, audit_to_text};

use crate::args::{AuditArgs, Format};
use crate::exit::{Exit, Failure};
use crate::prepare::Session;
use crate::{output, show};

/// Audits each cluster.
///
/// # Errors
/// If the repository cannot be read, or the result cannot be written.
pub(crate) fn run(arguments: &AuditArgs) -> Result<Exit, Failure> {
    let session = Session::open(&arguments.common)?;
    let mut audits = Vec::new();
    for entry in &session.entries {
        let prepared = session.prepare(entry, &[]);
        let audit = Audit::of(
            &prepared.cluster,
            &prepared.stage,
            &session.knowledge,
            &prepared.graph,
        );
        let objects = arguments
            .objects
            .then(|| session.script(prepared).rehearse(&Options::default()).owners());
        audits.push(ShownAudit {
            entry: entry.path().to_owned(),
            audit,
            objects,
        });
    }
    let text = match arguments.common.output.format {
        Format::Text => audit_to_text(&audits, show::style(&arguments.common.output)),
        Format::Json => audit_to_json(&audits),
    };
    output::write(&text, arguments.common.output.output.as_deref())?;
    Ok(Exit::Clean)
}
