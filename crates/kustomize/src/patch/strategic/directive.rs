//! `$patch` in mappings and lists.

use firstpass_yaml::Node;

use super::is_missing;
use crate::Error;
use crate::scalar::text_of;

const KEY: &str = "$patch";

/// What a patch wants with the place it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directive {
    Merge,
    Replace,
    Delete,
}

impl Directive {
    fn parse(word: &str) -> Result<Directive, Error> {
        match word {
            "merge" => Ok(Directive::Merge),
            "replace" => Ok(Directive::Replace),
            "delete" => Ok(Directive::Delete),
            word => Err(Error::new(format!("unknown patch strategy '{word}'"))),
        }
    }
}

/// Takes the directive out of a mapping.
pub(super) fn of_map(patch: &mut Node) -> Result<Directive, Error> {
    let Some(map) = patch.as_map_mut() else {
        return Ok(Directive::Merge);
    };
    let Some(word) = map.get(KEY) else {
        return Ok(Directive::Merge);
    };
    let directive = Directive::parse(text_of(word))?;
    map.remove(KEY);
    Ok(directive)
}

/// Takes the directive out of a list: an element that holds nothing else. Only the first element with a directive is
/// looked at, and it takes all elements with the same word along, whatever else they hold, and the empty ones.
pub(super) fn of_list(patch: &mut Node) -> Result<Directive, Error> {
    let Some(items) = patch.as_seq_mut() else {
        return Ok(Directive::Merge);
    };
    let first = items
        .iter()
        .filter_map(Node::as_map)
        .find(|map| map.contains_key(KEY));
    let Some(word) = first.filter(|map| map.len() == 1).and_then(|map| map.get(KEY)) else {
        return Ok(Directive::Merge);
    };
    let word = text_of(word).to_owned();
    let directive = Directive::parse(&word)?;
    items.retain(|item| {
        !is_missing(item)
            && item
                .get(KEY)
                .is_none_or(|other| other.is_null() || text_of(other) != word)
    });
    Ok(directive)
}
