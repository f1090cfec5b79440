//! Normalisers: how a namespace makes one key of the spellings that mean the same. Named, versioned, pure.

use precis_profiles::UsernameCaseMapped;
use precis_profiles::precis_core::profile::Profile;
use std::borrow::Cow;
use std::fmt;
use unicode_normalization::UnicodeNormalization;

/// How a namespace normalises its keys (R13).
///
/// Its identity is its name and version, which the store records: a function has none. It must be idempotent: applied
/// to its own output it changes nothing (U47). A key for which one of your own is not is refused as `InvalidKey`.
#[derive(Clone, Copy)]
pub struct Normalizer {
    name: &'static str,
    version: u32,
    rule: Rule,
}

#[derive(Clone, Copy)]
enum Rule {
    Verbatim,
    TrimLowercase,
    NfkcCasefold,
    PrecisUsername,
    Own(fn(&str) -> String),
}

/// Keys are compared as they are, byte for byte. What a namespace does unless told otherwise.
pub const VERBATIM: Normalizer = Normalizer::built_in("verbatim", 1, Rule::Verbatim);

/// Outer white space is removed and the rest lower-cased.
///
/// White space is Unicode's `White_Space` (no-break and ideographic spaces included, zero-width ones not), lower case
/// is Unicode's default mapping without tailoring. Characters that merely look alike stay different keys.
///
/// ```
/// use freehold::{Namespace, TRIM_LOWERCASE};
/// let names = Namespace::new("names").normalized(TRIM_LOWERCASE);
/// assert!(names.same_key(" Contoso\u{a0}", "contoso"));
/// assert!(!names.same_key("contoso\u{200b}", "contoso"));
/// ```
pub const TRIM_LOWERCASE: Normalizer = Normalizer::built_in("trim-lowercase", 1, Rule::TrimLowercase);

/// Compatibility forms and case are folded, as in Unicode's compatibility caseless matching (The Unicode Standard,
/// section 3.13, D146), until nothing changes.
///
/// ```
/// use freehold::{Namespace, NFKC_CASEFOLD};
/// let names = Namespace::new("names").normalized(NFKC_CASEFOLD);
/// assert!(names.same_key("ＡＤＭＩＮ", "admin"));
/// assert!(names.same_key("Straße", "STRASSE"));
/// ```
pub const NFKC_CASEFOLD: Normalizer = Normalizer::built_in("nfkc-casefold", 1, Rule::NfkcCasefold);

/// The profile `UsernameCaseMapped` of PRECIS (RFC 8265, section 3.3): what it disallows, such as spaces, is no key.
///
/// ```
/// use freehold::{Namespace, PRECIS_USERNAME};
/// let names = Namespace::new("names").normalized(PRECIS_USERNAME);
/// assert!(names.same_key("Ana", "ana"));
/// assert!(names.key("no spaces").is_err());
/// ```
pub const PRECIS_USERNAME: Normalizer = Normalizer::built_in("precis-username", 1, Rule::PrecisUsername);

impl Normalizer {
    const fn built_in(name: &'static str, version: u32, rule: Rule) -> Self {
        Self { name, version, rule }
    }

    /// A normaliser of your own. Give it a new version whenever it may give another key for some text.
    ///
    /// ```
    /// use freehold::Normalizer;
    /// const SKU: Normalizer = Normalizer::named("sku", 1, |text| text.replace('-', "").to_uppercase());
    /// ```
    #[must_use]
    pub const fn named(name: &'static str, version: u32, rule: fn(&str) -> String) -> Self {
        Self { name, version, rule: Rule::Own(rule) }
    }

    /// The name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The version.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// The normalised text, or none when the normaliser refuses it.
    ///
    /// For the namespaces' own use and for inspection: `reserve`, `release`, `holds` and `same_key` normalise by
    /// themselves (R13).
    #[must_use]
    pub fn apply<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        match self.rule {
            Rule::Verbatim => Some(Cow::Borrowed(text)),
            Rule::TrimLowercase => Some(trim_lowercase(text)),
            Rule::NfkcCasefold => Some(Cow::Owned(nfkc_casefold(text))),
            Rule::PrecisUsername => precis_username(text).map(Cow::Owned),
            Rule::Own(rule) => Some(Cow::Owned(rule(text))),
        }
    }
}

impl Normalizer {
    /// Whether `key`, which it made, is its own normal form. The built-in rules are tested to be so (U47).
    pub(crate) fn is_stable_on(&self, key: &str) -> bool {
        match self.rule {
            Rule::Own(rule) => rule(key) == key,
            _ => true,
        }
    }
}

fn trim_lowercase(text: &str) -> Cow<'_, str> {
    let trimmed = text.trim();
    if trimmed.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(trimmed);
    }
    Cow::Owned(trimmed.to_lowercase())
}

fn nfkc_casefold(text: &str) -> String {
    let mut folded = text.to_owned();
    loop {
        let again: String = caseless::default_case_fold_str(&folded.nfkc().collect::<String>()).nfkc().collect();
        if again == folded {
            return folded;
        }
        folded = again;
    }
}

/// One pass of the profile is not always stable (RFC 8265, section 3.3.3 asks for up to three more); a text that
/// isn't stable then is refused, as the RFC has it.
fn precis_username(text: &str) -> Option<String> {
    let profile = UsernameCaseMapped::new();
    let mut name = profile.enforce(text).ok()?.into_owned();
    for _ in 0..3 {
        let again = profile.enforce(name.as_str()).ok()?.into_owned();
        if again == name {
            return Some(name);
        }
        name = again;
    }
    None
}

impl PartialEq for Normalizer {
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.version) == (other.name, other.version)
    }
}

impl Eq for Normalizer {}

impl fmt::Display for Normalizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

impl fmt::Debug for Normalizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILT_IN: [Normalizer; 4] = [VERBATIM, TRIM_LOWERCASE, NFKC_CASEFOLD, PRECIS_USERNAME];

    #[track_caller]
    fn idempotent(text: &str) {
        for normalizer in BUILT_IN {
            if let Some(once) = normalizer.apply(text) {
                assert_eq!(normalizer.apply(&once).as_deref(), Some(&*once), "{normalizer} of {text:?}");
            }
        }
    }

    /// R13, U47: the attack of 2013 used a normaliser that needed two passes.
    #[test]
    fn every_normalizer_is_idempotent_on_its_own_output() {
        for text in
            ["\u{1d2e}\u{1d35}\u{1d33}\u{1d2e}\u{1d35}\u{1d3f}\u{1d30}", "\u{c5}", "\u{212b}", "ＡＤＭＩＮ", "İ"]
        {
            idempotent(text);
        }
        let mut random = fastrand::Rng::with_seed(47);
        for _ in 0..100_000 {
            let length = random.usize(0..12);
            idempotent(&(0..length).map(|_| random.char(..)).collect::<String>());
        }
    }

    #[test]
    fn compatibility_letters_fold_to_plain_ones() {
        let folded = NFKC_CASEFOLD.apply("\u{1d2e}\u{1d35}\u{1d33}\u{1d2e}\u{1d35}\u{1d3f}\u{1d30}");
        assert_eq!(folded.as_deref(), Some("bigbird"));
    }

    #[test]
    fn trim_removes_white_space_and_nothing_else() {
        for space in ["\u{a0}", "\u{2003}", "\u{202f}", "\u{3000}", "\u{85}", " ", "\t\n"] {
            assert_eq!(TRIM_LOWERCASE.apply(&format!("{space}a{space}")).as_deref(), Some("a"), "{space:?}");
        }
        for kept in ["\u{200b}", "\u{200d}", "\u{feff}", "\u{2060}", "\u{ad}"] {
            assert_ne!(TRIM_LOWERCASE.apply(&format!("a{kept}")).as_deref(), Some("a"), "{kept:?}");
        }
    }
}
