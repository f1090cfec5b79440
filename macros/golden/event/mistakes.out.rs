#[automatically_derived]
impl ::freehold::Event for BrandCreated {
    const NAME: &'static str = "$created";
    const VERSION: u32 = 2;
}
::core::compile_error! {
    "`version` is given twice; keep one of the two"
}
::core::compile_error! {
    "the first one is here"
}
::core::compile_error! {
    "`#[event(..)]` has no option `nam`; it has `name = \"brand-created\"`, `version = 2`, `upcasters = [from_v1]`, `crate = my_facade::freehold`"
}
::core::compile_error! {
    "`#[event(..)]` belongs on the type; write it above the `struct` or `enum`"
}
::core::compile_error! {
    "names with `$` in front are the framework's own; write `name = \"brand-created\"`"
}
::core::compile_error! {
    "version 2 needs an upcaster for each version before it, 1 in all; write `upcasters = [from_v1]`"
}
