//! Given: what is so before the command. Each line is a step, carried out in order when the command is given.

use super::Spec;
use super::events::{Shown, numbered, short_name};
use super::laws::Law;
use super::play::{Act, Command, Step};
use super::report::shows_all;
use super::store::{At, Fault};
use super::world::{World, show_duration};
use freehold::{Aggregate, Decide, Delete, EventSet, Namespace, SendCommand, Text, Timestamp};
use parking_lot::Mutex;
use std::any::TypeId;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

impl<A: Aggregate> Spec<A> {
    /// The aggregate has these events, in one commit: for a history of old, or one that no command can make.
    ///
    /// They take no keys; [`given_held`](Self::given_held) says which are held. Prefer
    /// [`given_command`](Self::given_command), which takes the keys that production code takes.
    #[track_caller]
    pub fn given_events(self, events: impl IntoIterator<Item = A::Event>) -> Self {
        let events: Vec<A::Event> = events.into_iter().collect();
        let encoded: Result<Vec<_>, String> =
            events.iter().map(|event| event.encode().map_err(|error| error.to_string())).collect();
        let text = match &encoded {
            Ok(encoded) if encoded.is_empty() => vec!["none".to_owned()],
            Ok(encoded) => numbered(&encoded.iter().map(Shown::event).collect::<Vec<_>>(), shows_all()),
            Err(_) => events.iter().map(|event| event.info().name.to_owned()).collect(),
        };
        self.prepare("events", text, move |world| match encoded.clone()? {
            events if events.is_empty() => Ok(()),
            events => world.append_events(events),
        })
    }

    /// The aggregate has decided this command, by its real handler; the spec fails when it did not succeed.
    #[track_caller]
    pub fn given_command<C: freehold::Command>(self, command: C) -> Self
    where
        A: Decide<C>,
    {
        let (text, command) = Command::new(command, |send| send);
        self.step("command", vec![text], Act::Given(command))
    }

    /// The aggregate is deleted (C10). It must have events before.
    #[track_caller]
    pub fn given_deleted(self) -> Self {
        let (_, command) = Command::new(Delete {}, |send| send);
        self.step("deleted", Vec::new(), Act::Given(command))
    }

    /// Another aggregate of the same type and tenant holds the key, confirmed.
    #[track_caller]
    pub fn given_reservation(mut self, namespace: Namespace, key: &str) -> Self {
        self.setup.add_namespace(namespace);
        let (text, key) = (show_key(namespace, key, "held by another aggregate"), key.to_owned());
        self.prepare("reservation", text, move |world| world.hold(&world.other, namespace, &key))
    }

    /// Another aggregate of the same type and tenant has the key pending, for `ttl` from now.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/spec/guide/brand.rs"));
    /// use freehold_testkit::aggregate_spec;
    ///
    /// use std::time::Duration;
    ///
    /// # fn main() {
    /// aggregate_spec::<Brand>()
    ///     .given_pending_reservation(BRAND_NAMES, "contoso", Duration::from_secs(30))
    ///     .given_after(Duration::from_secs(30))
    ///     .when(CreateBrand { name: "Contoso".into() })
    ///     .then_holds(BRAND_NAMES, "contoso");
    /// # }
    /// ```
    #[track_caller]
    pub fn given_pending_reservation(mut self, namespace: Namespace, key: &str, ttl: Duration) -> Self {
        self.setup.add_namespace(namespace);
        let state = format!("pending for another aggregate, for {}", show_duration(ttl));
        let (text, key) = (show_key(namespace, key, &state), key.to_owned());
        self.prepare("reservation", text, move |world| world.leave_pending(namespace, &key, ttl))
    }

    /// The aggregate holds the key, confirmed by a commit without events, which counts as a version.
    #[track_caller]
    pub fn given_held(mut self, namespace: Namespace, key: &str) -> Self {
        self.setup.add_namespace(namespace);
        let (text, key) = (show_key(namespace, key, "held by this aggregate"), key.to_owned());
        self.prepare("reservation", text, move |world| world.hold(world.subject.stream(), namespace, &key))
    }

    /// It is `time`. The first one is when the spec starts, and what its texts count from.
    #[track_caller]
    pub fn given_time(mut self, time: Timestamp) -> Self {
        self.setup.start.get_or_insert(time);
        self.prepare("time", vec![time.to_string()], move |world| {
            world.clock.set(time);
            Ok(())
        })
    }

    /// So much time has passed since the line before.
    #[track_caller]
    pub fn given_after(self, duration: Duration) -> Self {
        self.step("after", vec![show_duration(duration)], Act::Pass(duration))
    }

    /// The handlers that ask for `&T` get this service.
    ///
    /// A handler that asks for one is not decided twice to see whether it is pure: a service may answer as it likes.
    #[track_caller]
    pub fn given_service<T: ?Sized + Send + Sync + 'static>(mut self, service: Arc<T>) -> Self {
        self.setup.services.push((TypeId::of::<T>(), Arc::new(move |builder| builder.provide(Arc::clone(&service)))));
        self.step("service", vec![short_name::<T>()], Act::Setup)
    }

    /// The namespace is registered. Needed only for one that is neither marked `#[namespace]` nor named by another line.
    #[track_caller]
    pub fn given_namespace(mut self, namespace: Namespace) -> Self {
        self.setup.add_namespace(namespace);
        self.step("namespace", vec![namespace.to_string()], Act::Setup)
    }

    /// The aggregate belongs to this tenant; otherwise to the default one.
    #[track_caller]
    pub fn given_tenant(mut self, tenant: impl Into<Text>) -> Self {
        let tenant = tenant.into();
        self.setup.tenant = Some(tenant.clone());
        self.step("tenant", vec![format!("{:?}", tenant.as_str())], Act::Setup)
    }

    /// The aggregate has this id; otherwise its type's name and `-1`.
    #[track_caller]
    pub fn given_id(mut self, id: impl Into<Text>) -> Self {
        let id = id.into();
        self.setup.id = Some(id.clone());
        self.step("id", vec![format!("{:?}", id.as_str())], Act::Setup)
    }

    /// The command waits up to `duration` in all for keys that are pending for others (R21); otherwise not at all.
    ///
    /// The clock is then moved on by itself: the wait takes no real time.
    #[track_caller]
    pub fn given_pending_wait(mut self, duration: Duration) -> Self {
        self.setup.pending_wait = duration;
        self.step("wait", vec![format!("up to {} for pending keys", show_duration(duration))], Act::Setup)
    }

    /// So many times, somebody else writes to the aggregate between load and append of the command in question (R6).
    ///
    /// The foreign commits have no events, and count as versions. What is given by command is not disturbed.
    #[track_caller]
    pub fn given_conflict(self, times: u32) -> Self {
        let text =
            if times == 1 { "in the first append".to_owned() } else { format!("in each of the first {times} appends") };
        self.prepare("conflict", vec![text], move |world| {
            world.store.add_conflicts(times);
            Ok(())
        })
    }

    /// The next call of this kind on the store fails, once, while a command in question is decided.
    ///
    /// The runtime asks some calls again by itself, a reserve three times: give as many lines to exhaust it.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/spec/guide/brand.rs"));
    /// use freehold_testkit::{At, Fault, aggregate_spec};
    ///
    /// # fn main() {
    /// aggregate_spec::<Brand>()
    ///     .given_store_fault(At::Append, Fault::FailUnknownBefore)
    ///     .when(CreateBrand { name: "Contoso".into() })
    ///     .then_failed("NOT_WRITTEN")
    ///     .then_holds_exactly([]);
    /// # }
    /// ```
    #[track_caller]
    pub fn given_store_fault(self, at: At, fault: Fault) -> Self {
        self.prepare("fault", vec![format!("the next {at:?} {}", fault.describe())], move |world| {
            world.store.add_fault(at, fault);
            Ok(())
        })
    }

    /// This law is not checked.
    pub fn without_law(mut self, law: Law) -> Self {
        self.laws.without(law);
        self
    }

    #[track_caller]
    pub(super) fn prepare(
        self,
        kind: &'static str,
        text: Vec<String>,
        prepare: impl Fn(&World<A>) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.step(kind, text, Act::Prepare(Box::new(prepare)))
    }

    #[track_caller]
    pub(super) fn step(mut self, kind: &'static str, text: Vec<String>, act: Act<A>) -> Self {
        self.steps.push(Arc::new(Step { kind, text, at: Location::caller(), act }));
        self
    }
}

fn show_key(namespace: Namespace, key: &str, state: &str) -> Vec<String> {
    vec![format!("{namespace} {key:?}, {state}")]
}

impl<A: Aggregate> Command<A> {
    /// The command's text, and the command with its type forgotten.
    ///
    /// It is sent as it was given the first time, and read from its JSON for every other.
    pub(super) fn new<C: freehold::Command>(
        command: C,
        options: impl Fn(SendCommand<A, C>) -> SendCommand<A, C> + Send + Sync + 'static,
    ) -> (String, Self)
    where
        A: Decide<C>,
    {
        let json = serde_json::to_string(&command).map_err(|error| error.to_string());
        let text = json.as_ref().map_or_else(|_| short_name::<C>(), |json| Shown::command::<C>(json).show(shows_all()));
        let first = Mutex::new(Some(command));
        let send = move |world: &World<A>| {
            let first = first.lock().take();
            let command = if let Some(command) = first {
                command
            } else {
                let json = json.as_ref().map_err(|error| format!("it can't be written as JSON: {error}"))?;
                serde_json::from_str(json).map_err(|error| format!("it can't be read from its own JSON: {error}"))?
            };
            let sending = options(world.domain.send(&world.subject, command));
            Ok(Box::pin(async move { sending.await }) as super::play::Sending<A>)
        };
        (text, Self { produces: A::PRODUCES, needs: A::NEEDS, send: Box::new(send) })
    }
}
