//! What `#[aggregate(..)]` and `#[on_command(..)]` can be told: the forms of their options, and their values.
//!
//! An option that is wrong is reported here and then absent; whether an option is missing is for `check`.

use crate::attrs::{CRATE_FORM, Form, Options};
use crate::errors::Errors;
use crate::paths::CratePath;
use proc_macro2::{Ident, Span, TokenStream};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, LitStr, Meta, Path, Visibility};

pub(super) const CONTEXT_EXAMPLE: &str = "context = \"eshop-catalog\"";
const CREATES_EXAMPLE: &str = "creates = \"allowed\"";

const AGGREGATE_FORMS: &[Form] = &[
    Form { key: "context", example: CONTEXT_EXAMPLE },
    Form { key: "name", example: "name = \"brand\"" },
    Form { key: "state_version", example: "state_version = 1" },
    Form { key: "snapshot_every", example: "snapshot_every = 100" },
    Form { key: "event", example: "event = BrandEvent" },
    CRATE_FORM,
];

const COMMAND_FORMS: &[Form] = &[
    Form { key: "creates", example: CREATES_EXAMPLE },
    Form { key: "produces", example: "produces = [BrandCreated]" },
    Form { key: "name", example: "name = \"CreateBrand\"" },
];

pub(super) struct AggregateOptions {
    pub(super) crate_path: CratePath,
    pub(super) context: Option<LitStr>,
    /// Whether `context` stands there, good or bad, or perhaps misspelt.
    pub(super) mentions_context: bool,
    pub(super) name: Option<LitStr>,
    pub(super) state_version: Option<u32>,
    pub(super) snapshot_every: Option<u32>,
    pub(super) event: Option<EventName>,
}

/// `BrandEvent`, or `pub(crate) BrandEvent`.
pub(super) struct EventName {
    pub(super) vis: Option<Visibility>,
    pub(super) ident: Ident,
}

impl Parse for EventName {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let vis = input.parse::<Visibility>()?;
        Ok(Self { vis: Some(vis).filter(|vis| !matches!(vis, Visibility::Inherited)), ident: input.parse()? })
    }
}

impl AggregateOptions {
    pub(super) fn new(args: TokenStream, errors: &Errors) -> Self {
        let options = Options::parse(args, "#[aggregate(..)]", AGGREGATE_FORMS, errors);
        Self {
            crate_path: options.crate_path(errors),
            context: options.name("context", errors),
            mentions_context: options.get("context").is_some() || options.has_unknown(),
            name: options.name("name", errors),
            state_version: options.number("state_version", 1, errors).map(|(version, _)| version),
            snapshot_every: options.number("snapshot_every", 0, errors).map(|(every, _)| every),
            event: options.other("event", "the name of an enum", errors),
        }
    }
}

#[derive(Clone, Copy, Default)]
pub(super) enum Creates {
    #[default]
    Never,
    Only,
    Allowed,
}

#[derive(Default)]
pub(super) struct CommandOptions {
    pub(super) creates: Creates,
    pub(super) produces: Option<Produces>,
    pub(super) name: Option<LitStr>,
}

pub(super) struct Produces {
    /// The listed events, as far as they can be read.
    pub(super) events: Vec<Path>,
}

impl CommandOptions {
    pub(super) fn new(marker: &Attribute, errors: &Errors) -> Self {
        let options = match marker_args(marker, "write `#[on_command(..)]`, or `#[on_command]` without options") {
            Ok(args) => Options::parse(args, "#[on_command(..)]", COMMAND_FORMS, errors),
            Err(error) => {
                errors.push(error);
                return Self::default();
            }
        };
        let produces = options.get("produces").is_some().then(|| {
            let list = options.list("produces", errors).map(|(events, _): (_, Span)| events);
            // `produces = BrandCreated` is an error, and clear enough to spare the body another one.
            let events = list.unwrap_or_else(|| options.guess("produces").into_iter().collect());
            Produces { events }
        });
        Self { creates: creates(&options, errors), produces, name: options.name("name", errors) }
    }
}

fn creates(options: &Options, errors: &Errors) -> Creates {
    if options.get("creates").is_none() {
        return Creates::Never;
    }
    if options.is_bare("creates") {
        return Creates::Only;
    }
    if let Some(text) = options.text("creates", errors) {
        if text.value() == "allowed" {
            return Creates::Allowed;
        }
        let message = "write `creates` for a command that needs a new aggregate, \
                       or `creates = \"allowed\"` for one that takes a new or an existing one";
        errors.at(&text, message);
    }
    Creates::Never
}

/// Refuses anything after `#[on_event`.
pub(super) fn no_event_options(marker: &Attribute, errors: &Errors) {
    let message = "`#[on_event]` takes no options; write `#[on_event]`, the event is the method's parameter";
    match marker_args(marker, message) {
        Ok(args) if args.is_empty() => {}
        Ok(args) => errors.at(args, message),
        Err(error) => errors.push(error),
    }
}

/// The tokens in the marker's parentheses.
fn marker_args(marker: &Attribute, otherwise: &str) -> syn::Result<TokenStream> {
    match &marker.meta {
        Meta::Path(_) => Ok(TokenStream::new()),
        Meta::List(list) => Ok(list.tokens.clone()),
        Meta::NameValue(pair) => Err(syn::Error::new_spanned(pair, otherwise)),
    }
}
