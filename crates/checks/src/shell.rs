//! What Flux's substitution does to a shell script that was not written for it.
//!
//! The two languages share `${…}` and `$$` and mean different things by them: `${1:-x}` is the first argument to a shell
//! and a variable called `1` to Flux, `$$` is the process id to a shell and an escaped dollar sign to Flux.

use firstpass_envsubst::{DefaultSign, Expression, Operator, Template};

/// One piece of a script that comes out of substitution as something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rewrite {
    /// Where it starts, in bytes.
    pub(crate) offset: usize,
    /// As written.
    pub(crate) written: String,
    /// What the shell gets to see.
    pub(crate) becomes: String,
    /// What to write instead.
    pub(crate) escaped: String,
}

/// What substitution rewrites in a script although the shell was meant. `is_flux_variable` tells which names belong to
/// Flux: an expression with one of those is meant for substitution.
pub(crate) fn rewrites(script: &str, is_flux_variable: &dyn Fn(&str) -> bool) -> Vec<Rewrite> {
    let Ok(template) = Template::parse(script) else {
        // Then there is no object to look at: the build has failed.
        return Vec::new();
    };
    let mut found: Vec<Rewrite> = template
        .expressions()
        .into_iter()
        .filter(|expression| means_the_shell(script, expression, is_flux_variable))
        .map(|expression| {
            let written = &script[expression.span.clone()];
            Rewrite {
                offset: expression.span.start,
                written: written.to_owned(),
                becomes: default_of(written),
                escaped: format!("${written}"),
            }
        })
        .collect();
    found.extend(process_ids(script).map(|offset| Rewrite {
        offset,
        written: "$$".to_owned(),
        becomes: "$".to_owned(),
        escaped: "$$$$".to_owned(),
    }));
    found.sort_by_key(|rewrite| rewrite.offset);
    found
}

fn means_the_shell(
    script: &str,
    expression: &Expression<'_>,
    is_flux_variable: &dyn Fn(&str) -> bool,
) -> bool {
    if expression.name.bytes().all(|byte| byte.is_ascii_digit()) {
        // `${1}`: no variable of Flux can be called so (F-606).
        return true;
    }
    if is_flux_variable(expression.name) {
        return false;
    }
    match expression.operator {
        // A default for a name that nothing defines never fails, not even in strict mode (F-650). `:+` and `:?` give
        // their text as if it were a default (F-632).
        Operator::Default(DefaultSign::ColonMinus | DefaultSign::ColonPlus | DefaultSign::ColonQuestion) => {
            true
        }
        // `:=` is how Flux users write a default. A shell has it in `: "${NAME:=value}"`.
        Operator::Default(DefaultSign::ColonEqual | DefaultSign::Equal) => {
            let line = script[..expression.span.start].rsplit('\n').next();
            line.is_some_and(|line| line.trim_start().trim_end_matches('"').trim_end() == ":")
        }
        _ => false,
    }
}

/// The default in `${name:-default}`: what stands behind the operator.
fn default_of(written: &str) -> String {
    let inner = written.trim_start_matches("${").trim_end_matches('}');
    let after_name = inner.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '_');
    let default = after_name.trim_start_matches(':');
    default.chars().skip(1).collect()
}

/// Where `$$` stands for the process id. In front of a name, a brace or a digit it is an escape that somebody wrote on
/// purpose, and behind a letter it is the end of a pattern.
fn process_ids(script: &str) -> impl Iterator<Item = usize> + '_ {
    let bytes = script.as_bytes();
    let mut next = 0;
    std::iter::from_fn(move || {
        while next + 1 < bytes.len() {
            let start = next;
            if bytes[start] != b'$' {
                next += 1;
                continue;
            }
            let run = bytes[start..].iter().take_while(|byte| **byte == b'$').count();
            next = start + run;
            let before = start.checked_sub(1).map(|index| bytes[index]);
            let after = bytes.get(start + run).copied();
            let begins = before.is_none_or(|byte| {
                matches!(byte, b'-' | b'.' | b'/' | b'_' | b'=' | b'"' | b':' | b'(')
                    || byte.is_ascii_whitespace()
            });
            let ends = after.is_none_or(|byte| {
                matches!(byte, b'-' | b'.' | b'/' | b'"' | b':' | b';' | b',' | b')')
                    || byte.is_ascii_whitespace()
            });
            if run == 2 && begins && ends {
                return Some(start);
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(script: &str) -> Vec<String> {
        rewrites(script, &|name| name == "DOMAIN")
            .into_iter()
            .map(|rewrite| format!("{} -> {}", rewrite.written, rewrite.becomes))
            .collect()
    }

    #[test]
    fn shell_expansions_are_found() {
        let table: [(&str, &[&str]); 8] = [
            (
                "target=\"${1:-/var/backup}\"",
                &["${1:-/var/backup} -> /var/backup"],
            ),
            ("lock=/run/x-$$.lock", &["$$ -> $"]),
            ("echo pid $$", &["$$ -> $"]),
            (
                "${MODE:-fast} ${MODE:+--mode} ${MODE:?no mode}",
                &[
                    "${MODE:-fast} -> fast",
                    "${MODE:+--mode} -> --mode",
                    "${MODE:?no mode} -> no mode",
                ],
            ),
            (": \"${HOME:=/root}\"", &["${HOME:=/root} -> /root"]),
            ("a ${REGION:=local}", &[]),
            ("curl https://${DOMAIN:-example.com}", &[]),
            ("echo $HOME $${REGION:-none} $$HOME $(id) grep 'x$$' \"^$$\"", &[]),
        ];
        for (script, expected) in table {
            assert_eq!(written(script), expected, "{script}");
        }
    }
}
