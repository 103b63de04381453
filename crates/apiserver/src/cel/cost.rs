//! How often an expression may go round. Evaluation itself has no limit, and a few nested loops over a list outlast any
//! patience; so what could take too long is not begun.

use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use serde_json::Value;

/// More rounds than this are not begun: some seconds at the most.
const ROUNDS_MAX: f64 = 2e7;

/// Whether an expression ends soon, over variables with these contents.
///
/// The bound is that of the deepest loops, each over the longest list or map that there is: in the contents, or written
/// out in the expression.
///
/// # Errors
/// That it may not.
pub fn ends_soon<'v>(
    expression: &IdedExpr,
    contents: impl IntoIterator<Item = &'v Value>,
) -> Result<(), String> {
    let Shape { loops, longest } = shape(expression);
    if loops < 2 {
        return Ok(());
    }
    let longest = contents
        .into_iter()
        .map(longest_of)
        .max()
        .unwrap_or(0)
        .max(longest);
    let exponent = i32::try_from(loops).unwrap_or(i32::MAX);
    if (longest as f64).powi(exponent) <= ROUNDS_MAX {
        return Ok(());
    }
    Err(format!(
        "{loops} loops inside each other over up to {longest} parts may take too long to be evaluated"
    ))
}

/// The length of the longest list or map in a value.
fn longest_of(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(longest_of).max().unwrap_or(0).max(items.len()),
        Value::Object(fields) => fields
            .values()
            .map(longest_of)
            .max()
            .unwrap_or(0)
            .max(fields.len()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// What the form of an expression tells of its cost.
#[derive(Clone, Copy, Default)]
struct Shape {
    /// How many loops stand inside each other at most.
    loops: usize,
    /// The length of the longest list or map that is written out.
    longest: usize,
}

impl Shape {
    fn or(self, other: Shape) -> Shape {
        Shape {
            loops: self.loops.max(other.loops),
            longest: self.longest.max(other.longest),
        }
    }
}

fn shape(expression: &IdedExpr) -> Shape {
    let of_all =
        |parts: &mut dyn Iterator<Item = &IdedExpr>| parts.map(shape).fold(Shape::default(), Shape::or);
    match &expression.expr {
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => Shape::default(),
        Expr::Select(select) => shape(&select.operand),
        Expr::Call(call) => of_all(&mut call.target.as_deref().into_iter().chain(&call.args)),
        Expr::List(list) => of_all(&mut list.elements.iter()).or(Shape {
            loops: 0,
            longest: list.elements.len(),
        }),
        Expr::Map(map) => of_all(&mut map.entries.iter().flat_map(|entry| parts(&entry.expr))).or(Shape {
            loops: 0,
            longest: map.entries.len(),
        }),
        Expr::Struct(fields) => of_all(&mut fields.entries.iter().flat_map(|entry| parts(&entry.expr))),
        Expr::Comprehension(round) => {
            let inside = of_all(&mut [&round.loop_cond, &round.loop_step, &round.result].into_iter());
            let around = of_all(&mut [&round.iter_range, &round.accu_init].into_iter());
            Shape {
                loops: inside.loops + 1,
                longest: inside.longest,
            }
            .or(around)
        }
    }
}

fn parts(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

#[cfg(test)]
mod tests {
    use cel::Env;
    use serde_json::json;

    use super::ends_soon;

    #[test]
    fn what_could_take_too_long_is_not_begun() {
        let list: Vec<usize> = (0..200).collect();
        let value = json!({"list": list});
        let ends =
            |text: &str| ends_soon(Env::stdlib().compile(text).unwrap().expression(), [&value]).is_ok();
        assert!(ends("value.list.all(a, a < 300)"));
        assert!(ends("value.list.all(a, value.list.exists(b, b == a))"));
        // One after the other is not inside each other.
        assert!(ends(
            "value.list.map(a, a).map(b, b).map(c, c).map(d, d).size() > 1"
        ));
        let nested = (0..6).fold("true".to_owned(), |inner, level| {
            format!("value.list.all(x{level}, {inner})")
        });
        assert!(!ends(&nested));
        let written: Vec<String> = (0..300).map(|number| number.to_string()).collect();
        let written = format!("[{}]", written.join(","));
        assert!(!ends(&format!(
            "{written}.all(a, {written}.all(b, {written}.all(c, a < b)))"
        )));
    }
}
