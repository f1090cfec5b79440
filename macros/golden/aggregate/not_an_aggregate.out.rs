impl<T> Brand<T> {
    fn create(&self, command: CreateBrand) -> Decision<Self, CreateBrand> {
        todo!()
    }
}
::core::compile_error! {
    "an aggregate can't be generic, since it is registered as one type under one name; write an impl block for a concrete type"
}
