//! What PostgreSQL can't store is refused before it is sent: U+0000 in a text. JSON texts write it as six characters.

use crate::store::{Append, KeyChange, StoreError, StoreErrorKind};

/// The events as JSON, once the append's plain texts are looked at.
pub(super) fn events(append: &Append) -> Result<String, StoreError> {
    let stream = &append.stream;
    let texts = [
        ("context", stream.aggregate.context.as_str()),
        ("aggregate name", &stream.aggregate.name),
        ("tenant", &stream.tenant),
        ("aggregate id", &stream.id),
        ("command", &append.command),
        ("request id", append.request.id.as_str()),
    ];
    for (what, text) in texts {
        plain(what, text)?;
    }
    for claim in &append.keys {
        plain("key", &claim.key.key)?;
    }
    if let Some(metadata) = &append.metadata {
        plain("metadata", metadata.get())?;
    }
    let events = serde_json::to_string(&append.events).map_err(|_| unwritable(append))?;
    plain("events", &events)?;
    Ok(events)
}

/// The column of a commit's keys: none rather than an empty list.
pub(super) fn keys(append: &Append, changes: &[KeyChange]) -> Result<Option<String>, StoreError> {
    let json = (!changes.is_empty()).then(|| serde_json::to_string(changes)).transpose();
    json.map_err(|_| unwritable(append))
}

/// Refuses a text that has U+0000 in it; `what` is what it is.
pub(super) fn plain(what: &str, text: &str) -> Result<(), StoreError> {
    if !text.contains('\0') {
        return Ok(());
    }
    let message = format!("the {what} holds U+0000, which PostgreSQL can't store; leave it out, or write it otherwise");
    Err(StoreError::not_done(StoreErrorKind::Unusable, message))
}

fn unwritable(append: &Append) -> StoreError {
    let message = format!("the events of {} can't be written as JSON", append.stream);
    StoreError::not_done(StoreErrorKind::Unusable, message)
}
