//! The commands on one brand or category, and the questions.

use crate::cli::{Command, Request, Target};
use crate::failure::{Exit, Failure};
use crate::importing::{self, Source};
use crate::session::Session;
use eshop_catalog::ids::fresh_id;
use eshop_catalog::item::Item;
use eshop_catalog::listing::{Listed, Listing};
use freehold::{AggregateId, Decide, Delete, Outcome, Restore};
use serde_json::{Value, json};
use std::fmt::Write;

/// Does what was typed; `source` is what an import imports.
pub(crate) async fn run<T: Item>(
    session: &Session,
    command: Option<Command>,
    source: Option<Source>,
) -> Result<Exit, Failure> {
    let changed = match command {
        None | Some(Command::Import { .. }) => return importing::run::<T>(session, source.unwrap_or_default()).await,
        Some(Command::Show { id }) => show::<T>(session, &id).await,
        Some(Command::List) => list::<T>(session).await,
        Some(Command::Holder { name }) => return holder::<T>(session, &name).await,
        Some(Command::Create { name, id, request }) => {
            let id = id.unwrap_or_else(|| fresh_id(&name));
            change::<T, _>(session, &id, request, T::create(name), "created").await
        }
        Some(Command::Rename { id, new, request }) => {
            change::<T, _>(session, &id, request, T::rename(new), "renamed").await
        }
        Some(Command::Retire(Target { id, request })) => {
            change::<T, _>(session, &id, request, T::retire(), "retired: its name is free").await
        }
        Some(Command::Delete(Target { id, request })) => delete::<T>(session, &id, request).await,
        Some(Command::Restore(Target { id, request })) => {
            change::<T, _>(session, &id, request, Restore {}, "restored").await
        }
    };
    changed.map(|()| Exit::Done)
}

fn aggregate<T: Item>(session: &Session, id: &str) -> Result<AggregateId<T>, Failure> {
    Ok(AggregateId::new(id)?.tenant(&*session.tenant)?)
}

async fn change<T: Item + Decide<C>, C: freehold::Command>(
    session: &Session,
    id: &str,
    request: Request,
    command: C,
    done: &str,
) -> Result<(), Failure> {
    let mut sending = session.domain.send(&aggregate::<T>(session, id)?, command);
    if let Some(id) = request.request_id {
        sending = sending.request_id(id);
    }
    let outcome = sending.await?;
    let (outcome_name, done) = match &outcome {
        Outcome::NoOp { .. } => ("no_op", "unchanged: it is so already"),
        Outcome::Committed(committed) if committed.replayed => ("replayed", "unchanged: this request was done before"),
        Outcome::Committed(_) => ("committed", done),
    };
    let (noun, id, version) = (T::NAME, outcome.id().id(), outcome.version());
    let json = json!({
        "type": noun,
        "id": id,
        "tenant": session.tenant,
        "version": version,
        "outcome": outcome_name,
        "request_id": outcome.request_id().as_str(),
    });
    session.output.answer(format_args!("{noun} {id} {done}"), &json)
}

async fn delete<T: Item>(session: &Session, id: &str, request: Request) -> Result<(), Failure> {
    change::<T, _>(session, id, request, Delete {}, "deleted").await?;
    if !session.domain.load(&aggregate::<T>(session, id)?).await?.is_retired() {
        session.output.note("It keeps its name, so that `restore` can't fail. To free it: restore, retire, delete.");
    }
    Ok(())
}

async fn show<T: Item>(session: &Session, id: &str) -> Result<(), Failure> {
    let loaded = session.domain.load(&aggregate::<T>(session, id)?).await?;
    let listed = Listed { version: loaded.version(), deleted: loaded.is_deleted(), state: loaded.state().clone() };
    let mut json = item_json(id, &listed);
    json["type"] = T::NAME.into();
    json["tenant"] = session.tenant.clone().into();
    let text = format!("{} {id}: {:?}{}, version {}", T::NAME, listed.state.name(), marks(&listed), listed.version);
    session.output.answer(text, &json)
}

async fn list<T: Item>(session: &Session) -> Result<(), Failure> {
    let mut listing = Listing::<T>::new(&session.tenant);
    listing.catch_up(&session.domain).await?;
    let mut items: Vec<_> = listing.items.iter().collect();
    items.sort_by_cached_key(|(_, item)| item.state.name().to_lowercase());
    let width = items.iter().map(|(id, _)| id.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (id, item) in &items {
        let _ = writeln!(text, "{:<width$}  {}{}", id.as_str(), item.state.name(), marks(item));
    }
    let count = |is: fn(&Listed<T>) -> bool| items.iter().filter(|(_, item)| is(item)).count();
    let (retired, deleted) = (count(|item| item.state.is_retired()), count(|item| item.deleted));
    let (total, commits) = (items.len(), listing.commits);
    let _ = write!(text, "{}: {total}, of them {retired} retired, {deleted} deleted; commits: {commits}", T::PLURAL);
    let json = json!({
        "type": T::NAME,
        "tenant": session.tenant,
        "items": items.iter().map(|(id, item)| item_json(id, item)).collect::<Vec<_>>(),
        "statistics": { "total": total, "retired": retired, "deleted": deleted, "commits": commits },
    });
    session.output.answer(text, &json)
}

async fn holder<T: Item>(session: &Session, name: &str) -> Result<Exit, Failure> {
    let key = T::NAMES.key(name)?;
    let reservations = session.domain.reservations();
    let Some(holding) = reservations.holder(T::CONTEXT, T::NAMES, Some(&session.tenant), name).await? else {
        let json = json!({ "key": key, "holder": null });
        session.output.answer(format_args!("no {} has the name {:?}", T::NAME, key.as_str()), &json)?;
        return Ok(Exit::NotFound);
    };
    let expires_at = holding.expires_at.map(|at| at.to_string());
    let json =
        json!({ "key": key, "holder": { "type": T::NAME, "id": holding.holder.id }, "pending_until": expires_at });
    let pending = expires_at.map(|at| format!(" (pending until {at})")).unwrap_or_default();
    session.output.answer(format_args!("{} {}{pending}", T::NAME, holding.holder.id), &json)?;
    Ok(Exit::Done)
}

fn item_json<T: Item>(id: &str, item: &Listed<T>) -> Value {
    json!({
        "id": id,
        "name": item.state.name(),
        "version": item.version,
        "retired": item.state.is_retired(),
        "deleted": item.deleted,
    })
}

fn marks<T: Item>(item: &Listed<T>) -> &'static str {
    match (item.state.is_retired(), item.deleted) {
        (false, false) => "",
        (true, false) => " (retired)",
        (false, true) => " (deleted)",
        (true, true) => " (retired, deleted)",
    }
}
