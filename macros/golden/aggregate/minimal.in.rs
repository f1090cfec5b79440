#[aggregate(context = "eshop-catalog")]
impl Brand {
    #[on_command]
    fn create(&self, command: CreateBrand) -> BrandCreated {
        BrandCreated { name: command.name }
    }
    #[on_event]
    fn created(&mut self, event: &BrandCreated) {
        self.name.clone_from(&event.name);
    }
}
