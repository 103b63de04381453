//! The keys and values of a generated object: from env files, literals and files, in this order.

use std::collections::BTreeMap;

use crate::Error;
use crate::file::{GeneratorArgs, Located};
use crate::session::Site;

type Pair = (String, Vec<u8>);

/// Loads all of them. A key that comes twice is an error.
pub(super) fn load(
    args: &Located<GeneratorArgs>,
    site: Site<'_, '_>,
) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let mut pairs = Vec::new();
    for path in &args.envs {
        if let Some(file) = site.read(path, args.mark)? {
            env_file(&file.bytes, &mut pairs)
                .map_err(|error| error.at(&file.path, firstpass_yaml::Mark::NONE))?;
        }
    }
    for literal in &args.literals {
        pairs.push(self::literal(literal)?);
    }
    for source in &args.files {
        let (key, path) = file_source(source)?;
        if let Some(file) = site.read(path, args.mark)? {
            pairs.push((key.to_owned(), file.bytes.to_vec()));
        }
    }
    let mut data = BTreeMap::new();
    for (key, value) in pairs {
        if data.contains_key(&key) {
            return Err(Error::new(format!(
                "configmap {} illegally repeats the key `{key}`",
                args.name
            ))
            .help("give each key once"));
        }
        data.insert(key, value);
    }
    Ok(data)
}

/// The lines of an env file. Empty lines and comments are none, and a line without `=` is a key with an empty value.
fn env_file(bytes: &[u8], pairs: &mut Vec<Pair>) -> Result<(), Error> {
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Ok(line) = std::str::from_utf8(line) else {
            return Err(Error::new(format!("line {} has invalid utf8 bytes", index + 1))
                .help("save the file as UTF-8"));
        };
        let line = if index == 0 {
            line.strip_prefix('\u{FEFF}').unwrap_or(line)
        } else {
            line
        };
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        if !key.is_empty() {
            pairs.push((key.to_owned(), value.as_bytes().to_vec()));
        }
    }
    Ok(())
}

/// `KEY=VALUE`; one pair of quotes around the value is taken off.
fn literal(text: &str) -> Result<Pair, Error> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => {
            Ok((key.to_owned(), without_quotes(value).as_bytes().to_vec()))
        }
        _ => Err(
            Error::new(format!("invalid literal source {text}, expected key=value"))
                .help("write the literal as KEY=VALUE"),
        ),
    }
}

fn without_quotes(text: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(text)
}

/// `[KEY=]PATH`; the key is the file's name if none is given.
fn file_source(source: &str) -> Result<(&str, &str), Error> {
    match source.matches('=').count() {
        0 => Ok((base_name(source), source)),
        1 => match source.split_once('=') {
            Some(("", path)) => Err(Error::new(format!(
                "missing key name for file path {path:?} in source {source:?}"
            ))),
            Some((key, "")) => Err(Error::new(format!(
                "missing file path for key name {key:?} in source {source:?}"
            ))),
            Some(pair) => Ok(pair),
            None => Ok((source, source)),
        },
        _ => Err(Error::new(format!(
            "source {source:?} key name or file path contains '='"
        ))),
    }
}

/// The last part of a path, as Go's `path.Base` takes it.
fn base_name(path: &str) -> &str {
    match path.trim_end_matches('/').rsplit('/').next() {
        None | Some("") if path.is_empty() => ".",
        None | Some("") => "/",
        Some(name) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn env_files() {
        let mut pairs = Vec::new();
        env_file(
            "\u{FEFF}A=1\r\n  # note\n\n  B = x=y \nC\n".as_bytes(),
            &mut pairs,
        )
        .unwrap();
        let text: Vec<_> = pairs
            .iter()
            .map(|(key, value)| (key.as_str(), std::str::from_utf8(value).unwrap()))
            .collect();
        assert_eq!(text, [("A", "1"), ("B ", " x=y "), ("C", "")]);
        assert!(env_file(&[0xFF], &mut pairs).is_err());
    }

    #[test]
    fn literals() {
        let value = |text| literal(text).map(|(_, value)| String::from_utf8(value).unwrap());
        assert_eq!(value("a=b=c").unwrap(), "b=c");
        assert_eq!(value("a='b'").unwrap(), "b");
        assert_eq!(value("a='b\"").unwrap(), "'b\"");
        assert_eq!(value("a='").unwrap(), "'");
        assert!(value("=b").is_err());
        assert!(value("a").is_err());
    }

    #[test]
    fn file_sources() {
        assert_eq!(
            file_source("conf/app.toml").unwrap(),
            ("app.toml", "conf/app.toml")
        );
        assert_eq!(
            file_source("key=conf/app.toml").unwrap(),
            ("key", "conf/app.toml")
        );
        for wrong in ["=path", "key=", "a=b=c"] {
            assert!(file_source(wrong).is_err(), "{wrong}");
        }
    }
}
