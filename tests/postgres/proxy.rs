//! `Proxy`: stands between a store and its server, and cuts the connection at the call that a test chooses. It knows as
//! much of the protocol as that takes: where a message ends, and which function a call is of. No test.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// What becomes of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    /// It never reaches the server, and the connection is closed.
    Before,
    /// It reaches the server, and the connection is closed before it is answered.
    After,
    /// The server has answered, so has committed, and the connection is closed instead.
    Answered,
    /// It never reaches the server, and nothing is ever heard of it.
    Lost,
    /// It reaches the server, and nothing is ever heard of the answer.
    Silent,
    /// It is held up on the way, and reaches the server when the test lets it go. The client hears nothing.
    Held,
}

/// What the connections of a proxy share.
struct Plan {
    /// The next calls to meet: of which function, and how.
    cuts: Mutex<Vec<(&'static str, Cut)>>,
    /// How many calls were met, and how many of the held ones the server has answered.
    met: watch::Sender<(usize, usize)>,
    let_go: watch::Sender<bool>,
    is_down: watch::Sender<bool>,
}

/// A proxy before a server. Ends with its connections when it is dropped.
pub(crate) struct Proxy {
    port: u16,
    plan: Arc<Plan>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// One before the server at the port.
    pub(crate) async fn before(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let plan = Arc::new(Plan {
            cuts: Mutex::default(),
            met: watch::Sender::default(),
            let_go: watch::Sender::default(),
            is_down: watch::Sender::default(),
        });
        let accepting = tokio::spawn(accept(listener, server, Arc::clone(&plan)));
        Self { port, plan, accepting }
    }

    /// The URL of a server behind it, given the server's own.
    pub(crate) fn url(&self, url: &str) -> String {
        let (credentials, rest) = url.rsplit_once('@').expect("a URL with a user");
        let (_, database) = rest.split_once('/').expect("a URL with a database");
        let separator = if database.contains('?') { '&' } else { '?' };
        format!("{credentials}@127.0.0.1:{}/{database}{separator}sslmode=disable", self.port)
    }

    /// Meets the next call of `function` so; several, in their order.
    pub(crate) fn meet(&self, function: &'static str, how: Cut) {
        self.plan.cuts.lock().expect("nobody panics with it").push((function, how));
    }

    /// Completes when so many calls were met in all.
    pub(crate) async fn has_met(&self, calls: usize) {
        self.plan.met.subscribe().wait_for(|(met, _)| *met >= calls).await.expect("the plan is here");
    }

    /// How many calls were met in all.
    pub(crate) fn met(&self) -> usize {
        self.plan.met.borrow().0
    }

    /// Lets the held call go, and waits until the server has answered it.
    pub(crate) async fn let_go(&self) {
        let mut answered = self.plan.met.subscribe();
        let before = answered.borrow_and_update().1;
        self.plan.let_go.send_replace(true);
        answered.wait_for(|(_, answered)| *answered > before).await.expect("the plan is here");
        self.plan.let_go.send_replace(false);
    }

    /// Whether nobody gets through. Connections that are there are cut too.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.plan.is_down.send_replace(is_down);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, server: u16, plan: Arc<Plan>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        if *plan.is_down.borrow() {
            continue;
        }
        let server = TcpStream::connect(("127.0.0.1", server)).await.expect("the server is there");
        let plan = Arc::clone(&plan);
        connections.spawn(async move {
            let mut is_down = plan.is_down.subscribe();
            let cut = async { drop(is_down.wait_for(|is_down| *is_down).await) };
            let relay = Relay::between(client, server, Arc::clone(&plan));
            tokio::select! {
                // A connection that is closed is no trouble of the proxy's.
                _ = relay.run() => {}
                () = cut => {}
            }
        });
    }
}

/// One connection.
struct Relay {
    calls: mpsc::UnboundedReceiver<Vec<Vec<u8>>>,
    answers: mpsc::UnboundedReceiver<Vec<u8>>,
    to_server: OwnedWriteHalf,
    to_client: Option<OwnedWriteHalf>,
    /// Which function the prepared statements are of, by their names.
    prepared: HashMap<Vec<u8>, Vec<u8>>,
    plan: Arc<Plan>,
}

impl Relay {
    fn between(client: TcpStream, server: TcpStream, plan: Arc<Plan>) -> Self {
        let (mut from_client, to_client) = client.into_split();
        let (mut from_server, to_server) = server.into_split();
        let (called, calls) = mpsc::unbounded_channel();
        let (answered, answers) = mpsc::unbounded_channel();
        // Nobody listens to what is said after the cut.
        tokio::spawn(async move {
            let mut call = read(&mut from_client, false).await.map(|startup| vec![startup]);
            while let Ok(messages) = call {
                drop(called.send(messages));
                call = read_call(&mut from_client).await;
            }
        });
        tokio::spawn(async move {
            while let Ok(message) = read(&mut from_server, true).await {
                drop(answered.send(message));
            }
        });
        Self { calls, answers, to_server, to_client: Some(to_client), prepared: HashMap::new(), plan }
    }

    async fn run(mut self) -> io::Result<()> {
        loop {
            tokio::select! {
                call = self.calls.recv() => {
                    let Some(call) = call else { return Ok(()) };
                    match self.met(&call) {
                        None => self.to_server.write_all(&call.concat()).await?,
                        Some(how) => return self.cut(how, &call.concat()).await,
                    }
                }
                answer = self.answers.recv() => {
                    let (Some(answer), Some(client)) = (answer, &mut self.to_client) else { return Ok(()) };
                    client.write_all(&answer).await?;
                }
            }
        }
    }

    /// Whether the next call to meet is this one, and how it is met.
    fn met(&mut self, call: &[Vec<u8>]) -> Option<Cut> {
        let mut is_of = None;
        for message in call.iter().filter(|message| message[0] != 0) {
            let mut parts = message[5..].split(|byte| *byte == 0);
            match (message[0], parts.next(), parts.next()) {
                (b'P', Some(name), Some(sql)) => drop(self.prepared.insert(name.to_vec(), sql.to_vec())),
                (b'B', _, Some(name)) => is_of = self.prepared.get(name).cloned(),
                _ => {}
            }
        }
        let sql = String::from_utf8_lossy(&is_of?).into_owned();
        let mut cuts = self.plan.cuts.lock().expect("nobody panics with it");
        let (function, how) = *cuts.first()?;
        sql.contains(&format!(".{function}(")).then(|| cuts.remove(0))?;
        drop(cuts);
        Some(how)
    }

    async fn cut(mut self, how: Cut, call: &[u8]) -> io::Result<()> {
        if [Cut::Before, Cut::After].contains(&how) {
            self.close_client().await?;
        }
        let reaches_server = matches!(how, Cut::After | Cut::Answered | Cut::Silent);
        if reaches_server {
            self.to_server.write_all(call).await?;
        }
        if [Cut::Answered, Cut::Silent].contains(&how) {
            self.answered().await;
        }
        if how == Cut::Answered {
            self.close_client().await?;
        }
        self.plan.met.send_modify(|(met, _)| *met += 1);
        match how {
            Cut::Before | Cut::Answered => {}
            // The server goes on as if nothing were.
            Cut::After => self.answered().await,
            Cut::Lost | Cut::Silent => std::future::pending().await,
            Cut::Held => {
                self.plan.let_go.subscribe().wait_for(|let_go| *let_go).await.expect("the plan is here");
                self.to_server.write_all(call).await?;
                self.answered().await;
                self.plan.met.send_modify(|(_, answered)| *answered += 1);
            }
        }
        Ok(())
    }

    async fn close_client(&mut self) -> io::Result<()> {
        match self.to_client.take() {
            Some(mut client) => client.shutdown().await,
            None => Ok(()),
        }
    }

    /// Until the server is ready for the next call, or is gone.
    async fn answered(&mut self) {
        while self.answers.recv().await.is_some_and(|message| message[0] != b'Z') {}
    }
}

/// Messages up to the one that asks for an answer.
async fn read_call(client: &mut OwnedReadHalf) -> io::Result<Vec<Vec<u8>>> {
    let mut call = Vec::new();
    loop {
        let message = read(client, true).await?;
        let is_last = [b'S', b'Q', b'p', b'X', b'H'].contains(&message[0]);
        call.push(message);
        if is_last {
            return Ok(call);
        }
    }
}

/// A message: its type, unless it is the first of all, its length, and its body.
async fn read(from: &mut OwnedReadHalf, is_typed: bool) -> io::Result<Vec<u8>> {
    let mut message = vec![0; if is_typed { 5 } else { 4 }];
    from.read_exact(&mut message).await?;
    let length: [u8; 4] = message[message.len() - 4..].try_into().expect("four bytes");
    let body = usize::try_from(u32::from_be_bytes(length)).expect("a length").saturating_sub(4);
    let head = message.len();
    message.resize(head + body, 0);
    from.read_exact(&mut message[head..]).await?;
    Ok(message)
}
