//! Patterns of `${v#p}` and its kin: those of Go's `path.Match`, except that `*` also crosses `/` (F-637).
//!
//! Works on bytes, since Flux cuts values at bytes. See
//! <https://github.com/fluxcd/pkg/blob/envsubst/v1.7.0/envsubst/path/match.go>

/// A pattern that is malformed where a match looked at it; Flux then leaves the value alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPattern;

/// Stands for bytes that are no character, as in Go.
const NO_CHARACTER: u32 = 0xFFFD;

/// Whether the pattern matches the whole name.
///
/// # Errors
/// If the pattern is malformed in a part that was looked at.
pub fn matches(mut pattern: &[u8], mut name: &[u8]) -> Result<bool, BadPattern> {
    while !pattern.is_empty() {
        let (star, chunk, rest) = next_chunk(pattern);
        pattern = rest;
        if star && chunk.is_empty() {
            return Ok(true);
        }
        let last = pattern.is_empty();
        let fits = |left: Option<&[u8]>| left.is_some_and(|left| left.is_empty() || !last);
        let left = match_chunk(chunk, name)?;
        if fits(left) {
            name = left.unwrap_or_default();
            continue;
        }
        if !star {
            return Ok(false);
        }
        let mut found = None;
        for skip in 1..=name.len() {
            let left = match_chunk(chunk, &name[skip..])?;
            if fits(left) {
                found = left;
                break;
            }
        }
        match found {
            Some(left) => name = left,
            None => return Ok(false),
        }
    }
    Ok(name.is_empty())
}

/// Splits off leading stars and what follows them up to the next star.
fn next_chunk(pattern: &[u8]) -> (bool, &[u8], &[u8]) {
    let stars = pattern.iter().take_while(|byte| **byte == b'*').count();
    let pattern = &pattern[stars..];
    let mut in_class = false;
    let mut at = 0;
    while at < pattern.len() {
        match pattern[at] {
            b'\\' if at + 1 < pattern.len() => at += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'*' if !in_class => break,
            _ => {}
        }
        at += 1;
    }
    (stars > 0, &pattern[..at], &pattern[at..])
}

/// What is left of `name` after a chunk without stars; `None` if it does not match.
fn match_chunk<'n>(mut chunk: &[u8], mut name: &'n [u8]) -> Result<Option<&'n [u8]>, BadPattern> {
    while let Some(&first) = chunk.first() {
        if name.is_empty() {
            return Ok(None);
        }
        match first {
            b'[' => {
                let (character, width) = decode(name);
                name = &name[width..];
                let (matched, rest) = match_class(&chunk[1..], character)?;
                if !matched {
                    return Ok(None);
                }
                chunk = rest;
            }
            b'?' => {
                name = &name[decode(name).1..];
                chunk = &chunk[1..];
            }
            _ => {
                if first == b'\\' {
                    chunk = &chunk[1..];
                }
                let literal = chunk.first().ok_or(BadPattern)?;
                if *literal != name[0] {
                    return Ok(None);
                }
                name = &name[1..];
                chunk = &chunk[1..];
            }
        }
    }
    Ok(Some(name))
}

/// Matches `[…]` after its opening bracket; returns what follows the class.
fn match_class(mut class: &[u8], character: u32) -> Result<(bool, &[u8]), BadPattern> {
    let negated = class.first() == Some(&b'^');
    if negated {
        class = &class[1..];
    }
    let mut matched = false;
    let mut ranges = 0;
    loop {
        if class.first() == Some(&b']') && ranges > 0 {
            return Ok((matched != negated, &class[1..]));
        }
        let (low, rest) = class_character(class)?;
        let (high, rest) = match rest.first() {
            Some(b'-') => class_character(&rest[1..])?,
            _ => (low, rest),
        };
        class = rest;
        matched |= (low..=high).contains(&character);
        ranges += 1;
    }
}

fn class_character(class: &[u8]) -> Result<(u32, &[u8]), BadPattern> {
    let class = match class.first() {
        None | Some(b'-' | b']') => return Err(BadPattern),
        Some(b'\\') => &class[1..],
        Some(_) => class,
    };
    if class.is_empty() {
        return Err(BadPattern);
    }
    let (character, width) = decode(class);
    let rest = &class[width..];
    if rest.is_empty() || character == NO_CHARACTER && width == 1 {
        return Err(BadPattern);
    }
    Ok((character, rest))
}

/// The first character and its width; bytes that are none count one by one.
fn decode(bytes: &[u8]) -> (u32, usize) {
    let head = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    match valid.chars().next() {
        Some(character) => (u32::from(character), character.len_utf8()),
        None => (NO_CHARACTER, 1.min(bytes.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        let table = [
            ("abc", "abc", Ok(true)),
            ("*", "a/b", Ok(true)),
            ("*c", "abc", Ok(true)),
            ("a*/b", "axx/yy/b", Ok(true)),
            ("a?c", "aéc", Ok(true)),
            ("[a-c]x", "bx", Ok(true)),
            ("[^a-c]x", "bx", Ok(false)),
            ("a\\*", "a*", Ok(true)),
            ("[]a]", "]", Err(BadPattern)),
            ("[a", "a", Err(BadPattern)),
            ("a*b*c", "a1b2c", Ok(true)),
            ("", "", Ok(true)),
            ("a", "", Ok(false)),
        ];
        for (pattern, name, expected) in table {
            assert_eq!(
                matches(pattern.as_bytes(), name.as_bytes()),
                expected,
                "{pattern} {name}"
            );
        }
    }
}
