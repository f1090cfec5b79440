#[allow(non_camel_case_types)]
#[automatically_derived]
impl ::freehold::Event for r#match {
    const NAME: &'static str = "brand-created";
    const VERSION: u32 = 3;
    const UPCASTERS: &'static [::freehold::Upcaster] = &[from_v1, upcast::from_v2];
}
