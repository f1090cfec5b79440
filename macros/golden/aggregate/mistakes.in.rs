#[aggregate(name = "brand")]
impl Brand {
    /// Fine, and generated.
    #[on_command(produces = [BrandCreated])]
    fn create(&self, command: CreateBrand) -> Decision {
        todo!()
    }
    /// Its impl is there, with a body that never runs.
    #[on_command(produces = [BrandRenamed])]
    fn rename(self, command: RenameBrand, now: Timestamp) -> Decision {
        todo!()
    }
    /// Without a command there is no impl.
    #[on_command(produces = [BrandRemoved])]
    fn remove(&self, scope: &mut DecideScope<'_>) -> Decision {
        todo!()
    }
    /// The second handler of a command: its events may still be produced.
    #[on_command(produces = [BrandRenamed])]
    fn create_again(&self, command: CreateBrand) -> Decision {
        todo!()
    }
    #[on_event]
    fn created(&mut self, event: &BrandCreated) {}
    #[on_event]
    fn renamed(&mut self, event: BrandRenamed) {}
}
