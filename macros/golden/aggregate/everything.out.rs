#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
impl catalog::Brand {
    /// A constant between the methods.
    pub const LIMIT: usize = { 10 };
    /// Creates a brand.
    async fn create(
        &self,
        command: CreateBrand,
        scope: &mut DecideScope<'_>,
    ) -> Result<Decision<Self, CreateBrand>, DecideError> {
        let name = take(&command.name, scope).await?;
        Ok(Decision::event(BrandCreated { name }))
    }
    #[cfg(feature = "rename")]
    pub(crate) fn rename<'a>(
        &'a self,
        command: &api::RenameBrand,
        #[cfg(feature = "prices")]
        pricing: &(dyn Pricing<'_, 'a> + 'a),
        context: &CommandContext,
        log: &dyn for<'b> Fn(&'b str),
    ) -> Result<(Option<BrandRenamed>, Vec<audit::Noted>), DecideError> {
        Ok((None, Vec::new()))
    }
    fn created(&mut self, event: &BrandCreated) {}
    #[cfg(feature = "rename")]
    fn renamed(&mut self, event: &BrandRenamed) {}
    fn noted(&mut self, r#move: &audit::Noted) {}
    fn helper(&self) {}
}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
/// The events of `Brand`.
pub(crate) enum BrandEvents {
    /// The event `BrandCreated`.
    BrandCreated(BrandCreated),
    #[cfg(feature = "rename")]
    /// The event `BrandRenamed`.
    BrandRenamed(BrandRenamed),
    /// The event `Noted`.
    Noted(audit::Noted),
}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
#[automatically_derived]
impl ::core::fmt::Debug for BrandEvents {
    fn fmt(&self, __formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        match *self {
            Self::BrandCreated(_) => {
                ::core::fmt::Formatter::write_str(
                    __formatter,
                    "BrandEvents::BrandCreated(..)",
                )
            }
            #[cfg(feature = "rename")]
            Self::BrandRenamed(_) => {
                ::core::fmt::Formatter::write_str(
                    __formatter,
                    "BrandEvents::BrandRenamed(..)",
                )
            }
            Self::Noted(_) => {
                ::core::fmt::Formatter::write_str(__formatter, "BrandEvents::Noted(..)")
            }
        }
    }
}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
#[automatically_derived]
impl ::freehold::EventSet for BrandEvents {
    const EVENTS: &'static [::freehold::EventInfo] = &[
        <BrandCreated as ::freehold::__private::OneOfSet>::INFO,
        #[cfg(feature = "rename")]
        <BrandRenamed as ::freehold::__private::OneOfSet>::INFO,
        <audit::Noted as ::freehold::__private::OneOfSet>::INFO,
    ];
    fn info(&self) -> ::freehold::EventInfo {
        match *self {
            Self::BrandCreated(_) => {
                <BrandCreated as ::freehold::__private::OneOfSet>::INFO
            }
            #[cfg(feature = "rename")]
            Self::BrandRenamed(_) => {
                <BrandRenamed as ::freehold::__private::OneOfSet>::INFO
            }
            Self::Noted(_) => <audit::Noted as ::freehold::__private::OneOfSet>::INFO,
        }
    }
    fn encode(
        &self,
    ) -> ::core::result::Result<::freehold::EncodedEvent, ::freehold::CodecError> {
        match *self {
            Self::BrandCreated(ref __event) => {
                <BrandCreated as ::freehold::__private::OneOfSet>::encode(__event)
            }
            #[cfg(feature = "rename")]
            Self::BrandRenamed(ref __event) => {
                <BrandRenamed as ::freehold::__private::OneOfSet>::encode(__event)
            }
            Self::Noted(ref __event) => {
                <audit::Noted as ::freehold::__private::OneOfSet>::encode(__event)
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
        #[cfg(feature = "rename")]
        if <BrandRenamed as ::freehold::__private::OneOfSet>::is(__event) {
            return ::core::result::Result::map(
                <BrandRenamed as ::freehold::__private::OneOfSet>::decode(__event),
                Self::BrandRenamed,
            );
        }
        if <audit::Noted as ::freehold::__private::OneOfSet>::is(__event) {
            return ::core::result::Result::map(
                <audit::Noted as ::freehold::__private::OneOfSet>::decode(__event),
                Self::Noted,
            );
        }
        ::core::result::Result::Err(::freehold::CodecError::unknown_event(__event))
    }
}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
#[automatically_derived]
impl ::freehold::Aggregate for catalog::Brand {
    type Event = BrandEvents;
    const CONTEXT: &'static str = "eshop-catalog";
    const NAME: &'static str = "brand";
    const STATE_VERSION: u32 = 2;
    const SNAPSHOT_EVERY: u32 = 50;
    const DESCRIPTOR: ::freehold::AggregateDescriptor = ::freehold::__private::aggregate_descriptor::<
        Self,
    >(
        &[
            ::freehold::CommandInfo::of::<Self, CreateBrand>(),
            #[cfg(feature = "rename")]
            ::freehold::CommandInfo::of::<Self, api::RenameBrand>(),
        ],
        ::freehold::__private::source!(),
    );
    fn evolve(&mut self, __event: &BrandEvents) {
        match *__event {
            BrandEvents::BrandCreated(ref __event) => {
                <Self as ::freehold::Apply<BrandCreated>>::apply(self, __event)
            }
            #[cfg(feature = "rename")]
            BrandEvents::BrandRenamed(ref __event) => {
                <Self as ::freehold::Apply<BrandRenamed>>::apply(self, __event)
            }
            BrandEvents::Noted(ref __event) => {
                <Self as ::freehold::Apply<audit::Noted>>::apply(self, __event)
            }
        }
    }
}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
#[automatically_derived]
impl ::core::convert::From<BrandCreated> for BrandEvents {
    fn from(__event: BrandCreated) -> Self {
        Self::BrandCreated(__event)
    }
}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
#[cfg(feature = "rename")]
#[automatically_derived]
impl ::core::convert::From<BrandRenamed> for BrandEvents {
    fn from(__event: BrandRenamed) -> Self {
        Self::BrandRenamed(__event)
    }
}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
#[automatically_derived]
impl ::core::convert::From<audit::Noted> for BrandEvents {
    fn from(__event: audit::Noted) -> Self {
        Self::Noted(__event)
    }
}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
#[automatically_derived]
impl ::freehold::Decide<CreateBrand> for catalog::Brand {
    const COMMAND: &'static str = "CreateBrand";
    const CREATES: ::freehold::Creates = ::freehold::Creates::Only;
    const PRODUCES: &'static [::freehold::EventInfo] = &[
        <BrandCreated as ::freehold::__private::OneOfSet>::INFO,
        <audit::Noted as ::freehold::__private::OneOfSet>::INFO,
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
            >::into_decision(Self::create(self, __command, __scope).await)
        }
    }
}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
#[cfg(feature = "rename")]
#[automatically_derived]
impl ::freehold::Decide<api::RenameBrand> for catalog::Brand {
    const COMMAND: &'static str = "rename";
    const CREATES: ::freehold::Creates = ::freehold::Creates::Allowed;
    const PRODUCES: &'static [::freehold::EventInfo] = &[
        <BrandRenamed as ::freehold::__private::OneOfSet>::INFO,
        <audit::Noted as ::freehold::__private::OneOfSet>::INFO,
    ];
    const NEEDS: &'static [::freehold::Need] = &[
        #[cfg(feature = "prices")]
        ::freehold::Need::service::<dyn Pricing<'static, 'static> + 'static>(),
        ::freehold::Need::service::<dyn for<'b> Fn(&'b str)>(),
    ];
    fn decide(
        &self,
        __command: api::RenameBrand,
        __scope: &mut ::freehold::DecideScope<'_>,
    ) -> impl ::core::future::Future<
        Output = ::core::result::Result<
            ::freehold::Decision<Self, api::RenameBrand>,
            ::freehold::DecideError,
        >,
    > + ::core::marker::Send {
        #[cfg(feature = "prices")]
        const _: () = ::freehold::__private::assert_service::<
            dyn Pricing<'static, 'static> + 'static,
        >();
        const _: () = ::freehold::__private::assert_service::<dyn for<'b> Fn(&'b str)>();
        async move {
            #[cfg(feature = "prices")]
            let __service_1 = ::freehold::__private::service::<
                dyn Pricing<'static, 'static> + 'static,
            >(__scope)?;
            let __service_3 = ::freehold::__private::service::<
                dyn for<'b> Fn(&'b str),
            >(__scope)?;
            let __context = ::freehold::__private::context(__scope);
            ::freehold::IntoDecision::<
                Self,
                api::RenameBrand,
            >::into_decision(
                Self::rename(
                    self,
                    &__command,
                    #[cfg(feature = "prices")]
                    &*__service_1,
                    &*__context,
                    &*__service_3,
                ),
            )
        }
    }
}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
#[automatically_derived]
impl ::freehold::Apply<BrandCreated> for catalog::Brand {
    fn apply(&mut self, __event: &BrandCreated) {
        Self::created(self, __event);
    }
    fn event(__event: BrandCreated) -> BrandEvents {
        BrandEvents::BrandCreated(__event)
    }
}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
#[cfg(feature = "rename")]
#[automatically_derived]
impl ::freehold::Apply<BrandRenamed> for catalog::Brand {
    fn apply(&mut self, __event: &BrandRenamed) {
        Self::renamed(self, __event);
    }
    fn event(__event: BrandRenamed) -> BrandEvents {
        BrandEvents::BrandRenamed(__event)
    }
}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
#[automatically_derived]
impl ::freehold::Apply<audit::Noted> for catalog::Brand {
    fn apply(&mut self, __event: &audit::Noted) {
        Self::noted(self, __event);
    }
    fn event(__event: audit::Noted) -> BrandEvents {
        BrandEvents::Noted(__event)
    }
}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
#[automatically_derived]
impl ::freehold::Produces<CreateBrand, BrandCreated> for catalog::Brand {}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
#[automatically_derived]
impl ::freehold::Produces<CreateBrand, audit::Noted> for catalog::Brand {}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
#[cfg(feature = "rename")]
#[automatically_derived]
impl ::freehold::Produces<api::RenameBrand, BrandRenamed> for catalog::Brand {}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
#[cfg(feature = "rename")]
#[automatically_derived]
impl ::freehold::Produces<api::RenameBrand, audit::Noted> for catalog::Brand {}
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
const _: () = {
    ::freehold::__private::inventory::submit! {
        < catalog::Brand as ::freehold::Aggregate > ::DESCRIPTOR
    }
};
