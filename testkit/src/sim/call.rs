//! Calls on a store as values: to hand several over at once, poll their replies in turns, and judge the answers later.

use crate::conformance::BoxFuture;
use fastrand::Rng;
use freehold::store::{Append, AppendReply, Check, Checked, GiveUp, Refusal, Reserve, ReserveReply, Settle, Settled};
use freehold::{Store, StoreError};
use std::fmt;
use std::future::poll_fn;
use std::task::Poll;

#[derive(Clone)]
pub(super) enum Call {
    Reserve(Reserve),
    GiveUp(GiveUp),
    Append(Append),
    Settle(Settle),
    Check(Check),
    Sweep,
}

pub(super) enum Answer {
    Reserved(ReserveReply),
    GivenUp,
    Appended(AppendReply),
    Settled(Settled),
    Checked(Checked),
    Swept,
}

type Reply = BoxFuture<'static, Result<Answer, StoreError>>;

impl Call {
    /// Hands the call over: what happens from then on does not depend on who polls the reply.
    fn hand_over(&self, store: &dyn Store) -> Reply {
        macro_rules! reply {
            ($reply:expr, $answer:expr) => {{
                let reply = $reply;
                Box::pin(async move { reply.await.map($answer) })
            }};
        }
        match self.clone() {
            Self::Reserve(reserve) => reply!(store.reserve(reserve), Answer::Reserved),
            Self::GiveUp(give_up) => reply!(store.give_up(give_up), |()| Answer::GivenUp),
            Self::Append(append) => reply!(store.append(append), Answer::Appended),
            Self::Settle(settle) => reply!(store.settle(settle), Answer::Settled),
            Self::Check(check) => reply!(store.check(check), Answer::Checked),
            Self::Sweep => reply!(store.sweep(), |_| Answer::Swept),
        }
    }
}

/// Hands all calls over, in order, and polls their replies in turns that are drawn from `turns`.
pub(super) async fn fly(store: &dyn Store, calls: &[Call], turns: u64) -> Result<Vec<Answer>, StoreError> {
    let mut replies: Vec<Reply> = calls.iter().map(|call| call.hand_over(store)).collect();
    let mut answers: Vec<Option<Result<Answer, StoreError>>> = calls.iter().map(|_| None).collect();
    let mut random = Rng::with_seed(turns);
    let mut order: Vec<usize> = (0..calls.len()).collect();
    poll_fn(|context| {
        random.shuffle(&mut order);
        for &number in &order {
            // Some get on by several of their own steps before another has its turn.
            for _ in 0..=random.u8(..3) {
                if answers[number].is_none()
                    && let Poll::Ready(answer) = replies[number].as_mut().poll(context)
                {
                    answers[number] = Some(answer);
                }
            }
        }
        if answers.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    answers.into_iter().flatten().collect()
}

/// As a failure tells it: what became of the call, without the numbers that mean nothing to a reader.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reserved(reply) => write!(f, "{:?}", reply.answers),
            Self::GivenUp => f.write_str("given up"),
            Self::Appended(AppendReply::Written(_)) => f.write_str("Written"),
            Self::Appended(AppendReply::Refused(Refusal::Replay(first))) => write!(f, "Replay of {}", first.token),
            Self::Appended(AppendReply::Refused(refusal)) => write!(f, "{refusal:?}"),
            Self::Settled(Settled::Written(_)) => f.write_str("settled as written"),
            Self::Settled(Settled::NotWritten) => f.write_str("settled as not written"),
            Self::Checked(Checked { version, first, mark }) => {
                let found = if first.is_some() { "a commit" } else { "no commit" };
                write!(f, "version {version}, {found}, mark {mark}")
            }
            Self::Swept => f.write_str("swept"),
        }
    }
}
