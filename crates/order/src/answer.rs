//! Is what a tier needs certainly there when its pass begins?
//!
//! A provider in another tier helps only if that tier comes first *and* its Ready condition proves that the thing is
//! there. What can prove it is a list of objects whose health says so: the HelmRelease of a chart, the Deployment of an
//! operator, the CRD itself.

use firstpass_knowledge::WaitProof;
use firstpass_object::{GroupKind, ObjectExt, ObjectId};

use crate::need::{Answer, Blocked, How, Provider};
use crate::tiers::{Before, Certainty, Gate, TierIndex};
use crate::world::{Place, ReleaseAt, World, origin_of};

/// An object whose health tells that something is there.
pub(crate) struct Proof {
    /// The object.
    pub(crate) object: ObjectId,
    /// Why its health says nothing after all; `None` if it does.
    pub(crate) void: Option<String>,
}

impl Proof {
    /// Health of this object proves it.
    pub(crate) fn by(object: ObjectId) -> Proof {
        Proof { object, void: None }
    }
}

impl World<'_> {
    /// What is known of something that `provider` brings in its tier, for a tier that begins after `before`.
    ///
    /// `early` says that the provider's own stages bring it before their last one: a CRD or a Namespace in git. Then
    /// "applied" is enough.
    pub(crate) fn answer(
        &self,
        tier: TierIndex,
        before: &Before,
        provider: Provider,
        early: bool,
        proofs: &[Proof],
    ) -> Answer {
        let Some(from) = provider.tier else {
            return Answer::There {
                from: provider.source,
            };
        };
        if from == tier {
            return if early {
                Answer::SamePass
            } else {
                Answer::Blocked {
                    provider,
                    how: Blocked::SamePass,
                }
            };
        }
        match before.certainty(from) {
            Some(_) if early => Answer::Guaranteed {
                barrier: self.edge_text(from),
                provider,
            },
            Some(Certainty::Ready) => match self.proven_by(before, from, proofs) {
                Ok(barrier) => Answer::Guaranteed { provider, barrier },
                Err(why) => Answer::WithoutBarrier { provider, why },
            },
            Some(Certainty::Applied) | None => {
                if let Some(barrier) = self.proven_elsewhere(before, proofs) {
                    return Answer::Guaranteed { provider, barrier };
                }
                match self.waits_for(from, tier) {
                    Some(how) => Answer::Blocked { provider, how },
                    None => Answer::WithoutEdge { provider },
                }
            }
        }
    }

    /// Whether, and how, a tier waits for another.
    pub(crate) fn waits_for(&self, from: TierIndex, tier: TierIndex) -> Option<Blocked> {
        match self.tiers.before(from).certainty(tier)? {
            Certainty::Ready => Some(Blocked::BehindUs(from)),
            Certainty::Applied => Some(Blocked::Child(from)),
        }
    }

    /// What Ready of a tier proves about an object: the words for it, or why it proves nothing.
    fn proven_by(&self, before: &Before, from: TierIndex, proofs: &[Proof]) -> Result<String, String> {
        if let Some(barrier) = self.proven_elsewhere(before, proofs) {
            return Ok(barrier);
        }
        let name = self.tiers.name(from);
        match &self.tiers.node(from).gate {
            Gate::Nothing => Err(format!(
                "`{name}` has neither `wait: true` nor `healthChecks`, so it is Ready as soon as its objects are stored"
            )),
            Gate::Listed(_) => Err(match proofs.first() {
                Some(proof) => format!("the `healthChecks` of `{name}` do not name `{}`", proof.object),
                None => format!("the `healthChecks` of `{name}` do not cover it"),
            }),
            Gate::Everything => Err(proofs
                .iter()
                .find_map(|proof| proof.void.clone())
                .unwrap_or_else(|| format!("what `{name}` waits for says nothing about it"))),
        }
    }

    /// Any tier that was Ready before and whose gate includes one of the proofs.
    fn proven_elsewhere(&self, before: &Before, proofs: &[Proof]) -> Option<String> {
        let ready = before
            .iter()
            .filter(|(_, certainty)| *certainty == Certainty::Ready);
        ready.map(|(tier, _)| tier).find_map(|tier| {
            let proof = proofs.iter().find(|proof| self.gate_covers(tier, proof))?;
            Some(format!(
                "`{}` is Ready only when `{}` is",
                self.tiers.name(tier),
                proof.object
            ))
        })
    }

    fn gate_covers(&self, tier: TierIndex, proof: &Proof) -> bool {
        let reports = proof.void.is_none() || self.has_health_expression(tier, &proof.object.group_kind());
        reports
            && match &self.tiers.node(tier).gate {
                Gate::Nothing => false,
                Gate::Listed(objects) => objects.contains(&proof.object),
                Gate::Everything => self
                    .by_id
                    .get(&proof.object)
                    .is_some_and(|places| places.iter().any(|place| place.tier == tier)),
            }
    }

    /// Whether `healthCheckExprs` of a tier read the health of a kind (F-534: by group and kind, or a whole group).
    fn has_health_expression(&self, tier: TierIndex, kind: &GroupKind) -> bool {
        self.tier(tier)
            .kustomization
            .spec
            .health_check_exprs
            .iter()
            .any(|expression| {
                firstpass_object::group_of(&expression.api_version) == kind.group
                    && expression.kind.as_ref().is_none_or(|named| *named == kind.kind)
            })
    }

    /// The proof that an object gives by reporting its own health, with the reason where it does not (F-514, F-515).
    pub(crate) fn proof_of(&self, object: &ObjectId) -> Proof {
        let def = self.knowledge.custom_kind(&object.group, &object.kind);
        let void = match def.map(firstpass_knowledge::KindDef::wait_proof) {
            Some(WaitProof::ReadyCondition) | None => None,
            Some(WaitProof::Nothing) => Some(format!(
                "a `{}` has neither a Ready condition nor an observed generation, so `{object}` counts as healthy the \
                 moment it is stored",
                object.kind
            )),
            Some(WaitProof::Generation) => Some(format!(
                "a `{}` has no Ready condition: `{object}` counts as healthy once its controller has seen it",
                object.kind
            )),
        };
        Proof {
            object: object.clone(),
            void,
        }
    }

    fn edge_text(&self, from: TierIndex) -> String {
        format!("`{}` has applied it before", self.tiers.name(from))
    }

    /// A provider that is an object of a tier.
    pub(crate) fn manifest(&self, place: Place<'_>) -> Provider {
        Provider {
            tier: Some(place.tier),
            object: Some(place.object.object.id()),
            origin: Some(origin_of(place)),
            how: How::Manifest,
            source: place.object.origin.file.clone(),
        }
    }
}

impl ReleaseAt<'_> {
    /// This release as the provider of something that its chart brings.
    pub(crate) fn provider(&self) -> Provider {
        let facts = self.facts.as_ref();
        Provider {
            tier: Some(self.place.tier),
            object: Some(self.id.clone()),
            origin: Some(origin_of(self.place)),
            how: How::Chart {
                chart: self.release.chart_text(),
            },
            source: facts.map(|facts| facts.chart.file.clone()).unwrap_or_default(),
        }
    }
}
