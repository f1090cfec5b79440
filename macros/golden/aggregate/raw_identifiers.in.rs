#[aggregate(context = "eshop-catalog")]
impl r#Struct {
    #[on_command(produces = [r#match])]
    fn r#move(&self, r#type: r#async) -> Decision {
        Decision::event(r#match { r#type })
    }
    #[on_event]
    fn r#match(&mut self, event: &r#match) {}
}
