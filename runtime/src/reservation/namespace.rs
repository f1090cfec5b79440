//! `Namespace`: what is unique, within what, and how its keys are normalised. The stores know only its name.

use super::KeyId;
use super::normalize::{Normalizer, VERBATIM};
use crate::error::InvalidKey;
use crate::ids::{StreamId, check_name};
use crate::limits::KEY_BYTES_MAX;
use crate::text::Text;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Within what a key is unique (R12).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tenancy {
    /// Within the tenant of the reserving aggregate, in its context. The default.
    Tenant,
    /// Within the whole context, across tenants.
    System,
}

impl fmt::Display for Tenancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tenant => "tenant",
            Self::System => "system",
        })
    }
}

/// A kind of key that is unique, such as the names of brands: a name, a tenancy and a normaliser.
///
/// A constant, registered with `#[namespace]` or with `DomainBuilder::namespace`. The store records tenancy and
/// normaliser; a deploy that changes one is refused until the keys are rekeyed (R13).
///
/// ```
/// use freehold::{Namespace, TRIM_LOWERCASE};
///
/// const BRAND_NAMES: Namespace = Namespace::new("eshop-catalog.brand-name").normalized(TRIM_LOWERCASE);
/// const DOMAINS: Namespace = Namespace::new("accounts.domain").system();
///
/// assert!(BRAND_NAMES.same_key(" Contoso ", "contoso"));
/// assert!(!DOMAINS.same_key("Contoso.example", "contoso.example"));
/// ```
#[derive(Clone, Copy, PartialEq)]
pub struct Namespace {
    name: &'static str,
    tenancy: Tenancy,
    normalizer: Normalizer,
    pending: Option<Duration>,
}

impl Namespace {
    /// A namespace whose keys are unique within a tenant, and compared as they are.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, tenancy: Tenancy::Tenant, normalizer: VERBATIM, pending: None }
    }

    /// The same, unique in the whole context: across its tenants (R12).
    #[must_use]
    pub const fn system(mut self) -> Self {
        self.tenancy = Tenancy::System;
        self
    }

    /// The same, with keys normalised by `normalizer` before anything is done with them (R13).
    #[must_use]
    pub const fn normalized(mut self, normalizer: Normalizer) -> Self {
        self.normalizer = normalizer;
        self
    }

    /// The same, with another life time of a pending reservation than the domain's (R3).
    #[must_use]
    pub const fn pending_for(mut self, duration: Duration) -> Self {
        self.pending = Some(duration);
        self
    }

    /// The name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Within what the keys are unique.
    #[must_use]
    pub const fn tenancy(&self) -> Tenancy {
        self.tenancy
    }

    /// How keys are normalised.
    #[must_use]
    pub const fn normalizer(&self) -> Normalizer {
        self.normalizer
    }

    /// How long a reservation stays pending, when the namespace says so itself.
    #[must_use]
    pub const fn pending(&self) -> Option<Duration> {
        self.pending
    }

    /// The normalised form of `text`, checked (R13, R14).
    ///
    /// # Errors
    ///
    /// [`InvalidKey`] when the normaliser refuses `text`, and when what it makes of it is empty, longer than 1,024
    /// bytes, or holds NUL. The error never shows the text (R19).
    pub fn key(&self, text: &str) -> Result<Text, InvalidKey> {
        let refuse = |problem| Err(InvalidKey::new(self.name, problem));
        let Some(key) = self.normalizer.apply(text) else {
            return refuse("is not a text that the namespace's normaliser accepts");
        };
        if !self.normalizer.is_stable_on(&key) {
            return refuse(
                "changes when it is normalised a second time; the namespace's normaliser must be idempotent",
            );
        }
        match key.len() {
            0 => refuse("is empty after normalisation"),
            length if length > KEY_BYTES_MAX => refuse("is longer than 1024 bytes after normalisation"),
            _ if key.contains('\0') => refuse("holds a NUL character"),
            _ => Ok(Text::from(&*key)),
        }
    }

    /// Whether two texts are one key here. Texts that are no keys are never the same.
    #[must_use]
    pub fn same_key(&self, one: &str, other: &str) -> bool {
        matches!((self.key(one), self.key(other)), (Ok(one), Ok(other)) if one == other)
    }

    /// The full identity of `text` in this namespace, as reserved by `holder`.
    ///
    /// # Errors
    ///
    /// [`InvalidKey`] as in [`key`](Self::key).
    pub fn key_id(&self, text: &str, holder: &StreamId) -> Result<KeyId, InvalidKey> {
        Ok(KeyId {
            key: self.key(text)?,
            namespace: Text::from_static(self.name),
            scope: self.scope_of(&holder.tenant),
            context: holder.aggregate.context.clone(),
        })
    }

    /// What the scope column holds for a key of `tenant`.
    #[must_use]
    pub(crate) fn scope_of(&self, tenant: &Text) -> Text {
        match self.tenancy {
            Tenancy::Tenant => tenant.clone(),
            Tenancy::System => Text::from_static(""),
        }
    }

    pub(crate) fn check(&self) -> Result<(), crate::error::InvalidId> {
        check_name("namespace", self.name)
    }
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Namespace({:?}, {}, {})", self.name, self.tenancy, self.normalizer)
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}
