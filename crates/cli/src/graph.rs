//! `firstpass graph`: the order graph, as text, for scripts, and drawn.

use firstpass_order::GraphView;
use firstpass_rehearse::Options;
use firstpass_report::{
    Rehearsed, ShownGraph, graph_to_dot, graph_to_json, graph_to_mermaid, graph_to_svg, graph_to_text,
};

use crate::args::{GraphArgs, GraphFormat};
use crate::exit::{Exit, Failure};
use crate::prepare::{Prepared, Session};
use crate::{output, show};

/// Shows the graph of each cluster; clusters that share one are shown together.
///
/// # Errors
/// If the repository cannot be read, several graphs do not fit into the format, or the result cannot be written.
pub(crate) fn run(arguments: &GraphArgs) -> Result<Exit, Failure> {
    let session = Session::open(&arguments.common)?;
    let mut graphs: Vec<ShownGraph> = Vec::new();
    for entry in &session.entries {
        let prepared = session.prepare(entry, &[]);
        let view = GraphView::new(&prepared.cluster, &prepared.graph);
        if view.tiers.is_empty() {
            return Err(Failure::input_with_help(
                format!("no Flux Kustomization is reached from `{}`", entry.path()),
                "name the directory that Flux syncs, from here or from the root of the repository",
            ));
        }
        let rehearsal = arguments.rehearse.then(|| rehearse(&session, prepared));
        match graphs
            .iter_mut()
            .find(|known| known.view == view && known.rehearsal == rehearsal)
        {
            Some(known) => known.entries.push(entry.path().to_owned()),
            None => graphs.push(ShownGraph::new(entry.path().to_owned(), view, rehearsal)),
        }
    }
    let text = match arguments.common.output.format {
        GraphFormat::Text => graph_to_text(&graphs, show::style(&arguments.common.output)),
        GraphFormat::Json => graph_to_json(&graphs),
        GraphFormat::Dot => graph_to_dot(&graphs),
        GraphFormat::Mermaid => graph_to_mermaid(only(&graphs)?),
        GraphFormat::Svg => graph_to_svg(only(&graphs)?),
    };
    output::write(&text, arguments.common.output.output.as_deref())?;
    Ok(Exit::Clean)
}

/// The graph, for formats that hold one.
fn only(graphs: &[ShownGraph]) -> Result<&ShownGraph, Failure> {
    match graphs {
        [graph] => Ok(graph),
        several => {
            let entries: Vec<String> = several
                .iter()
                .flat_map(|graph| &graph.entries)
                .map(|entry| format!("`{entry}`"))
                .collect();
            Err(Failure::input_with_help(
                format!(
                    "the clusters have {} different graphs, and this format holds one",
                    several.len()
                ),
                format!("name one of {}", entries.join(", ")),
            ))
        }
    }
}

fn rehearse(session: &Session, prepared: Prepared) -> Rehearsed {
    let report = session.script(prepared).rehearse(&Options::default()).report;
    Rehearsed {
        verdict: report.verdict,
        tiers: report
            .tiers
            .into_iter()
            .map(|tier| (tier.name.clone(), tier))
            .collect(),
    }
}
