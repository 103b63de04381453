//! Applying as somebody else: service accounts and other clusters (F-137, F-166, F-223, F-433).
//!
//! An account is held to its bindings as soon as the sources or the cluster show one; without any, whoever set the
//! cluster up is taken to have made them.

use firstpass_apiserver::{Account, ApiError};
use firstpass_flux::{KubeConfig, Kustomization, names};
use firstpass_object::{ObjectId, TierName};
use serde_json::Value;

use super::{Failure, KustomizationController, Obstacle, Retry};
use crate::context::Context;
use crate::time::of_flux;

/// The account that a Kustomization applies as; `None` for the controller's own.
pub(super) fn account_of(kustomization: &Kustomization, context: &Context<'_>) -> Option<TierName> {
    let own = kustomization.spec.service_account_name.as_ref();
    let name = own.or(context.settings.default_service_account.as_ref())?;
    Some(TierName::new(&kustomization.name.namespace, name))
}

/// Whether a Kustomization has a client of its own for every attempt (F-227).
pub(super) fn has_own_client(kustomization: &Kustomization, context: &Context<'_>) -> bool {
    kustomization.spec.kube_config.is_some() || account_of(kustomization, context).is_some()
}

/// Whether a Kustomization uses the controller's client, which never forgets a kind that it knew (F-226). Flux 2.5 makes a
/// client for every attempt (F-1720).
pub(super) fn keeps_client(kustomization: &Kustomization, context: &Context<'_>) -> bool {
    !has_own_client(kustomization, context) && context.settings.flux.minor != 5
}

/// The account, if something shows what it may do.
pub(super) fn restricted_account(kustomization: &Kustomization, context: &Context<'_>) -> Option<TierName> {
    if kustomization.spec.kube_config.is_some() {
        return None;
    }
    let account = account_of(kustomization, context)?;
    let is_known = context.server.is_bound(account_view(&account)) || context.contents.grants(&account);
    is_known.then_some(account)
}

/// What the server says to an account that applies an object.
pub(super) fn authorize_apply(
    account: Option<&TierName>,
    object: &Value,
    is_new: bool,
    context: &Context<'_>,
) -> Result<(), ApiError> {
    let Some(account) = account.map(account_view) else {
        return Ok(());
    };
    context.server.authorize(account, "patch", object)?;
    if is_new {
        context.server.authorize(account, "create", object)?;
    }
    Ok(())
}

/// What the server says to an account that deletes an object.
pub(super) fn authorize_delete(
    account: Option<&TierName>,
    object: &Value,
    context: &Context<'_>,
) -> Result<(), ApiError> {
    account.map_or(Ok(()), |account| {
        context.server.authorize(account_view(account), "delete", object)
    })
}

/// F-137: the client for another cluster needs its kubeconfig. What nothing brings is taken to exist.
pub(super) fn check_kube_config(kustomization: &Kustomization, context: &Context<'_>) -> Result<(), Failure> {
    let Some(kube_config) = &kustomization.spec.kube_config else {
        return Ok(());
    };
    let namespace = &kustomization.name.namespace;
    let (kind, name, resource) = match kube_config {
        KubeConfig::Secret { name, .. } => ("Secret", name, "secrets"),
        KubeConfig::ConfigMap { name } => ("ConfigMap", name, "configmaps"),
    };
    let id = ObjectId::new("", kind, Some(namespace), name);
    if context.server.object(&id).is_some() || !context.contents.brings(&id) {
        return Ok(());
    }
    let error = format!("{resource} \"{name}\" not found");
    let message = match kube_config {
        KubeConfig::Secret { .. } => {
            format!("unable to read KubeConfig secret '{namespace}/{name}' error: {error}")
        }
        KubeConfig::ConfigMap { .. } => format!("failed to get ConfigMap '{namespace}/{name}': {error}"),
    };
    Err(Failure {
        reason: names::reason::RECONCILIATION_FAILED,
        message: format!("failed to build kube client: {message}"),
        obstacles: vec![Obstacle::VariableSource { object: id }],
        retry: Retry::After(of_flux(kustomization.spec.retry_interval())),
    })
}

impl KustomizationController {
    /// Remembers that the account of a Kustomization exists.
    pub(super) fn remember_account(&mut self, kustomization: &Kustomization, context: &Context<'_>) {
        if let Some(account) = account_of(kustomization, context)
            && exists(&account, context)
        {
            self.accounts_seen.insert(account);
        }
    }

    /// F-433: whether the account of a Kustomization was there and is gone.
    pub(super) fn has_lost_account(&self, kustomization: &Kustomization, context: &Context<'_>) -> bool {
        kustomization.spec.kube_config.is_none()
            && account_of(kustomization, context)
                .is_some_and(|account| self.accounts_seen.contains(&account) && !exists(&account, context))
    }
}

fn exists(account: &TierName, context: &Context<'_>) -> bool {
    let id = ObjectId::new("", "ServiceAccount", Some(&account.namespace), &account.name);
    context.server.object(&id).is_some()
}

fn account_view(account: &TierName) -> Account<'_> {
    Account {
        namespace: &account.namespace,
        name: &account.name,
    }
}
