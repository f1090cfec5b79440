//! What is registered, from where: descriptors, link-time discovery, and the report of both.
//!
//! `inventory` finds what is linked and silently misses what is not; so everything can be registered by hand too, and
//! the report says how each thing was found.

use crate::aggregate::Aggregate;
use crate::command::CommandInfo;
use crate::event::{EventInfo, EventSet};
use crate::ids::AggregateType;
use crate::reservation::Namespace;
use std::any::TypeId;
use std::fmt;

/// Where in the source something was registered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Source {
    /// The crate.
    pub package: &'static str,
    /// The crate's version.
    pub version: &'static str,
    /// The module.
    pub module: &'static str,
    /// The file.
    pub file: &'static str,
    /// The line.
    pub line: u32,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} ({} {})", self.file, self.line, self.package, self.version)
    }
}

/// What a handler asks for that the domain has to provide.
#[derive(Clone, Copy)]
pub struct Need {
    id: fn() -> TypeId,
    name: fn() -> &'static str,
}

impl Need {
    /// A service, given with `DomainBuilder::provide`.
    #[must_use]
    pub const fn service<T: ?Sized + 'static>() -> Self {
        Self { id: TypeId::of::<T>, name: std::any::type_name::<T> }
    }

    /// The type asked for.
    #[must_use]
    pub fn type_id(&self) -> TypeId {
        (self.id)()
    }

    /// The type's name, for people.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        (self.name)()
    }
}

impl fmt::Debug for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.type_name())
    }
}

/// An aggregate as it is registered.
#[derive(Clone, Copy)]
pub struct AggregateDescriptor {
    /// Its context.
    pub context: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The events it applies.
    pub events: &'static [EventInfo],
    /// The commands it takes.
    pub commands: &'static [CommandInfo],
    /// Where it is.
    pub source: Source,
    rust_type: fn() -> TypeId,
    rust_name: fn() -> &'static str,
}

impl AggregateDescriptor {
    /// The descriptor of `A`, with its commands.
    #[must_use]
    pub const fn new<A: Aggregate>(commands: &'static [CommandInfo], source: Source) -> Self {
        Self {
            context: A::CONTEXT,
            name: A::NAME,
            events: <A::Event as EventSet>::EVENTS,
            commands,
            source,
            rust_type: TypeId::of::<A>,
            rust_name: std::any::type_name::<A>,
        }
    }

    /// Context and name.
    #[must_use]
    pub const fn aggregate(&self) -> AggregateType {
        AggregateType {
            context: crate::text::Text::from_static(self.context),
            name: crate::text::Text::from_static(self.name),
        }
    }

    /// The Rust type.
    #[must_use]
    pub fn rust_type(&self) -> TypeId {
        (self.rust_type)()
    }

    /// The Rust type's name.
    #[must_use]
    pub fn rust_name(&self) -> &'static str {
        (self.rust_name)()
    }
}

impl fmt::Debug for AggregateDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} = {} at {}", self.context, self.name, self.rust_name(), self.source)
    }
}

/// A namespace as it is registered.
#[derive(Clone, Copy, Debug)]
pub struct NamespaceDescriptor {
    /// The namespace.
    pub namespace: Namespace,
    /// Where it is.
    pub source: Source,
}

impl NamespaceDescriptor {
    /// The descriptor of `namespace`.
    #[must_use]
    pub const fn new(namespace: Namespace, source: Source) -> Self {
        Self { namespace, source }
    }
}

inventory::collect!(AggregateDescriptor);
inventory::collect!(NamespaceDescriptor);

/// The namespaces that were discovered at link time, ordered by name, each once. For tools that build domains of their
/// own, such as a test kit.
#[must_use]
pub fn discovered_namespaces() -> Vec<Namespace> {
    let mut namespaces: Vec<Namespace> = Vec::new();
    for found in inventory::iter::<NamespaceDescriptor> {
        if !namespaces.contains(&found.namespace) {
            namespaces.push(found.namespace);
        }
    }
    namespaces.sort_by_key(Namespace::name);
    namespaces
}

/// How something came to be registered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// At link time.
    Discovered,
    /// By a call on the builder.
    ByHand,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Discovered => "discovered",
            Self::ByHand => "by hand",
        })
    }
}

/// What a domain has registered, sorted by name. Printed, it is a table for people.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The aggregates, by context and name.
    pub aggregates: Vec<(AggregateDescriptor, Found)>,
    /// The namespaces, by name.
    pub namespaces: Vec<(Namespace, Option<Source>, Found)>,
    /// The services provided, by type name.
    pub services: Vec<&'static str>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "aggregates")?;
        for (aggregate, found) in &self.aggregates {
            let (commands, events) = (aggregate.commands.len(), aggregate.events.len());
            writeln!(
                f,
                "  {}.{}  {}  {commands} command(s), {events} event(s)  {found}  {}",
                aggregate.context,
                aggregate.name,
                aggregate.rust_name(),
                aggregate.source
            )?;
        }
        writeln!(f, "namespaces")?;
        for (namespace, source, found) in &self.namespaces {
            write!(f, "  {namespace}  per {}  {}  {found}", namespace.tenancy(), namespace.normalizer())?;
            match source {
                Some(source) => writeln!(f, "  {source}")?,
                None => writeln!(f)?,
            }
        }
        writeln!(f, "services")?;
        self.services.iter().try_for_each(|service| writeln!(f, "  {service}"))
    }
}

/// Collects what is registered, and every problem with it.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    pub(crate) report: Report,
    pub(crate) problems: Vec<String>,
}

impl Registry {
    pub(crate) fn add_aggregate(&mut self, new: AggregateDescriptor, found: Found) {
        let same_name = |(old, _): &&(AggregateDescriptor, Found)| (old.context, old.name) == (new.context, new.name);
        match self.report.aggregates.iter().find(same_name) {
            None => self.report.aggregates.push((new, found)),
            Some((old, _)) if old.rust_type() == new.rust_type() => {}
            Some((old, _)) => self.problems.push(format!(
                "two aggregates are named {}.{}: `{}` at {} and `{}` at {}; give one another name",
                new.context,
                new.name,
                old.rust_name(),
                old.source,
                new.rust_name(),
                new.source
            )),
        }
    }

    pub(crate) fn add_namespace(&mut self, new: Namespace, source: Option<Source>, found: Found) {
        let place = |source: &Option<Source>| source.map_or("the builder".to_owned(), |source| source.to_string());
        match self.report.namespaces.iter().find(|(old, ..)| old.name() == new.name()) {
            None => self.report.namespaces.push((new, source, found)),
            Some((old, ..)) if *old == new => {}
            Some((old, old_source, _)) => self.problems.push(format!(
                "namespace {:?} has two definitions: {old:?} at {} and {new:?} at {}; keep one constant and use it \
                 everywhere",
                new.name(),
                place(old_source),
                place(&source)
            )),
        }
    }

    pub(crate) fn discover(&mut self) {
        for aggregate in inventory::iter::<AggregateDescriptor> {
            self.add_aggregate(*aggregate, Found::Discovered);
        }
        for namespace in inventory::iter::<NamespaceDescriptor> {
            self.add_namespace(namespace.namespace, Some(namespace.source), Found::Discovered);
        }
    }

    /// Sorts, and checks what each registered thing needs.
    pub(crate) fn finish(&mut self, provides: impl Fn(TypeId) -> bool) {
        self.report.aggregates.sort_by_key(|(aggregate, _)| (aggregate.context, aggregate.name));
        self.report.namespaces.sort_by_key(|(namespace, ..)| namespace.name());
        for (aggregate, _) in &self.report.aggregates {
            check_aggregate(aggregate, &provides, &mut self.problems);
        }
        for (namespace, ..) in &self.report.namespaces {
            if let Err(error) = namespace.check() {
                self.problems.push(format!("namespace {:?}: {error}", namespace.name()));
            }
        }
    }
}

fn check_aggregate(aggregate: &AggregateDescriptor, provides: impl Fn(TypeId) -> bool, problems: &mut Vec<String>) {
    let who = || {
        format!(
            "aggregate {}.{} (`{}` at {})",
            aggregate.context,
            aggregate.name,
            aggregate.rust_name(),
            aggregate.source
        )
    };
    for (what, name) in [("context", aggregate.context), ("aggregate name", aggregate.name)] {
        if let Err(error) = crate::ids::check_name(what, name) {
            problems.push(format!("{}: {error}", who()));
        }
    }
    for (index, event) in aggregate.events.iter().enumerate() {
        if event.name.is_empty() || event.name.starts_with('$') {
            problems.push(format!("{}: event name {:?} must not be empty or start with `$`", who(), event.name));
        }
        if !event.is_complete() {
            problems.push(format!(
                "{}: event {:?} is of version {} and needs an upcaster from each older one",
                who(),
                event.name,
                event.version
            ));
        }
        if aggregate.events[..index].iter().any(|other| other.name == event.name) {
            problems.push(format!("{}: two of its events are stored as {:?}; rename one", who(), event.name));
        }
    }
    for (index, command) in aggregate.commands.iter().enumerate() {
        if command.name.is_empty() || command.name.starts_with('$') {
            problems.push(format!("{}: command name {:?} must not be empty or start with `$`", who(), command.name));
        }
        if aggregate.commands[..index].iter().any(|other| other.name == command.name) {
            problems.push(format!("{}: two of its commands are named {:?}; rename one", who(), command.name));
        }
        for need in command.needs.iter().filter(|need| !provides(need.type_id())) {
            problems.push(format!(
                "{}: its handler of {} needs `&{}`; give one with `.provide::<{}>(..)`",
                who(),
                command.name,
                need.type_name(),
                need.type_name()
            ));
        }
    }
}
