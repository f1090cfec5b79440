//! Looking at reservations from outside a decision, and an operator's release of one (R20).

use super::Inner;
use crate::clock::Timestamp;
use crate::engine::settled;
use crate::error::Error;
use crate::ids::{DEFAULT_TENANT, StreamId, Token};
use crate::limits::ATTEMPTS_DEFAULT;
use crate::reservation::lifecycle::KeyUse;
use crate::reservation::{KeyId, Namespace, Record, RecordState};
use crate::store::{Append, AppendReply, Check, CommitKind, KeyClaim, KeyReading, RequestKey, Settle, Settled};
use crate::text::Text;
use serde_json::value::RawValue;
use std::sync::Arc;

/// The registry of reservations, as an operator sees it.
#[derive(Debug, Clone, Copy)]
pub struct Reservations<'d> {
    domain: &'d Arc<Inner>,
}

/// Who has a key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holding {
    /// The aggregate.
    pub holder: StreamId,
    /// The global position of the commit that took the key; none while it is pending.
    pub position: Option<u64>,
    /// When a pending reservation ends; none for a confirmed one.
    pub expires_at: Option<Timestamp>,
}

impl From<Record> for Holding {
    fn from(record: Record) -> Self {
        let expires_at = record.expires_at();
        let position = match record.state {
            RecordState::Confirmed(position) => Some(position),
            RecordState::Pending(_) => None,
        };
        Self { holder: record.holder, position, expires_at }
    }
}

impl<'d> Reservations<'d> {
    pub(super) const fn new(domain: &'d Arc<Inner>) -> Self {
        Self { domain }
    }

    /// Who has `key` in `namespace`, in `context`, as a tenant sees it (`None`: the default tenant); none when it is free.
    ///
    /// A pending record that has expired counts as free.
    ///
    /// # Errors
    ///
    /// An invalid key, an unregistered namespace, or a store that can't be read.
    pub async fn holder(
        &self,
        context: &'static str,
        namespace: Namespace,
        tenant: Option<&str>,
        key: &str,
    ) -> Result<Option<Holding>, Error> {
        let key = self.key_id(context, namespace, tenant, key)?;
        let KeyReading { record, now, .. } = self.domain.reservation(namespace, key).await?;
        Ok(record.filter(|record| record.is_live(now)).map(Holding::from))
    }

    /// The keys that `holder` holds, confirmed, ordered by key.
    ///
    /// # Errors
    ///
    /// A store that can't be read.
    pub async fn held_by(&self, holder: &StreamId) -> Result<Vec<KeyId>, Error> {
        Ok(self.domain.store.held_by(holder.clone()).await?)
    }

    /// Takes a confirmed key from its holder, by a commit on the holder's stream that records who did it and why (R20).
    ///
    /// Returns the holder, or none when nobody held the key.
    ///
    /// # Errors
    ///
    /// As [`holder`](Self::holder); [`Error::Conflict`] when the holder's stream is too busy.
    pub async fn release(
        &self,
        context: &'static str,
        namespace: Namespace,
        tenant: Option<&str>,
        key: &str,
        by: Release<'_>,
    ) -> Result<Option<StreamId>, Error> {
        let key = self.key_id(context, namespace, tenant, key)?;
        let epoch = self.domain.namespace(namespace, context).map_err(Error::Misconfigured)?.epoch_in(context);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let reading = self.domain.reservation(namespace, key.clone()).await?;
            let Some(record) = reading.record.filter(Record::is_confirmed) else { return Ok(None) };
            let claim = KeyClaim { key: key.clone(), epoch, key_use: KeyUse::Release };
            let holder = record.holder;
            let checked = self.domain.store.check(Check { stream: holder.clone(), request: None }).await?;
            // Held at that version: a release that frees nothing would tell a lie about who had the key (R20).
            let again = self.domain.reservation(namespace, key.clone()).await?.record;
            if again.is_some_and(|again| again.is_confirmed() && again.holder == holder) {
                let append = self.release_commit(&holder, checked.version, claim, by)?;
                if self.write(append).await? {
                    return Ok(Some(holder));
                }
            }
            if attempts == ATTEMPTS_DEFAULT {
                return Err(Error::Conflict { stream: holder.into(), attempts, expected: None, actual: None });
            }
        }
    }

    /// Whether the commit is written; if not, it never will be (R9).
    async fn write(self, append: Append) -> Result<bool, Error> {
        let request_id = append.request.id.clone();
        let settle = Settle {
            stream: append.stream.clone(),
            version: append.expected_version + 1,
            request: request_id.clone(),
            token: append.token,
            keys: Vec::new(),
        };
        match self.domain.store.append(append).await {
            Ok(reply) => Ok(matches!(reply, AppendReply::Written(_))),
            Err(error) if error.surely_not_done() => Err(error.into()),
            Err(error) => match settled(self.domain, settle).await {
                Some(settled) => Ok(matches!(settled, Settled::Written(_))),
                None => Err(Error::OutcomeUnknown { request_id, reason: error.to_string() }),
            },
        }
    }

    fn release_commit(
        self,
        holder: &StreamId,
        version: u64,
        claim: KeyClaim,
        by: Release<'_>,
    ) -> Result<Append, Error> {
        let token = Token::from_u128(self.domain.ids.next());
        let note = serde_json::json!({ "author": by.author, "reason": by.reason });
        let metadata = RawValue::from_string(note.to_string());
        Ok(Append {
            stream: holder.clone(),
            expected_version: version,
            kind: CommitKind::Release,
            command: Text::from_static("$release-key"),
            request: RequestKey::of_token(token),
            token,
            mark: 0,
            events: Vec::new(),
            keys: vec![claim],
            metadata: Some(metadata.map_err(|_| Error::Misconfigured("the reason can't be written as JSON".into()))?),
        })
    }

    fn key_id(
        self,
        context: &'static str,
        namespace: Namespace,
        tenant: Option<&str>,
        key: &str,
    ) -> Result<KeyId, Error> {
        self.domain.namespace(namespace, context).map_err(Error::Misconfigured)?;
        let tenant = Text::from(tenant.unwrap_or(DEFAULT_TENANT));
        crate::ids::check_name("tenant", &tenant)?;
        Ok(KeyId {
            key: namespace.key(key)?,
            namespace: Text::from_static(namespace.name()),
            scope: namespace.scope_of(&tenant),
            context: Text::from_static(context),
        })
    }
}

/// Who releases a key by hand, and why. Recorded with the commit, and kept in the log for good.
#[derive(Debug, Clone, Copy)]
pub struct Release<'r> {
    /// Who.
    pub author: &'r str,
    /// Why.
    pub reason: &'r str,
}
