//! Regular expressions, durations, formats.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use cel::common::types::{
    CelBool, CelInt, CelList, CelOptional, CelString, DURATION_TYPE, INT_TYPE, STRING_TYPE,
};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};
use regex::Regex;

use super::{Answer, argument, fail, owned, text};
use crate::cel::span::Span;
use crate::cel::values::{FORMAT, Format};
use crate::validation::names;

pub(super) fn standard(env: &mut Env) -> Result<(), DeclarationError> {
    let string = || STRING_TYPE.to_owned();
    env.add_overload("matches", "matches", vec![string(), string()], matches)?;
    env.add_member_overload("matches", "matches_string", string(), vec![string()], matches)?;
    env.add_overload(
        "duration",
        "string_to_duration",
        vec![string()],
        |args| match Span::parse(text(&args, 0)?) {
            Some(span) => owned(span),
            None => fail("duration", "cannot be parsed"),
        },
    )?;
    let duration = || DURATION_TYPE.to_owned();
    env.add_overload("duration", "duration_to_duration", vec![duration()], |args| {
        owned(*argument::<Span>(&args, 0)?)
    })?;
    env.add_overload("string", "duration_to_string", vec![duration()], |args| {
        let span = firstpass_flux::Duration::from_nanos(argument::<Span>(&args, 0)?.0);
        owned(CelString::from(span.to_string()))
    })?;
    env.add_member_overload("getHours", "duration_to_hours", duration(), vec![], |args| {
        whole(&args, 3_600_000_000_000)
    })?;
    env.add_member_overload("getMinutes", "duration_to_minutes", duration(), vec![], |args| {
        whole(&args, 60_000_000_000)
    })?;
    env.add_member_overload("getSeconds", "duration_to_seconds", duration(), vec![], |args| {
        whole(&args, 1_000_000_000)
    })?;
    env.add_member_overload(
        "getMilliseconds",
        "duration_to_milliseconds",
        duration(),
        vec![],
        |args| whole(&args, 1_000_000),
    )
}

pub(super) fn kubernetes(env: &mut Env) -> Result<(), DeclarationError> {
    let string = || STRING_TYPE.to_owned();
    env.add_member_overload("find", "string_find_string", string(), vec![string()], |args| {
        let found = regex(text(&args, 1)?)?
            .find(text(&args, 0)?)
            .map(|found| found.as_str().to_owned());
        owned(CelString::from(found.unwrap_or_default()))
    })?;
    env.add_member_overload(
        "findAll",
        "string_find_all_string",
        string(),
        vec![string()],
        |args| find_all(&args, usize::MAX),
    )?;
    env.add_member_overload(
        "findAll",
        "string_find_all_string_int",
        string(),
        vec![string(), INT_TYPE.to_owned()],
        |args| {
            let most = *argument::<CelInt>(&args, 2)?.inner();
            find_all(&args, usize::try_from(most).unwrap_or(usize::MAX))
        },
    )?;
    env.add_overload("format.named", "format_named", vec![string()], |args| {
        let name = text(&args, 0)?;
        let found = FORMATS.into_iter().find(|format| *format == name);
        owned(match found {
            Some(name) => CelOptional::of(Box::new(Format(name))),
            None => CelOptional::none(),
        })
    })?;
    macro_rules! formats {
        ($($name:literal),*) => {
            /// Names of the formats.
            const FORMATS: [&str; [$($name),*].len()] = [$($name),*];
            $(
                env.add_overload(concat!("format.", $name), concat!("format_", $name), vec![], |_| {
                    owned(Format($name))
                })?;
            )*
        };
    }
    formats!(
        "dns1123Label",
        "dns1123Subdomain",
        "dns1035Label",
        "qualifiedName",
        "dns1123LabelPrefix",
        "dns1123SubdomainPrefix",
        "dns1035LabelPrefix",
        "labelValue",
        "uri",
        "uuid",
        "byte",
        "date",
        "datetime"
    );
    env.add_member_overload(
        "validate",
        "format_validate",
        FORMAT.to_owned(),
        vec![string()],
        |args| {
            let complaints = complaints(argument::<Format>(&args, 0)?.0, text(&args, 1)?);
            owned(if complaints.is_empty() {
                CelOptional::none()
            } else {
                CelOptional::of(texts(complaints))
            })
        },
    )
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the interpreter hands over its arguments"
)]
fn matches<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    owned(CelBool::from(regex(text(&args, 1)?)?.is_match(text(&args, 0)?)))
}

/// Compiled expressions are remembered: rules are evaluated for every object.
fn regex(pattern: &str) -> Result<Regex, ExecutionError> {
    static CACHE: OnceLock<Mutex<BTreeMap<String, Option<Regex>>>> = OnceLock::new();
    let mut cache = CACHE
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let regex = cache
        .entry(pattern.to_owned())
        .or_insert_with(|| Regex::new(pattern).ok());
    regex.clone().ok_or_else(|| {
        ExecutionError::function_error("matches", format!("'{pattern}' is no regular expression"))
    })
}

fn find_all<'b, 'v>(args: &[CowVal<'b, 'v>], most: usize) -> Answer<'b, 'v> {
    let regex = regex(text(args, 1)?)?;
    let found: Vec<String> = regex
        .find_iter(text(args, 0)?)
        .take(most)
        .map(|found| found.as_str().to_owned())
        .collect();
    Ok(CowVal::Owned(texts(found)))
}

fn texts<'v>(texts: Vec<String>) -> Box<dyn Val + 'v> {
    let items = texts
        .into_iter()
        .map(|text| -> Box<dyn Val + 'v> { Box::new(CelString::from(text)) });
    Box::new(CelList::from(items.collect::<Vec<_>>()))
}

fn whole<'b, 'v>(args: &[CowVal<'b, 'v>], unit: i64) -> Answer<'b, 'v> {
    owned(CelInt::from(argument::<Span>(args, 0)?.0 / unit))
}

/// What is wrong with a text that should have a format.
fn complaints(format: &str, text: &str) -> Vec<String> {
    let unless = |fits: bool, what: &str| if fits { vec![] } else { vec![what.to_owned()] };
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match format {
        "dns1123Label" => names::dns1123_label(text),
        "dns1123Subdomain" => names::dns1123_subdomain(text),
        "dns1035Label" => names::dns1035_label(text),
        "dns1123LabelPrefix" => names::dns1123_label(&format!("{}a", text.trim_end_matches('-'))),
        "dns1123SubdomainPrefix" => names::dns1123_subdomain(&format!("{}a", text.trim_end_matches('-'))),
        "dns1035LabelPrefix" => names::dns1035_label(&format!("{}a", text.trim_end_matches('-'))),
        "qualifiedName" => names::qualified_name(text),
        "labelValue" => names::label_value(text),
        "uri" => unless(crate::cel::values::Url::parse(text).is_some(), "invalid URI"),
        "uuid" => {
            let parts: Vec<&str> = text.split('-').collect();
            let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
            let is_uuid = lengths == [8, 4, 4, 4, 12] && parts.iter().all(|part| is_hex(part));
            unless(is_uuid, "does not match the UUID format")
        }
        "byte" => {
            use base64::Engine;
            let decoded = base64::engine::general_purpose::STANDARD.decode(text);
            unless(decoded.is_ok(), "invalid base64")
        }
        "date" => unless(
            firstpass_object::parse_timestamp(&format!("{text}T00:00:00Z")).is_some(),
            "invalid date",
        ),
        _ => unless(
            firstpass_object::parse_timestamp(text).is_some(),
            "invalid datetime",
        ),
    }
}
