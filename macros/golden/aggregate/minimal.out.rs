impl Brand {
    fn create(&self, command: CreateBrand) -> BrandCreated {
        BrandCreated { name: command.name }
    }
    fn created(&mut self, event: &BrandCreated) {
        self.name.clone_from(&event.name);
    }
}
/// The events of `Brand`.
#[allow(private_interfaces)]
pub enum BrandEvent {
    /// The event `BrandCreated`.
    BrandCreated(BrandCreated),
}
#[automatically_derived]
impl ::core::fmt::Debug for BrandEvent {
    fn fmt(&self, __formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        match *self {
            Self::BrandCreated(_) => {
                ::core::fmt::Formatter::write_str(
                    __formatter,
                    "BrandEvent::BrandCreated(..)",
                )
            }
        }
    }
}
#[automatically_derived]
impl ::freehold::EventSet for BrandEvent {
    const EVENTS: &'static [::freehold::EventInfo] = &[
        <BrandCreated as ::freehold::__private::OneOfSet>::INFO,
    ];
    fn info(&self) -> ::freehold::EventInfo {
        match *self {
            Self::BrandCreated(_) => {
                <BrandCreated as ::freehold::__private::OneOfSet>::INFO
            }
        }
    }
    fn encode(
        &self,
    ) -> ::core::result::Result<::freehold::EncodedEvent, ::freehold::CodecError> {
        match *self {
            Self::BrandCreated(ref __event) => {
                <BrandCreated as ::freehold::__private::OneOfSet>::encode(__event)
            }
        }
    }
    fn decode(
        __event: &::freehold::EncodedEvent,
    ) -> ::core::result::Result<Self, ::freehold::CodecError> {
        if <BrandCreated as ::freehold::__private::OneOfSet>::is(__event) {
            return ::core::result::Result::map(
                <BrandCreated as ::freehold::__private::OneOfSet>::decode(__event),
                Self::BrandCreated,
            );
        }
        ::core::result::Result::Err(::freehold::CodecError::unknown_event(__event))
    }
}
#[automatically_derived]
impl ::freehold::Aggregate for Brand {
    type Event = BrandEvent;
    const CONTEXT: &'static str = "eshop-catalog";
    const NAME: &'static str = "brand";
    const DESCRIPTOR: ::freehold::AggregateDescriptor = ::freehold::__private::aggregate_descriptor::<
        Self,
    >(
        &[::freehold::CommandInfo::of::<Self, CreateBrand>()],
        ::freehold::__private::source!(),
    );
    fn evolve(&mut self, __event: &BrandEvent) {
        match *__event {
            BrandEvent::BrandCreated(ref __event) => {
                <Self as ::freehold::Apply<BrandCreated>>::apply(self, __event)
            }
        }
    }
}
#[automatically_derived]
impl ::core::convert::From<BrandCreated> for BrandEvent {
    fn from(__event: BrandCreated) -> Self {
        Self::BrandCreated(__event)
    }
}
#[automatically_derived]
impl ::freehold::Decide<CreateBrand> for Brand {
    const COMMAND: &'static str = "CreateBrand";
    const CREATES: ::freehold::Creates = ::freehold::Creates::Never;
    const PRODUCES: &'static [::freehold::EventInfo] = &[
        <BrandCreated as ::freehold::__private::OneOfSet>::INFO,
    ];
    const NEEDS: &'static [::freehold::Need] = &[];
    fn decide(
        &self,
        __command: CreateBrand,
        __scope: &mut ::freehold::DecideScope<'_>,
    ) -> impl ::core::future::Future<
        Output = ::core::result::Result<
            ::freehold::Decision<Self, CreateBrand>,
            ::freehold::DecideError,
        >,
    > + ::core::marker::Send {
        async move {
            ::freehold::IntoDecision::<
                Self,
                CreateBrand,
            >::into_decision(Self::create(self, __command))
        }
    }
}
#[automatically_derived]
impl ::freehold::Apply<BrandCreated> for Brand {
    fn apply(&mut self, __event: &BrandCreated) {
        Self::created(self, __event);
    }
    fn event(__event: BrandCreated) -> BrandEvent {
        BrandEvent::BrandCreated(__event)
    }
}
#[automatically_derived]
impl ::freehold::Produces<CreateBrand, BrandCreated> for Brand {}
const _: () = {
    ::freehold::__private::inventory::submit! {
        < Brand as ::freehold::Aggregate > ::DESCRIPTOR
    }
};
