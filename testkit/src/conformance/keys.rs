//! Keys as text: compared byte for byte, never cut, never reinterpreted (R14, U51, U52, U53).

#![expect(clippy::missing_panics_doc, reason = "a case panics when the store does not conform")]

use super::Subject;
use super::actor::{Actor, SYSTEM_NAMESPACE, registered};
use super::append::typed;
use freehold::reservation::lifecycle::KeyUse;
use freehold::reservation::{KeyId, Reserved};

/// U51: what some collations fold are two keys.
pub async fn keys_are_compared_byte_for_byte(subject: &Subject) {
    registered(&**subject.store()).await;
    let pairs = [
        ("a", "A"),
        ("e", "\u{e9}"),
        ("bar", "bar "),
        ("\u{e9}", "e\u{301}"),
        ("\u{df}", "ss"),
        ("a", "\u{430}"),
        ("i", "\u{131}"),
        ("contoso", "contoso\u{200b}"),
        ("1", "1.0"),
        ("1", "01"),
        ("x'", "x''"),
        ("%", "_"),
        ("null", "NULL"),
    ];
    for (number, (one, other)) in pairs.into_iter().enumerate() {
        let (one, other) = (format!("{number}:{one}"), format!("{number}:{other}"));
        Actor::new(subject, &format!("one-{number}")).take(&one).await;
        Actor::new(subject, &format!("other-{number}")).take(&other).await;
        let third = Actor::new(subject, &format!("third-{number}"));
        for key in [one, other] {
            assert_eq!(third.reserve(&key).await, Reserved::TakenHeld, "{key:?}");
        }
    }
}

/// U53: keys up to the limit are kept whole; two that share all but the last byte are two.
pub async fn long_keys_are_neither_cut_nor_confused(subject: &Subject) {
    registered(&**subject.store()).await;
    let mut random = fastrand::Rng::with_seed(53);
    for length in [1, 255, 256, 1_023, 1_024] {
        let text: String = (0..length - 1).map(|_| random.alphanumeric()).collect();
        let wide = "\u{3042}".repeat(length / 3).replacen('\u{3042}', &format!("{length:03}"), 1);
        let (a, b) = (Actor::new(subject, &format!("a-{length}")), Actor::new(subject, &format!("b-{length}")));
        a.take(&format!("{text}1")).await;
        b.take(&format!("{text}2")).await;
        assert_eq!(b.again(1).reserve(&format!("{text}1")).await, Reserved::TakenHeld);
        if !wide.is_empty() {
            a.again(1).take(&wide).await;
        }
        let held = subject.store().held_by(a.stream.clone()).await.expect("read");
        assert!(held.iter().any(|key| *key.key == format!("{text}1")), "{length} bytes come back whole");
    }
}

/// U52, R14: control characters, quotes, emoji and long names are plain text in every part.
pub async fn control_characters_and_odd_parts_are_plain_text(subject: &Subject) {
    registered(&**subject.store()).await;
    let odd = [
        "\u{1}",
        "\u{1f}",
        "\u{7f}",
        "\u{ffff}",
        "\r\n\t",
        "\"'`;--",
        "{\"a\":[1]}",
        "\u{1F1E9}\u{1F1EA}",
        "\u{202e}abc",
    ];
    for (number, text) in odd.into_iter().enumerate() {
        let holder = Actor::of(subject.store(), typed(text, "brand", "acme"));
        holder.take(&format!("{text}{number}")).await;
        assert!(holder.holds(&format!("{text}{number}")).await, "{text:?}");
        let held = subject.store().held_by(holder.stream.clone()).await.expect("read");
        assert_eq!(held, [holder.key(&format!("{text}{number}"))]);
        assert_eq!(holder.load().await.commits[0].stream, holder.stream);
    }
    let long: &str = &"t".repeat(255);
    let mut stream = typed(long, "brand", "acme");
    stream.tenant = long.into();
    let holder = Actor::of(subject.store(), stream);
    holder.take("k").await;
    assert!(holder.holds("k").await);
}

/// R16: what an aggregate holds is what is confirmed for it, and nothing that is pending, for it or for another.
pub async fn only_confirmed_keys_are_held(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    let held = async |actor: &Actor| subject.store().held_by(actor.stream.clone()).await.expect("read");
    assert_eq!(a.reserve("pending").await, Reserved::Newly);
    assert_eq!(held(&a).await, []);
    let other = a.again(0);
    other.take("held").await;
    assert_eq!(held(&a).await, [a.key("held")], "its own pending key is not held");
    assert_eq!(b.reserve("others").await, Reserved::Newly);
    assert_eq!((held(&a).await, held(&b).await), (vec![a.key("held")], vec![]));
}

/// The keys of a holder are told in order, by their bytes, whatever order they were taken in.
pub async fn held_keys_are_told_in_order(subject: &Subject) {
    registered(&**subject.store()).await;
    let a = Actor::new(subject, "a");
    let texts = ["b", "a", "\u{e9}", "B", "a ", "\u{10000}", "10", "\u{ffff}", "9", "aa"];
    let keys: Vec<KeyId> = texts.iter().map(|text| a.key(text)).collect();
    let system = KeyId { namespace: SYSTEM_NAMESPACE.into(), scope: "".into(), ..a.key("aa") };
    for (number, key) in keys.into_iter().chain([system]).enumerate() {
        let attempt = a.again(number as u64);
        assert_eq!(attempt.reserve_ids(vec![key.clone()]).await, [Reserved::Newly]);
        let append = attempt.append_call(vec![(key, KeyUse::Take)]);
        Actor::wrote(&attempt.store.append(append).await.expect("answered"));
    }
    let held = subject.store().held_by(a.stream.clone()).await.expect("read");
    assert_eq!(held.len(), texts.len() + 1);
    assert!(
        held.is_sorted_by(|one, other| one.key <= other.key),
        "{:?}",
        held.iter().map(|id| &id.key).collect::<Vec<_>>()
    );
}
