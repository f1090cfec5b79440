impl r#Struct {
    fn r#move(&self, r#type: r#async) -> Decision<Self, r#async> {
        Decision::event(r#match { r#type })
    }
    fn r#match(&mut self, event: &r#match) {}
}
/// The events of `Struct`.
#[allow(private_interfaces)]
pub enum StructEvent {
    /// The event `match`.
    r#match(r#match),
}
#[automatically_derived]
impl ::core::fmt::Debug for StructEvent {
    fn fmt(&self, __formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        match *self {
            Self::r#match(_) => {
                ::core::fmt::Formatter::write_str(__formatter, "StructEvent::match(..)")
            }
        }
    }
}
#[automatically_derived]
impl ::freehold::EventSet for StructEvent {
    const EVENTS: &'static [::freehold::EventInfo] = &[
        <r#match as ::freehold::__private::OneOfSet>::INFO,
    ];
    fn info(&self) -> ::freehold::EventInfo {
        match *self {
            Self::r#match(_) => <r#match as ::freehold::__private::OneOfSet>::INFO,
        }
    }
    fn encode(
        &self,
    ) -> ::core::result::Result<::freehold::EncodedEvent, ::freehold::CodecError> {
        match *self {
            Self::r#match(ref __event) => {
                <r#match as ::freehold::__private::OneOfSet>::encode(__event)
            }
        }
    }
    fn decode(
        __event: &::freehold::EncodedEvent,
    ) -> ::core::result::Result<Self, ::freehold::CodecError> {
        if <r#match as ::freehold::__private::OneOfSet>::is(__event) {
            return ::core::result::Result::map(
                <r#match as ::freehold::__private::OneOfSet>::decode(__event),
                Self::r#match,
            );
        }
        ::core::result::Result::Err(::freehold::CodecError::unknown_event(__event))
    }
}
#[automatically_derived]
impl ::freehold::Aggregate for r#Struct {
    type Event = StructEvent;
    const CONTEXT: &'static str = "eshop-catalog";
    const NAME: &'static str = "struct";
    const DESCRIPTOR: ::freehold::AggregateDescriptor = ::freehold::__private::aggregate_descriptor::<
        Self,
    >(
        &[::freehold::CommandInfo::of::<Self, r#async>()],
        ::freehold::__private::source!(),
    );
    fn evolve(&mut self, __event: &StructEvent) {
        match *__event {
            StructEvent::r#match(ref __event) => {
                <Self as ::freehold::Apply<r#match>>::apply(self, __event)
            }
        }
    }
}
#[automatically_derived]
impl ::core::convert::From<r#match> for StructEvent {
    fn from(__event: r#match) -> Self {
        Self::r#match(__event)
    }
}
#[automatically_derived]
impl ::freehold::Decide<r#async> for r#Struct {
    const COMMAND: &'static str = "async";
    const CREATES: ::freehold::Creates = ::freehold::Creates::Never;
    const PRODUCES: &'static [::freehold::EventInfo] = &[
        <r#match as ::freehold::__private::OneOfSet>::INFO,
    ];
    const NEEDS: &'static [::freehold::Need] = &[];
    fn decide(
        &self,
        __command: r#async,
        __scope: &mut ::freehold::DecideScope<'_>,
    ) -> impl ::core::future::Future<
        Output = ::core::result::Result<
            ::freehold::Decision<Self, r#async>,
            ::freehold::DecideError,
        >,
    > + ::core::marker::Send {
        async move {
            ::freehold::IntoDecision::<
                Self,
                r#async,
            >::into_decision(Self::r#move(self, __command))
        }
    }
}
#[automatically_derived]
impl ::freehold::Apply<r#match> for r#Struct {
    fn apply(&mut self, __event: &r#match) {
        Self::r#match(self, __event);
    }
    fn event(__event: r#match) -> StructEvent {
        StructEvent::r#match(__event)
    }
}
#[automatically_derived]
impl ::freehold::Produces<r#async, r#match> for r#Struct {}
const _: () = {
    ::freehold::__private::inventory::submit! {
        < r#Struct as ::freehold::Aggregate > ::DESCRIPTOR
    }
};
