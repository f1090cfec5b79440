#[aggregate(context = "eshop-catalog")]
impl<T> Brand<T> {
    #[on_command(produces = [BrandCreated])]
    fn create(&self, command: CreateBrand) -> Decision {
        todo!()
    }
}
