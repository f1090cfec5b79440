//! Two stores on one file: whatever a write depends on is read under the lock.

use super::*;
use crate::reservation::Reserved;
use crate::store::{KeyChange, Load};
use std::collections::BTreeMap;

const KEYS: usize = 20;
const COMMANDS: usize = 150;

/// One command: reserve a key, or release one, and append; what the store refuses is decided again.
fn command(store: &SqliteStore, random: &mut fastrand::Rng, number: u128) -> u32 {
    let (id, key) = (format!("brand-{}", random.usize(0..8)), format!("key-{}", random.usize(0..KEYS)));
    let load = Load { stream: brand(&id), after_version: 0, snapshot_of: None };
    let version = wait(store.load(load)).unwrap().commits.len() as u64;
    let key_use = if random.u8(0..4) == 0 {
        KeyUse::Release
    } else {
        match wait(store.reserve(reserve(&id, number, &[&key]))).unwrap().answers[0] {
            Reserved::Newly => KeyUse::Take,
            Reserved::AlreadyHeld => KeyUse::Keep,
            _ => return 0,
        }
    };
    if key_use == KeyUse::Take && random.u8(0..8) == 0 {
        wait(store.give_up(give_up(&id, number, &[&key]))).unwrap();
        return 0;
    }
    let reply = wait(store.append(append(&id, version, number, &[(&key, key_use)]))).unwrap();
    u32::from(matches!(reply, AppendReply::Written(_)))
}

#[test]
fn two_stores_on_one_file_agree_on_every_key() {
    let (scratch, clock) = (Scratch::new(), Arc::default());
    let stores = [open(&scratch.file(), &clock), open(&scratch.file(), &clock)];
    let committed: u32 = thread::scope(|scope| {
        let threads: Vec<_> = (0..4_u64)
            .map(|thread| {
                let store = &stores[usize::from(thread % 2 == 1)];
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(thread);
                    let numbers = (0..COMMANDS as u128).map(|number| u128::from(1_000_000 + thread * 10_000) + number);
                    numbers.map(|number| command(store, &mut random, number)).sum::<u32>()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let commits = wait(stores[0].commits(0, usize::MAX)).unwrap();
    assert_eq!(commits.len(), committed as usize, "every commit was answered, and every answer is a commit (U03)");
    assert!(committed > 50, "{committed} commands is no race");

    // The log alone says who holds what, and says the same as the registry (R20).
    let mut holders: BTreeMap<Text, StreamId> = BTreeMap::new();
    let mut versions: BTreeMap<StreamId, u64> = BTreeMap::new();
    for commit in &commits {
        let version = versions.entry(commit.stream.clone()).or_default();
        *version += 1;
        assert_eq!(commit.version, *version);
        for KeyChange { key, taken, .. } in &commit.keys {
            if *taken {
                let before = holders.insert(key.clone(), commit.stream.clone());
                assert!(before.is_none_or(|before| before == commit.stream), "a key was taken from its holder");
            } else if holders.get(key) == Some(&commit.stream) {
                holders.remove(key);
            }
        }
    }
    for stream in versions.keys() {
        let held = wait(stores[1].held_by(stream.clone())).unwrap();
        let logged = holders.iter().filter(|(_, holder)| *holder == stream).map(|(key, _)| name(key));
        assert_eq!(held, logged.collect::<Vec<_>>());
    }
}
