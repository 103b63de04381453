//! `firstpass explain`: the page of a rule.

use std::fmt::Write as _;

use crate::args::ExplainArgs;
use crate::exit::{Exit, Failure};
use crate::{output, rules};

/// Prints the page of a rule, or the list of all rules.
///
/// # Errors
/// If there is no such rule, or the output cannot be written.
pub(crate) fn run(arguments: &ExplainArgs) -> Result<Exit, Failure> {
    let text = match &arguments.rule {
        Some(name) => page(name)?,
        None => list(),
    };
    output::write(&text, None)?;
    Ok(Exit::Clean)
}

fn page(name: &str) -> Result<String, Failure> {
    let rules = rules::all();
    if let Some(rule) = rules.iter().find(|rule| rule.name == name) {
        return Ok(rule.page.to_owned());
    }
    let help = match firstpass_yaml::nearest(name, rules.iter().map(|rule| rule.name)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`firstpass explain` lists the rules".to_owned(),
    };
    Err(Failure::input_with_help(
        format!("there is no rule `{name}`"),
        help,
    ))
}

fn list() -> String {
    let rules = rules::all();
    let width = rules.iter().map(|rule| rule.name.len()).max().unwrap_or_default();
    rules.iter().fold(String::new(), |mut text, rule| {
        let _ = writeln!(text, "{:width$}  {}", rule.name, rule.summary);
        text
    })
}
