//! A CEL expression that does not compile.

use firstpass_apiserver::cel;
use firstpass_diagnostics::{Finding, Severity, Verdict};
use firstpass_render::Tier;

use super::circle;
use crate::input::At as _;
use crate::{CheckInput, Context, Rule, Status};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    name: "expression-invalid",
    summary: "a CEL expression of a Flux Kustomization that does not compile",
    severity: Severity::Error,
    verdict: Some(Verdict::Invalid),
    status: Status::Preview,
    page: include_str!("../../../../docs/rules/expression-invalid.md"),
    check,
};

fn check(input: &Context<'_>) -> Vec<Finding> {
    let tiers = input.cluster.tiers.iter();
    tiers.filter_map(|tier| finding(input, tier)).collect()
}

/// One expression and where it is written.
struct Expression<'t> {
    text: &'t str,
    field: Vec<String>,
}

/// Flux gives up on such a tier for good: it is Stalled and not tried again (F-110, F-125, F-143).
fn finding(input: &CheckInput<'_>, tier: &Tier) -> Option<Finding> {
    let (expression, error) = expressions(tier).into_iter().find_map(|expression| {
        let is_condition = expression.field.iter().any(|field| field == "dependsOn");
        let compiled = if is_condition {
            cel::Expression::compile_condition(expression.text, cel::Library::Flux, &["self", "dep"])
        } else {
            cel::Expression::compile(expression.text, cel::Library::Flux)
        };
        Some((expression, compiled.err()?))
    })?;
    let field: Vec<&str> = expression.field.iter().map(String::as_str).collect();
    let error = error.split(" | ").next().unwrap_or_default().trim().to_owned();
    let message = format!("`{}` of `{}` is no CEL expression", expression.text, tier.name);
    let why = format!(
        "it does not compile ({error}). Flux compiles expressions before anything else; a tier with one that it cannot compile is \
         Stalled and not tried again"
    );
    let mut finding = RULE
        .finding(message)
        .with_tier(&tier.name)
        .with_object(&circle::object(&tier.name))
        .with_why(why)
        .with_help("correct the expression; it has to yield true or false")
        .at(input.place_in_tier(tier, &field));
    if let Some(index) = input.graph.tiers.find(&tier.name) {
        finding.blocks = input.blocked_by(index, false);
    }
    Some(finding)
}

fn expressions(tier: &Tier) -> Vec<Expression<'_>> {
    let spec = &tier.kustomization.spec;
    let at = |list: &str, index: usize, key: &str| {
        let index = index.to_string();
        ["spec", list, &index, key].map(str::to_owned).to_vec()
    };
    let checks = spec
        .health_check_exprs
        .iter()
        .enumerate()
        .flat_map(|(index, check)| {
            let texts = [
                ("inProgress", check.in_progress.as_deref()),
                ("failed", check.failed.as_deref()),
                ("current", Some(check.current.as_str())),
            ];
            texts.map(|(key, text)| (text, at("healthCheckExprs", index, key)))
        });
    let dependencies = spec.depends_on.iter().enumerate();
    let dependencies =
        dependencies.map(|(index, on)| (on.ready_expr.as_deref(), at("dependsOn", index, "readyExpr")));
    checks
        .chain(dependencies)
        .filter_map(|(text, field)| {
            let text = text.filter(|text| !text.is_empty())?;
            Some(Expression { text, field })
        })
        .collect()
}
