use freehold::{
    Aggregate, AggregateDescriptor, Apply, CodecError, CommandInfo, Creates, Decide, DecideError, DecideScope,
    Decision, EncodedEvent, Event, EventInfo, EventSet, Produces,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Counter {
    pub count: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Increase {
    pub by: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Increased {
    pub by: u64,
}

impl Event for Increased {
    const NAME: &'static str = "Increased";
}

#[derive(Debug)]
pub enum CounterEvent {
    Increased(Increased),
}

impl EventSet for CounterEvent {
    const EVENTS: &'static [EventInfo] = &[EventInfo::of::<Increased>()];

    fn info(&self) -> EventInfo {
        match self {
            Self::Increased(_) => EventInfo::of::<Increased>(),
        }
    }

    fn encode(&self) -> Result<EncodedEvent, CodecError> {
        match self {
            Self::Increased(event) => EncodedEvent::new(event),
        }
    }

    fn decode(event: &EncodedEvent) -> Result<Self, CodecError> {
        if event.is::<Increased>() {
            return event.decode::<Increased>().map(Self::Increased);
        }
        Err(CodecError::unknown_event(event))
    }
}

impl Aggregate for Counter {
    type Event = CounterEvent;
    const CONTEXT: &'static str = "example";
    const NAME: &'static str = "counter";
    const DESCRIPTOR: AggregateDescriptor =
        AggregateDescriptor::new::<Self>(&[CommandInfo::of::<Self, Increase>()], freehold::source!());

    fn evolve(&mut self, event: &CounterEvent) {
        match event {
            CounterEvent::Increased(event) => self.apply(event),
        }
    }
}

impl Apply<Increased> for Counter {
    fn apply(&mut self, event: &Increased) {
        self.count += event.by;
    }

    fn event(event: Increased) -> CounterEvent {
        CounterEvent::Increased(event)
    }
}

impl Produces<Increase, Increased> for Counter {}

impl Decide<Increase> for Counter {
    const COMMAND: &'static str = "Increase";
    const CREATES: Creates = Creates::Allowed;
    const PRODUCES: &'static [EventInfo] = &[EventInfo::of::<Increased>()];

    async fn decide(&self, command: Increase, _: &mut DecideScope<'_>) -> Result<Decision<Self, Increase>, DecideError> {
        Ok(Decision::event(Increased { by: command.by }))
    }
}
