//! Brands with unique names, decided well and, by other commands, each with one mistake.

use freehold::prelude::*;
use freehold::{Normalizer, Produces};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

#[namespace]
pub(super) const BRAND_NAMES: Namespace = Namespace::new("catalog.brand-name").normalized(TRIM_LOWERCASE);
/// Its normaliser forgets to trim.
#[namespace]
pub(super) const LOOSE_NAMES: Namespace = Namespace::new("catalog.loose-name").normalized(LOWERCASE);
/// Nobody registers it.
pub(super) const HIDDEN_NAMES: Namespace = Namespace::new("catalog.hidden-name");
const LOWERCASE: Normalizer = Normalizer::named("lowercase", 1, str::to_lowercase);

pub(super) const NAME_TAKEN: RejectionCode = RejectionCode::new("NAME_TAKEN");
pub(super) const BLANK_NAME: RejectionCode = RejectionCode::new("BLANK_NAME");
pub(super) const NO_DRAFT: RejectionCode = RejectionCode::new("NO_DRAFT");

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Brand {
    pub(super) name: String,
    pub(super) published: u32,
    pub(super) tags: HashSet<String>,
    /// Forgotten by snapshots.
    #[serde(skip)]
    drafts: u32,
}

macro_rules! data {
    ($($name:ident { $($(#[$of_field:meta])* $field:ident: $type:ty),* })*) => {
        $(#[derive(Debug, Serialize, Deserialize)]
        pub(super) struct $name { $($(#[$of_field])* pub(super) $field: $type),* })*
    };
}

macro_rules! events_of_brand {
    ($($name:ident { $($(#[$of_field:meta])* $field:ident: $type:ty),* })*) => {
        $(#[derive(Debug, Event, Serialize, Deserialize)]
        pub(super) struct $name { $($(#[$of_field])* pub(super) $field: $type),* })*
    };
}

events_of_brand! {
    BrandCreated { name: String }
    BrandRenamed { name: String }
    BrandDescribed { motto: String, founded: u32, address: Address, colours: Vec<String> }
    BrandStamped { #[serde(skip_deserializing)] by: String }
    BrandTagged { tags: HashSet<String> }
    DraftSaved {}
    DraftPublished {}
    DraftPrinted {}
}

data! {
    Address { street: String, city: String }
    CreateBrand { name: String }
    CreateLoose { name: String }
    CreateHidden { name: String }
    RenameBrand { name: String }
    RenameAndKeep { name: String }
    RenameAgain { name: String }
    DescribeBrand { motto: String }
    ImportBrand { source: String }
    StampBrand { by: String }
    NumberBrand {}
    ShuffleBrand {}
    NoteBrand { #[serde(skip)] note: String }
    Restyle { name: String }
    PublishDraft {}
    PrintDraft {}
    TagBrand { tags: HashSet<String> }
    PriceBrand {}
    WaitForever {}
    AskRuntime {}
    Explode {}
}

pub(super) trait Pricing: Send + Sync {
    fn price(&self, name: &str) -> String;
}

pub(super) fn address(city: &str) -> Address {
    Address { street: "1 Main Street".into(), city: city.into() }
}

#[derive(Debug)]
struct ImportFailed(std::num::ParseIntError);

impl std::fmt::Display for ImportFailed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("line 3 has no year")
    }
}

impl std::error::Error for ImportFailed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[aggregate(context = "catalog", name = "brand")]
#[expect(clippy::unused_self, reason = "handlers have it, used or not")]
impl Brand {
    #[on_command(creates, produces = [BrandCreated])]
    async fn create(&self, command: CreateBrand, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        let name = take(&command.name, scope).await?;
        Ok(Decision::event(BrandCreated { name }))
    }

    #[on_command(creates, produces = [BrandCreated])]
    async fn create_loose(&self, command: CreateLoose, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        scope.reserve(LOOSE_NAMES, &command.name).await?.or_reject(NAME_TAKEN, "another brand has this name")?;
        Ok(Decision::event(BrandCreated { name: command.name }))
    }

    #[on_command(creates, produces = [BrandCreated])]
    async fn create_hidden(&self, command: CreateHidden, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        scope.reserve(HIDDEN_NAMES, &command.name).await?.or_reject(NAME_TAKEN, "another brand has this name")?;
        Ok(Decision::event(BrandCreated { name: command.name }))
    }

    #[on_command(produces = [BrandRenamed])]
    async fn rename(&self, command: RenameBrand, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        if command.name.trim() == self.name {
            return Ok(Decision::no_op());
        }
        let name = take(&command.name, scope).await?;
        if !BRAND_NAMES.same_key(&name, &self.name) {
            scope.release(BRAND_NAMES, &self.name);
        }
        Ok(Decision::event(BrandRenamed { name }))
    }

    #[on_command(produces = [BrandRenamed])]
    async fn rename_and_keep(
        &self,
        command: RenameAndKeep,
        scope: &mut DecideScope<'_>,
    ) -> Result<Decision, DecideError> {
        let name = take(&command.name, scope).await?;
        Ok(Decision::event(BrandRenamed { name }))
    }

    #[on_command(produces = [BrandRenamed])]
    async fn rename_again(&self, command: RenameAgain, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        take(&self.name, scope).await?;
        Ok(Decision::event(BrandRenamed { name: command.name }))
    }

    #[on_command(creates = "allowed", produces = [BrandDescribed])]
    fn describe(&self, command: DescribeBrand) -> BrandDescribed {
        let colours = ["blue", "white"].map(String::from).to_vec();
        BrandDescribed { motto: command.motto, founded: 1975, address: address("Redmond"), colours }
    }

    #[on_command(creates = "allowed", produces = [BrandCreated])]
    async fn import(&self, command: ImportBrand, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        scope.reserve(BRAND_NAMES, "imported").await?.or_reject(NAME_TAKEN, "taken")?;
        command.source.parse::<u32>().map_err(ImportFailed).map_err(DecideError::failed)?;
        Ok(Decision::event(BrandCreated { name: "imported".into() }))
    }

    #[on_command(creates = "allowed")]
    fn stamp(&self, command: StampBrand) -> BrandStamped {
        BrandStamped { by: command.by }
    }

    #[on_command(creates = "allowed")]
    fn number(&self, _: NumberBrand) -> BrandCreated {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let parity = NEXT.fetch_add(1, Ordering::Relaxed) % 2;
        BrandCreated { name: format!("brand {parity}") }
    }

    #[on_command(creates = "allowed")]
    fn shuffle(&self, _: ShuffleBrand) -> BrandDescribed {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let mut colours = ["blue", "white"].map(String::from).to_vec();
        if NEXT.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            colours.reverse();
        }
        BrandDescribed { motto: "Onward".into(), founded: 1975, address: address("Redmond"), colours }
    }

    #[on_command(creates = "allowed", produces = [BrandCreated])]
    fn restyle(&self, command: Restyle) -> Decision {
        Decision::event(BrandRenamed { name: command.name })
    }

    #[on_command(creates = "allowed")]
    fn note(&self, command: NoteBrand) -> BrandCreated {
        BrandCreated { name: command.note }
    }

    #[on_command(creates = "allowed")]
    fn tag(&self, command: TagBrand) -> BrandTagged {
        BrandTagged { tags: command.tags }
    }

    #[on_command(creates = "allowed")]
    fn publish(&self, _: PublishDraft) -> DraftPublished {
        DraftPublished {}
    }

    #[on_command(creates = "allowed", produces = [DraftPrinted])]
    fn print(&self, _: PrintDraft) -> Result<Decision, DecideError> {
        if self.drafts == 0 {
            return Err(Rejection::new(NO_DRAFT, "there is no draft").into());
        }
        Ok(Decision::event(DraftPrinted {}))
    }

    #[on_command(creates = "allowed")]
    fn price(&self, _: PriceBrand, pricing: &dyn Pricing) -> BrandCreated {
        BrandCreated { name: pricing.price(&self.name) }
    }

    #[on_command(creates = "allowed")]
    async fn wait(&self, _: WaitForever) -> Option<BrandCreated> {
        std::future::pending().await
    }

    #[on_command(creates = "allowed")]
    async fn ask_runtime(&self, _: AskRuntime) -> BrandCreated {
        let name = tokio::spawn(async { "from a task".to_owned() }).await;
        BrandCreated { name: name.expect("the task ends") }
    }

    #[on_command(creates = "allowed", produces = [BrandCreated])]
    async fn explode(&self, _: Explode, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        let _ = scope.reserve(BRAND_NAMES, "boom").await?;
        panic!("out of luck");
    }

    #[on_event]
    fn created(&mut self, event: &BrandCreated) {
        self.name.clone_from(&event.name);
    }

    #[on_event]
    fn renamed(&mut self, event: &BrandRenamed) {
        self.name.clone_from(&event.name);
    }

    #[on_event]
    fn described(&mut self, _: &BrandDescribed) {}

    #[on_event]
    fn stamped(&mut self, _: &BrandStamped) {}

    #[on_event]
    fn tagged(&mut self, event: &BrandTagged) {
        self.tags.clone_from(&event.tags);
    }

    #[on_event]
    fn draft_saved(&mut self, _: &DraftSaved) {
        self.drafts += 1;
    }

    #[on_event]
    fn draft_printed(&mut self, _: &DraftPrinted) {}

    #[on_event]
    fn draft_published(&mut self, _: &DraftPublished) {
        self.published = self.drafts;
    }
}

/// By hand, so that what it declares need not be what it produces.
impl Produces<Restyle, BrandRenamed> for Brand {}

async fn take(name: &str, scope: &mut DecideScope<'_>) -> Result<String, DecideError> {
    let name = name.trim();
    if name.is_empty() {
        return Err(Rejection::new(BLANK_NAME, "a brand needs a name").into());
    }
    scope.reserve(BRAND_NAMES, name).await?.or_reject(NAME_TAKEN, "another brand has this name")?;
    Ok(name.to_owned())
}
