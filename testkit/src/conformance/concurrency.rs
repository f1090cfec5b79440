//! Races: staggered starts, many rounds, the store's constraint as the judge (S2, R18, U03, U07, U21, U36).

#![expect(clippy::missing_panics_doc, reason = "a case panics when the store does not conform")]

use super::Subject;
use super::actor::{Actor, is_conflict, registered};
use crate::sim::Simulation;
use freehold::Store;
use freehold::reservation::lifecycle::KeyUse::Take;
use freehold::reservation::{KeyId, Reserved};
use freehold::store::AppendReply;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Starts one after the other, a few scheduler turns apart, so that the calls overlap in every way.
async fn stagger(number: usize) {
    for _ in 0..number % 7 {
        tokio::task::yield_now().await;
    }
}

/// R1, U03: of many that ask for one key at once, one commits; whoever was told so is readable and holds it.
pub async fn one_winner_among_racers(subject: &Subject) {
    registered(&**subject.store()).await;
    for round in 0..30 {
        let mut racers = JoinSet::new();
        for number in 0..20 {
            let actor = Actor::new(subject, &format!("racer-{round}-{number}"));
            racers.spawn(async move {
                stagger(number).await;
                let key = format!("key-{round}");
                let won = actor.reserve(&key).await.is_ours()
                    && matches!(actor.append(&[(&*key, Take)]).await, AppendReply::Written(_));
                (won, actor.holds(&key).await, actor.load().await.commits.len())
            });
        }
        let outcomes = racers.join_all().await;
        assert_eq!(outcomes.iter().filter(|(won, ..)| *won).count(), 1, "round {round}: {outcomes:?}");
        for (won, holds, commits) in outcomes {
            assert_eq!((holds, commits), (won, usize::from(won)));
        }
    }
}

/// S2, U03: of many appends at one version one is written; none is lost, none is doubled.
pub async fn one_stream_takes_one_commit_a_version(subject: &Subject) {
    registered(&**subject.store()).await;
    let mut writers = JoinSet::new();
    for number in 0..16 {
        let actor = Actor::new(subject, "one");
        writers.spawn(async move {
            stagger(number).await;
            let (mut version, mut written) = (0, 0);
            while written < 5 {
                let reply = actor.again(version).append(&[]).await;
                if !is_conflict(&reply) {
                    Actor::wrote(&reply);
                    written += 1;
                }
                version = actor.load().await.commits.len() as u64;
            }
            written
        });
    }
    assert_eq!(writers.join_all().await.into_iter().sum::<usize>(), 80);
    let commits = Actor::new(subject, "one").load().await.commits;
    let versions: Vec<u64> = commits.iter().map(|commit| commit.version).collect();
    assert_eq!(versions, (1..=80).collect::<Vec<_>>());
}

/// R18: sets of keys that overlap, each in its own order, from two handles, never deadlock; no key has two holders.
pub async fn overlapping_sets_in_any_order_never_deadlock(subject: &Subject) {
    registered(&**subject.store()).await;
    let handles: [Arc<dyn Store>; 2] = [Arc::clone(subject.store()), subject.reopened().await];
    let mut deciders = JoinSet::new();
    for number in 0..24_usize {
        let actor = Actor::of(&handles[number % 2], super::actor::stream(&format!("decider-{number}")));
        deciders.spawn(async move {
            stagger(number).await;
            let mut random = fastrand::Rng::with_seed(number as u64);
            let mut numbers: Vec<usize> = (0..60).collect();
            random.shuffle(&mut numbers);
            let keys: Vec<KeyId> = numbers[..50].iter().map(|number| actor.key(&format!("k-{number}"))).collect();
            let answers = actor.reserve_ids(keys.clone()).await;
            let ours = keys.into_iter().zip(answers).filter(|(_, answer)| *answer == Reserved::Newly);
            let claims: Vec<_> = ours.map(|(key, _)| (key, Take)).collect();
            let taken = claims.len();
            if number % 3 == 0 {
                actor.give_up_ids(claims.into_iter().map(|(key, _)| key).collect()).await;
                return 0;
            }
            Actor::wrote(&actor.store.append(actor.append_call(claims)).await.expect("answered"));
            taken
        });
    }
    let taken: usize = deciders.join_all().await.into_iter().sum();
    let mut held = 0;
    for number in 0..24 {
        let stream = super::actor::stream(&format!("decider-{number}"));
        held += subject.store().held_by(stream).await.expect("read").len();
    }
    assert_eq!(held, taken);
    assert!(taken <= 60, "{taken} keys of 60 are held");
}

/// U21: while its holder tries and fails again and again, nobody else ever gets a confirmed key.
pub async fn a_confirmed_key_is_never_lent(subject: &Subject) {
    registered(&**subject.store()).await;
    let holder = Actor::new(subject, "holder");
    holder.take("k").await;
    let other = Actor::new(subject, "other");
    let tries = tokio::spawn(async move {
        for _ in 0..300 {
            let attempt = holder.again(1);
            assert_eq!(attempt.reserve("k").await, Reserved::AlreadyHeld);
            attempt.give_up("k").await;
        }
        holder.holds("k").await
    });
    let mut asked = 0;
    while !tries.is_finished() || asked == 0 {
        assert_eq!(other.reserve("k").await, Reserved::TakenHeld);
        asked += 1;
    }
    assert!(tries.await.expect("the holder ends"));
}

/// C8, R5: a call that was handed over takes effect although nobody waits for it, in order.
pub async fn dropped_calls_take_effect_all_the_same(subject: &Subject) {
    registered(&**subject.store()).await;
    let (a, b) = (Actor::new(subject, "a"), Actor::new(subject, "b"));
    drop(a.store.reserve(a.reserve_call(vec![a.key("k")])));
    drop(a.store.append(a.append_call(vec![(a.key("k"), Take)])));
    subject.store().drain().await.expect("drained");
    assert!(a.holds("k").await);
    // A give-up never overtakes its reserve.
    for _ in 0..50 {
        let attempt = b.again(0);
        drop(b.store.reserve(attempt.reserve_call(vec![b.key("l")])));
        let keys = vec![b.key("l")];
        drop(b.store.give_up(freehold::store::GiveUp { holder: b.stream.clone(), token: attempt.token, keys }));
    }
    subject.store().drain().await.expect("drained");
    assert_eq!(b.record("l").await, None);
}

/// R1 to R11: attempts that interleave at random answer as the reference model does; a schedule that fails is shortened.
pub async fn interleaved_attempts_agree_with_the_model(subject: &Subject) {
    let simulation = Simulation::default();
    for seed in 0..40 {
        if let Err(disagreement) = simulation.run(subject, seed).await {
            panic!("{disagreement}");
        }
    }
}
