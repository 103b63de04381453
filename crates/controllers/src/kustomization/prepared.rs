//! What a build comes to before anything of it is sent: its digest, and its objects by stage.

use std::sync::Arc;

use serde_json::Value;

use super::history;
use super::normalize::normalize;
use super::stages::{Stage, StageRules};

/// A build that is ready to be sent. Nearly every attempt in a cluster's life builds the same objects again, so what came of
/// them is kept.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    built: Vec<Arc<Value>>,
    pub(super) unknown_tokens: Arc<[String]>,
    /// Tells the build from others (F-007).
    pub(super) digest: String,
    /// The objects as they are sent, by stage.
    pub(super) stages: Arc<[(Stage, Vec<Arc<Value>>)]>,
}

impl Prepared {
    pub(super) fn of(built: Vec<Arc<Value>>, unknown_tokens: Arc<[String]>, rules: &StageRules) -> Prepared {
        let sent: Vec<Arc<Value>> = built
            .iter()
            .map(|object| normalize(object, &unknown_tokens))
            .collect();
        Prepared {
            digest: history::digest(&built),
            stages: rules.divide(&sent).into(),
            built,
            unknown_tokens,
        }
    }

    /// Whether it was made of these very objects.
    pub(super) fn is_of(&self, built: &[Arc<Value>], unknown_tokens: &[String]) -> bool {
        let is_same = |(own, other): (&Arc<Value>, &Arc<Value>)| Arc::ptr_eq(own, other);
        self.built.len() == built.len()
            && self.built.iter().zip(built).all(is_same)
            && *self.unknown_tokens == *unknown_tokens
    }
}
