impl Brand {
    /// Fine, and generated.
    fn create(&self, command: CreateBrand) -> Decision<Self, CreateBrand> {
        todo!()
    }
    /// Its impl is there, with a body that never runs.
    fn rename(
        self,
        command: RenameBrand,
        now: Timestamp,
    ) -> Decision<Self, RenameBrand> {
        todo!()
    }
    /// Without a command there is no impl.
    fn remove(&self, scope: &mut DecideScope<'_>) -> Decision<Self, ()> {
        todo!()
    }
    /// The second handler of a command: its events may still be produced.
    fn create_again(&self, command: CreateBrand) -> Decision<Self, CreateBrand> {
        todo!()
    }
    fn created(&mut self, event: &BrandCreated) {}
    fn renamed(&mut self, event: BrandRenamed) {}
}
/// The events of `Brand`.
#[allow(private_interfaces)]
pub enum BrandEvent {
    /// The event `BrandCreated`.
    BrandCreated(BrandCreated),
    /// The event `BrandRenamed`.
    BrandRenamed(BrandRenamed),
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
            Self::BrandRenamed(_) => {
                ::core::fmt::Formatter::write_str(
                    __formatter,
                    "BrandEvent::BrandRenamed(..)",
                )
            }
        }
    }
}
#[automatically_derived]
impl ::freehold::EventSet for BrandEvent {
    const EVENTS: &'static [::freehold::EventInfo] = &[
        <BrandCreated as ::freehold::__private::OneOfSet>::INFO,
        <BrandRenamed as ::freehold::__private::OneOfSet>::INFO,
    ];
    fn info(&self) -> ::freehold::EventInfo {
        match *self {
            Self::BrandCreated(_) => {
                <BrandCreated as ::freehold::__private::OneOfSet>::INFO
            }
            Self::BrandRenamed(_) => {
                <BrandRenamed as ::freehold::__private::OneOfSet>::INFO
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
            Self::BrandRenamed(ref __event) => {
                <BrandRenamed as ::freehold::__private::OneOfSet>::encode(__event)
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
        if <BrandRenamed as ::freehold::__private::OneOfSet>::is(__event) {
            return ::core::result::Result::map(
                <BrandRenamed as ::freehold::__private::OneOfSet>::decode(__event),
                Self::BrandRenamed,
            );
        }
        ::core::result::Result::Err(::freehold::CodecError::unknown_event(__event))
    }
}
#[automatically_derived]
impl ::freehold::Aggregate for Brand {
    type Event = BrandEvent;
    const CONTEXT: &'static str = "missing";
    const NAME: &'static str = "brand";
    const DESCRIPTOR: ::freehold::AggregateDescriptor = ::freehold::__private::aggregate_descriptor::<
        Self,
    >(
        &[
            ::freehold::CommandInfo::of::<Self, CreateBrand>(),
            ::freehold::CommandInfo::of::<Self, RenameBrand>(),
        ],
        ::freehold::__private::source!(),
    );
    fn evolve(&mut self, __event: &BrandEvent) {
        match *__event {
            BrandEvent::BrandCreated(ref __event) => {
                <Self as ::freehold::Apply<BrandCreated>>::apply(self, __event)
            }
            BrandEvent::BrandRenamed(ref __event) => {
                <Self as ::freehold::Apply<BrandRenamed>>::apply(self, __event)
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
impl ::core::convert::From<BrandRenamed> for BrandEvent {
    fn from(__event: BrandRenamed) -> Self {
        Self::BrandRenamed(__event)
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
impl ::freehold::Decide<RenameBrand> for Brand {
    const COMMAND: &'static str = "RenameBrand";
    const CREATES: ::freehold::Creates = ::freehold::Creates::Never;
    const PRODUCES: &'static [::freehold::EventInfo] = &[
        <BrandRenamed as ::freehold::__private::OneOfSet>::INFO,
    ];
    const NEEDS: &'static [::freehold::Need] = &[];
    fn decide(
        &self,
        __command: RenameBrand,
        __scope: &mut ::freehold::DecideScope<'_>,
    ) -> impl ::core::future::Future<
        Output = ::core::result::Result<
            ::freehold::Decision<Self, RenameBrand>,
            ::freehold::DecideError,
        >,
    > + ::core::marker::Send {
        ::core::future::pending()
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
impl ::freehold::Apply<BrandRenamed> for Brand {
    fn apply(&mut self, __event: &BrandRenamed) {
        ::core::unreachable!()
    }
    fn event(__event: BrandRenamed) -> BrandEvent {
        BrandEvent::BrandRenamed(__event)
    }
}
#[automatically_derived]
impl ::freehold::Produces<CreateBrand, BrandCreated> for Brand {}
#[automatically_derived]
impl ::freehold::Produces<RenameBrand, BrandRenamed> for Brand {}
#[automatically_derived]
impl ::freehold::Produces<(), BrandRemoved> for Brand {}
#[automatically_derived]
impl ::freehold::Produces<CreateBrand, BrandRenamed> for Brand {}
const _: () = {
    ::freehold::__private::inventory::submit! {
        < Brand as ::freehold::Aggregate > ::DESCRIPTOR
    }
};
::core::compile_error! {
    "this aggregate has no context, the part of the domain that it belongs to; write `#[aggregate(context = \"eshop-catalog\")]`"
}
::core::compile_error! {
    "a command handler decides from the state and does not change it; write `&self`"
}
::core::compile_error! {
    "a handler can't take this; after the command it takes `&mut DecideScope<'_>`, `&CommandContext` and services, such as `&dyn Pricing`"
}
::core::compile_error! {
    "the command comes first, right after `&self`; write it before this: `command: CreateBrand`"
}
::core::compile_error! {
    "an event is applied by reference, it is history; write `event: &BrandCreated`"
}
::core::compile_error! {
    "a command has one handler; let one method decide on it"
}
::core::compile_error! {
    "the first one is here"
}
