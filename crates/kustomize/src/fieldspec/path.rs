//! Paths as they are written in kustomization files, and their parts.

use crate::Error;

/// One part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPart<'a> {
    /// The element of a list at this index.
    Index(usize),
    /// The last element of a list: `-`.
    Last,
    /// Every element of a list: `*`.
    Every,
    /// The elements of a list whose field has this value: `[name=nginx]`, or `[=value]` in a list of scalars.
    Element {
        /// The field; empty for scalars.
        field: &'a str,
        /// The value.
        value: &'a str,
    },
    /// The value of a mapping under this key.
    Field(&'a str),
}

impl<'a> PathPart<'a> {
    /// Reads a part. A negative index and brackets without `=` are errors.
    pub fn parse(part: &'a str) -> Result<PathPart<'a>, Error> {
        if part.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return Ok(PathPart::Field(part));
        }
        if let Some(index) = as_go_int(part) {
            return usize::try_from(index)
                .map(PathPart::Index)
                .map_err(|_| Error::new(format!("array index {index} cannot be negative")));
        }
        Ok(match part {
            "-" => PathPart::Last,
            "*" => PathPart::Every,
            _ if is_list_index(part) => {
                // kustomize cuts one bracket from either side.
                let inner = &part[1..part.len() - 1];
                let (field, value) = inner.split_once('=').ok_or_else(|| {
                    Error::new("list path element must contain fieldName=fieldValue for element to match")
                })?;
                PathPart::Element { field, value }
            }
            _ => PathPart::Field(part),
        })
    }
}

/// Whether a part is in brackets.
pub(crate) fn is_list_index(part: &str) -> bool {
    part.len() >= 2 && part.starts_with('[') && part.ends_with(']')
}

/// The number that Go's `strconv.Atoi` reads.
pub(crate) fn as_go_int(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Splits a path at a delimiter, one at the start counting for nothing; `\` before it makes it part of a key.
pub fn split_path(path: &str, delimiter: char) -> Vec<String> {
    let mut pieces = path.split(delimiter);
    let mut first = pieces.next().unwrap_or_default();
    if first.is_empty()
        && let Some(next) = pieces.next()
    {
        first = next;
    }
    let mut parts = vec![first.to_owned()];
    for piece in pieces {
        match parts.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push(delimiter);
                last.push_str(piece);
            }
            _ => parts.push(piece.to_owned()),
        }
    }
    parts
}

/// Splits a path like [`split_path`], except that what stands in brackets stays together: `[name=a.b]` is one part with
/// its brackets, `[a.b]` one part without them.
pub fn split_path_smart(path: &str, delimiter: char) -> Vec<String> {
    let mut parts = Vec::new();
    let mut pieces = split_path(path, delimiter).into_iter();
    while let Some(piece) = pieces.next() {
        if !piece.starts_with('[') || piece.ends_with(']') {
            parts.push(piece);
            continue;
        }
        let mut bracketed = piece;
        for next in pieces.by_ref() {
            bracketed.push(delimiter);
            bracketed.push_str(&next);
            if next.ends_with(']') {
                break;
            }
        }
        if bracketed.contains('=') {
            parts.push(bracketed);
        } else {
            parts.push(bracketed.trim_matches(['[', ']']).to_owned());
        }
    }
    parts
}
