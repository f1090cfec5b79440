#[aggregate(context = "eshop-catalog", name = "brand", state_version = 2, snapshot_every = 50, event = pub(crate) BrandEvents)]
#[cfg(feature = "brands")]
#[allow(clippy::unused_async)]
impl catalog::Brand {
    /// A constant between the methods.
    pub const LIMIT: usize = { 10 };

    /// Creates a brand.
    #[on_command(creates, produces = [BrandCreated, audit::Noted])]
    async fn create(&self, command: CreateBrand, scope: &mut DecideScope<'_>) -> Result<Decision, DecideError> {
        let name = take(&command.name, scope).await?;
        Ok(Decision::event(BrandCreated { name }))
    }

    #[on_command(name = "rename", creates = "allowed")]
    #[cfg(feature = "rename")]
    pub(crate) fn rename<'a>(
        &'a self,
        command: &api::RenameBrand,
        #[cfg(feature = "prices")] pricing: &(dyn Pricing<'_, 'a> + 'a),
        context: &CommandContext,
        log: &dyn for<'b> Fn(&'b str),
    ) -> Result<(Option<BrandRenamed>, Vec<audit::Noted>), DecideError> {
        Ok((None, Vec::new()))
    }

    #[on_event]
    fn created(&mut self, event: &BrandCreated) {}

    #[on_event]
    #[cfg(feature = "rename")]
    fn renamed(&mut self, event: &BrandRenamed) {}

    #[on_event]
    fn noted(&mut self, r#move: &audit::Noted) {}

    fn helper(&self) {}
}
