//! What the form of an expression shows: its free variables, and the type of its result.

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue};

/// The variables that an expression takes from outside. Parsed expressions are not nested deeper than the parser allows.
pub(super) fn free_variables(expression: &IdedExpr) -> Vec<String> {
    let mut found = Vec::new();
    collect(expression, &mut Vec::new(), &mut found);
    found
}

fn collect<'e>(expression: &'e IdedExpr, bound: &mut Vec<&'e str>, found: &mut Vec<String>) {
    match &expression.expr {
        Expr::Unspecified | Expr::Literal(_) => {}
        Expr::Ident(name) => {
            let name = name.trim_start_matches('.');
            if !bound.contains(&name) {
                found.push(name.to_owned());
            }
        }
        Expr::Select(select) => collect(&select.operand, bound, found),
        Expr::Call(call) => {
            let operands = call.target.as_deref().into_iter().chain(&call.args);
            // `math.greatest(1)` and the like: the target is a namespace.
            let is_namespace = |operand: &IdedExpr| matches!(&operand.expr, Expr::Ident(name) if NAMESPACES.contains(&name.as_str()));
            for operand in operands.filter(|operand| !is_namespace(operand)) {
                collect(operand, bound, found);
            }
        }
        Expr::List(list) => list.elements.iter().for_each(|item| collect(item, bound, found)),
        Expr::Map(map) => map
            .entries
            .iter()
            .for_each(|entry| collect_entry(&entry.expr, bound, found)),
        Expr::Struct(fields) => {
            fields
                .entries
                .iter()
                .for_each(|entry| collect_entry(&entry.expr, bound, found));
        }
        Expr::Comprehension(loop_) => {
            collect(&loop_.iter_range, bound, found);
            collect(&loop_.accu_init, bound, found);
            let before = bound.len();
            bound.extend([loop_.iter_var.as_str(), loop_.accu_var.as_str()]);
            bound.extend(loop_.iter_var2.as_deref());
            collect(&loop_.loop_cond, bound, found);
            collect(&loop_.loop_step, bound, found);
            collect(&loop_.result, bound, found);
            bound.truncate(before);
        }
    }
}

fn collect_entry<'e>(entry: &'e EntryExpr, bound: &mut Vec<&'e str>, found: &mut Vec<String>) {
    match entry {
        EntryExpr::StructField(field) => collect(&field.value, bound, found),
        EntryExpr::MapEntry(entry) => {
            collect(&entry.key, bound, found);
            collect(&entry.value, bound, found);
        }
    }
}

/// Names in front of functions.
const NAMESPACES: [&str; 8] = [
    "base64", "cel", "format", "ip", "lists", "math", "optional", "sets",
];

/// Names of types, which are values as well.
pub(super) fn is_type_name(name: &str) -> bool {
    matches!(
        name,
        "bool" | "bytes" | "double" | "int" | "list" | "map" | "null_type" | "string" | "type" | "uint"
    )
}

/// The type of the result: `dyn` for whatever is found in an object, `None` if it cannot be told.
pub(super) fn result_type(expression: &Expr) -> Option<&'static str> {
    match expression {
        Expr::Unspecified | Expr::Struct(_) => None,
        Expr::Literal(literal) => Some(match literal {
            LiteralValue::Boolean(_) => "bool",
            LiteralValue::Bytes(_) => "bytes",
            LiteralValue::Double(_) => "double",
            LiteralValue::Int(_) => "int",
            LiteralValue::Null => "null",
            LiteralValue::String(_) => "string",
            LiteralValue::UInt(_) => "uint",
        }),
        Expr::List(_) => Some("list"),
        Expr::Map(_) => Some("map"),
        Expr::Ident(_) => Some("dyn"),
        Expr::Select(select) if select.test => Some("bool"),
        Expr::Select(_) => Some("dyn"),
        Expr::Comprehension(loop_) => match &loop_.result.expr {
            // `all` and `exists` give what they have gathered, and so do `map` and `filter`.
            Expr::Ident(_) => result_type(&loop_.accu_init.expr),
            other => result_type(other),
        },
        Expr::Call(call) => call_type(call),
    }
}

fn call_type(call: &CallExpr) -> Option<&'static str> {
    match call.func_name.as_str() {
        "_&&_" | "_||_" | "!_" | "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" | "@in" | "startsWith"
        | "endsWith" | "contains" | "matches" | "hasValue" | "bool" => Some("bool"),
        "_[_]" => Some("dyn"),
        "_?:_" => None,
        "_?_:_" => {
            let (yes, no) = (call.args.get(1)?, call.args.get(2)?);
            let (yes, no) = (result_type(&yes.expr)?, result_type(&no.expr)?);
            Some(if yes == no { yes } else { "dyn" })
        }
        "size" | "int" => Some("int"),
        "string" | "lowerAscii" | "upperAscii" | "trim" => Some("string"),
        "double" => Some("double"),
        "_+_" | "_-_" | "_*_" | "_/_" | "_%_" => call.args.iter().find_map(|operand| {
            let operand = result_type(&operand.expr);
            operand.filter(|found| *found != "dyn" && *found != "bool")
        }),
        _ => None,
    }
}
