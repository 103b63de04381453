//! The dialect, rule by rule (F-620 to F-652). Expected values were checked against fluxcd/pkg/envsubst 1.7.0.

use firstpass_envsubst::{ErrorKind, Lookup, Mode, Template};

fn value(name: &str) -> Lookup<'static> {
    match name {
        "a" => Lookup::Known("value/one.two".into()),
        "b" => Lookup::Known("".into()),
        "n" => Lookup::Known("3".into()),
        "neg" => Lookup::Known("-2".into()),
        "s" => Lookup::Known("aXbXc".into()),
        "u" => Lookup::Known("héllo".into()),
        "dollar" => Lookup::Known("$$ ${a}".into()),
        "unknown" => Lookup::Unknown,
        "open" => Lookup::Open,
        _ => Lookup::Unset,
    }
}

fn expand(text: &str, mode: Mode) -> Result<String, String> {
    let expansion = Template::parse(text).and_then(|template| template.expand(mode, value));
    expansion
        .map(|expansion| expansion.text)
        .map_err(|error| error.to_string())
}

fn check(table: &[(&str, &str)]) {
    for (text, expected) in table {
        assert_eq!(expand(text, Mode::Loose).as_deref(), Ok(*expected), "{text}");
    }
}

fn check_errors(table: &[(&str, &str)]) {
    for (text, expected) in table {
        assert_eq!(expand(text, Mode::Loose), Err((*expected).to_owned()), "{text}");
    }
}

/// F-620, F-621, F-623, F-624.
#[test]
fn only_braces_and_double_dollars_are_special() {
    check(&[
        ("$a $(a) $ {a} $", "$a $(a) $ {a} $"),
        ("\\${n}", "\\3"),
        ("a$$b", "a$b"),
        ("$$$$", "$$"),
        ("$${a}", "${a}"),
        ("$$${n}", "$3"),
        ("$$$${a}", "$${a}"),
        ("${dollar}", "$$ ${a}"),
        ("x\0${a", "x"),
        ("", ""),
    ]);
}

/// F-622.
#[test]
fn names_are_letters_digits_and_underscores() {
    check(&[("${1}", ""), ("${_x}", ""), ("${ümlaut}", "")]);
    let no_name = "unable to parse variable name";
    for text in ["${}", "${ a}", "${!a}", "${*}", "${@}", "${?}", "${-}", "${$}"] {
        assert_eq!(expand(text, Mode::Loose), Err(no_name.to_owned()), "{text}");
    }
    let no_brace = "missing closing brace";
    for text in [
        "${a }", "${a.b}", "${a-b}", "${a+b}", "${a?b}", "${a!}", "${a@Q}", "${a[0]}", "${a",
    ] {
        assert_eq!(expand(text, Mode::Loose), Err(no_brace.to_owned()), "{text}");
    }
}

/// F-631, F-632, F-633, F-641, F-642.
#[test]
fn all_default_operators_act_alike() {
    check(&[
        ("${n:=d}${n:-d}${n=d}${n:+d}${n:?d}", "33333"),
        ("${b:=d}${b:-d}${b=d}${b:+d}${b:?d}", "ddddd"),
        ("${m:=a}b}", "ab}"),
        ("${m:={}}", "{}"),
        ("${m:=}", ""),
        ("${m:= a: \"b\"\n}", " a: \"b\"\n"),
        ("${m:=$$}", "$$"),
        ("${m:=$${n}}", "$3"),
        ("${m==x}${m:==x}", "=x=x"),
    ]);
}

/// F-634, F-635.
#[test]
fn lengths_and_letter_case() {
    check(&[
        ("${#u}", "6"),
        ("${#m}", "0"),
        ("${a^} ${a^^} ${u^^}", "Value/one.two VALUE/ONE.TWO HÉLLO"),
        ("${s,} ${s,,}", "aXbXc axbxc"),
        ("${a^,} ${a,^}", "value/one.two value/one.two"),
    ]);
    check_errors(&[
        ("${a^^^}", "bad substitution"),
        ("${#}", "bad substitution"),
        ("${#a.b}", "bad substitution"),
    ]);
}

/// F-636.
#[test]
fn substrings_count_bytes() {
    check(&[
        ("${s:1}|${s:1:2}|${s:0:${n}}", "XbXc|Xb|aXb"),
        ("${s:-1}|${s: -1}|${s:x}|${s:1:x}", "aXbXc|aXbXc|aXbXc|aXbXc"),
        ("${s:${neg}}", "Xc"),
        ("${s:9}|${s:9:1}|${s:1:99}", "||XbXc"),
        ("${s:1::2}", "Xb"),
    ]);
    let missing = "unable to parse substitution within function";
    check_errors(&[
        ("${s:}", missing),
        ("${s::2}", missing),
        ("${s:é}", "bad substitution"),
        ("${u:2}", "a substring cuts a character in two"),
    ]);
    let error = Template::parse("${s:2:${neg}}")
        .unwrap()
        .expand(Mode::Loose, value)
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::NegativeLength);
}

/// F-637.
#[test]
fn globs_trim_prefixes_and_suffixes() {
    check(&[
        ("${a#*/}|${a##*.}|${a%.*}|${a%%/*}", "one.two|two|value/one|value"),
        (
            "${a#v?l}|${a#[^x]}|${a#[a-c]}",
            "ue/one.two|alue/one.two|value/one.two",
        ),
        ("${a#nothing}|${a#[}", "value/one.two|value/one.two"),
    ]);
    check_errors(&[
        ("${a#}", "unable to parse substitution within function"),
        ("${a#x${n}}", "bad substitution"),
    ]);
}

/// F-638, F-639.
#[test]
fn replacements_are_literal() {
    check(&[
        ("${s/X/-}|${s//X/-}|${s//X/}|${s/*/-}", "a-bXc|a-b-c|abc|aXbXc"),
        ("${a/\\//:}|${s/X/\\\\}|${s/X/$$}", "value:one.two|a\\bXc|a$bXc"),
        (
            "${s/#a/A}|${s/#b/B}|${s/%c/C}|${s/#a/}",
            "AXbXc|aXbXc|aXbXC|aXbXc",
        ),
        ("${s/${m}/-}|${s//${m}/-}", "-aXbXc|-a-X-b-X-c-"),
    ]);
    check_errors(&[("${s/X}", "bad substitution")]);
}

/// F-640.
#[test]
fn expressions_nest() {
    check(&[
        ("${m:=${k:=x}}", "x"),
        ("${a/${n}/z}", "value/one.two"),
        ("${m:=<${n}-${s}>}", "<3-aXbXc>"),
    ]);
    let deep = format!("{}{}", "${m:=".repeat(100_000), "}".repeat(100_000));
    assert_eq!(Template::parse(&deep).unwrap_err().kind, ErrorKind::TooDeep);
}

/// F-650, F-652, F-1761.
#[test]
fn strict_mode_wants_variables_set() {
    let not_set = |name: &str| Err(format!("variable not set (strict mode): \"{name}\""));
    let table = [
        ("${m}", not_set("m"), not_set("m")),
        ("${#m}", not_set("m"), Ok("0".to_owned())),
        ("${m^^}", not_set("m"), Ok(String::new())),
        ("${m:0:2}", not_set("m"), Ok(String::new())),
        ("${m:=d}", Ok("d".to_owned()), Ok("d".to_owned())),
        ("${b}", Ok(String::new()), Ok(String::new())),
        ("${n:=${m}}", not_set("m"), not_set("m")),
        ("${n:=${m^}}", not_set("m"), Ok("3".to_owned())),
    ];
    for (text, strict, bare) in table {
        assert_eq!(expand(text, Mode::Strict), strict, "{text}");
        assert_eq!(expand(text, Mode::StrictBare), bare, "{text}");
    }
}

#[test]
fn unknown_values_stay_as_written() {
    let table: [(&str, &str, &[&str]); 7] = [
        ("x ${unknown} $$y", "x ${unknown} $y", &["unknown"]),
        ("${unknown:=d}", "${unknown:=d}", &["unknown"]),
        ("${n:=${unknown}}", "3", &["unknown"]),
        ("${m:=a$$${unknown}}", "${m:=a$$${unknown}}", &["unknown"]),
        ("${a/${unknown}/x}", "${a/${unknown}/x}", &["unknown"]),
        ("${open}", "${open}", &["open"]),
        ("${open:=d}", "d", &["open"]),
    ];
    for (text, expected, unknown) in table {
        let expansion = Template::parse(text)
            .unwrap()
            .expand(Mode::Strict, value)
            .unwrap();
        assert_eq!(expansion.text, expected, "{text}");
        assert_eq!(expansion.unknown, unknown, "{text}");
    }
}

#[test]
fn places_are_known() {
    let text = "é ${a} ${b:=${c}}";
    let template = Template::parse(text).unwrap();
    let places: Vec<_> = template
        .expressions()
        .into_iter()
        .map(|expression| (expression.name, &text[expression.span.clone()]))
        .collect();
    assert_eq!(places, [("a", "${a}"), ("b", "${b:=${c}}"), ("c", "${c}")]);
    assert_eq!(Template::parse("ok ${a} ${a.b}").unwrap_err().offset, 8);
}
