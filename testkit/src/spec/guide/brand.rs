// The brand of the guide, by hand: `#[aggregate]` would register it, once for each example that includes it, and
// examples share a binary.
#[allow(unused_imports)]
use freehold::prelude::*;

#[namespace]
pub const BRAND_NAMES: Namespace = Namespace::new("eshop-catalog.brand-name").normalized(TRIM_LOWERCASE);
#[allow(dead_code)]
pub const NAME_TAKEN: RejectionCode = RejectionCode::new("NAME_TAKEN");

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Brand {
    pub name: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct CreateBrand {
    pub name: String,
}

#[derive(Debug, Event, Serialize, Deserialize)]
pub struct BrandCreated {
    pub name: String,
}

#[derive(Debug)]
pub struct BrandEvent(BrandCreated);

impl From<BrandCreated> for BrandEvent {
    fn from(event: BrandCreated) -> Self {
        Self(event)
    }
}

impl freehold::EventSet for BrandEvent {
    const EVENTS: &'static [freehold::EventInfo] = &[freehold::EventInfo::of::<BrandCreated>()];

    fn info(&self) -> freehold::EventInfo {
        freehold::EventInfo::of::<BrandCreated>()
    }

    fn encode(&self) -> Result<freehold::EncodedEvent, freehold::CodecError> {
        freehold::EncodedEvent::new(&self.0)
    }

    fn decode(event: &freehold::EncodedEvent) -> Result<Self, freehold::CodecError> {
        event.decode().map(Self)
    }
}

impl freehold::Aggregate for Brand {
    type Event = BrandEvent;
    const CONTEXT: &'static str = "eshop-catalog";
    const NAME: &'static str = "brand";
    const DESCRIPTOR: freehold::AggregateDescriptor = freehold::AggregateDescriptor::new::<Self>(
        &[freehold::CommandInfo::of::<Self, CreateBrand>()],
        freehold::source!(),
    );

    fn evolve(&mut self, event: &BrandEvent) {
        self.name.clone_from(&event.0.name);
    }
}

impl freehold::Apply<BrandCreated> for Brand {
    fn apply(&mut self, event: &BrandCreated) {
        self.name.clone_from(&event.name);
    }

    fn event(event: BrandCreated) -> BrandEvent {
        BrandEvent(event)
    }
}

impl freehold::Produces<CreateBrand, BrandCreated> for Brand {}

impl freehold::Decide<CreateBrand> for Brand {
    const COMMAND: &'static str = "CreateBrand";
    const CREATES: freehold::Creates = freehold::Creates::Only;
    const PRODUCES: &'static [freehold::EventInfo] = &[freehold::EventInfo::of::<BrandCreated>()];

    async fn decide(
        &self,
        command: CreateBrand,
        scope: &mut DecideScope<'_>,
    ) -> Result<Decision<Self, CreateBrand>, DecideError> {
        scope.reserve(BRAND_NAMES, &command.name).await?.or_reject(NAME_TAKEN, "another brand has this name")?;
        Ok(Decision::event(BrandCreated { name: command.name }))
    }
}
