//! Tables of conversations: messages in, messages out.

use super::Conversation;
use crate::diagnostics::Diagnostics;
use crate::gateway::{Gateway, Scope};
use crate::message::Message;
use crate::server::{Reached, Server};
use forebay::wire::ToolResult;
use forebay::{DiskStore, Session, Settings, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Something that happens to a conversation.
enum In {
    /// The client sends a message.
    Client(&'static str),
    /// A server sends a message.
    Server(usize, &'static str),
    /// A server fails.
    Lost(usize),
}

/// A message that the conversation sends.
#[derive(Debug, PartialEq)]
enum Out {
    /// Exactly this text to the client.
    Client(&'static str),
    /// A message with this part to the client.
    ClientGets(&'static str),
    /// Exactly this text to a server.
    Server(usize, &'static str),
}

use In::{Client as FromClient, Lost, Server as FromServer};
use Out::{Client as ToClient, ClientGets, Server as ToServer};

/// A conversation whose servers are played by the test.
struct Played {
    conversation: Arc<Conversation>,
    to_client: mpsc::Receiver<Message>,
    to_servers: Vec<mpsc::Receiver<Message>>,
    _folder: tempfile::TempDir,
}

impl Played {
    fn new(servers: &[&str]) -> Played {
        let folder = tempfile::tempdir().unwrap();
        let server = |name: &&str| Server {
            name: (*name).to_owned(),
            reached: Reached::Program { command: Vec::new(), environment: BTreeMap::new(), folder: None },
        };
        let gateway = Gateway {
            store: Arc::new(DiskStore::new(folder.path())),
            reads: Arc::new(DiskStore::new(folder.path())),
            settings: Settings::default(),
            limits_are_set: false,
            session: None,
            servers: servers.iter().map(server).collect(),
            many: servers.len() > 1,
            prefix: "output_".to_owned(),
            tools_when_kept: false,
            timeout: None,
            max_message: 1 << 20,
            diagnostics: Diagnostics::to(std::io::sink()),
            now: Arc::new(Timestamp::now),
            answer: Box::new(|_, call, _, _| ToolResult {
                call_id: call.id.clone(),
                name: call.name.clone(),
                text: format!("answer of {}", call.name),
                is_error: false,
            }),
        };
        let (sender, to_client) = mpsc::channel(64);
        let scope = Scope::Session(Session::safe("s"));
        let (conversation, to_servers) = Conversation::new(Arc::new(gateway), scope, sender, 0);
        Played { conversation, to_client, to_servers, _folder: folder }
    }

    async fn take(&self, step: &In) {
        let conversation = self.conversation.clone();
        match step {
            FromClient(text) => conversation.from_client(Message::from((*text).to_owned())).await,
            FromServer(server, text) => {
                conversation.from_server(*server, Message::from((*text).to_owned())).await;
            }
            Lost(server) => conversation.lost(*server, "it ended", Duration::ZERO).await,
        }
    }

    async fn expect(&mut self, out: &Out, case: &str) {
        let queue = match out {
            ToClient(_) | ClientGets(_) => &mut self.to_client,
            ToServer(server, _) => &mut self.to_servers[*server],
        };
        let message = tokio::time::timeout(Duration::from_secs(10), queue.recv()).await;
        let message = message.unwrap_or_else(|_| panic!("{case}: {out:?} is not sent")).unwrap();
        let text = message.text(message.all()).unwrap();
        match out {
            ToClient(expected) | ToServer(_, expected) => assert_eq!(text, *expected, "{case}"),
            ClientGets(part) => assert!(text.contains(part), "{case}: no {part} in {text}"),
        }
    }

    fn expect_nothing(&mut self, case: &str) {
        let queues = std::iter::once(&mut self.to_client).chain(&mut self.to_servers);
        for queue in queues {
            let left = queue.try_recv().ok().map(|message| message.text(message.all()).unwrap());
            assert_eq!(left, None, "{case}: nothing else is sent");
        }
    }
}

type Steps = Vec<(In, Vec<Out>)>;

async fn play(servers: &[&str], table: Vec<(&str, Steps)>) {
    for (case, steps) in table {
        let mut played = Played::new(servers);
        for (step, outs) in steps {
            played.take(&step).await;
            for out in &outs {
                played.expect(out, case).await;
            }
            played.expect_nothing(case);
        }
    }
}

const ASK: &str = r#"{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"n":1e2}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn messages_to_and_from_one_server() {
    let table = vec![
        (
            "requests and answers pass unchanged",
            vec![
                (FromClient(ASK), vec![ToServer(0, ASK)]),
                (
                    FromServer(0, r#"{"id":1.0, "result":{"n":1.50},"jsonrpc":"2.0"}"#),
                    vec![ToClient(r#"{"id":1.0, "result":{"n":1.50},"jsonrpc":"2.0"}"#)],
                ),
            ],
        ),
        (
            "an answer that no request waits for is dropped",
            vec![(FromServer(0, r#"{"jsonrpc":"2.0","id":9,"result":{}}"#), vec![])],
        ),
        (
            "an id is answered once",
            vec![
                (FromClient(ASK), vec![ToServer(0, ASK)]),
                (FromServer(0, r#"{"jsonrpc":"2.0","id":1,"result":1}"#), vec![ClientGets(r#""result":1"#)]),
                (FromServer(0, r#"{"jsonrpc":"2.0","id":1,"result":2}"#), vec![]),
            ],
        ),
        (
            "an id in use is refused",
            vec![
                (FromClient(ASK), vec![ToServer(0, ASK)]),
                (FromClient(ASK), vec![ClientGets(r#""code":-32600"#)]),
            ],
        ),
        (
            "what is not JSON gets a parse error",
            vec![(FromClient("{"), vec![ClientGets(r#""id":null,"error":{"code":-32700"#)])],
        ),
        (
            "a batch is taken apart",
            vec![(
                FromClient(r#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]"#),
                vec![
                    ToServer(0, r#"{"jsonrpc":"2.0","method":"a"}"#),
                    ToServer(0, r#"{"jsonrpc":"2.0","method":"b"}"#),
                ],
            )],
        ),
        (
            "our capabilities are added to the server's",
            vec![
                (
                    FromClient(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#),
                    vec![ToServer(0, r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#)],
                ),
                (
                    FromServer(0, r#"{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"prompts":{}}}}"#),
                    vec![ToClient(
                        r#"{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"prompts":{},"tools":{},"resources":{}}}}"#,
                    )],
                ),
            ],
        ),
        (
            "our tools follow the server's",
            vec![
                (
                    FromClient(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
                    vec![ToServer(0, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)],
                ),
                (
                    FromServer(0, r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"echo"}]}}"#),
                    vec![ClientGets(r#"{"tools":[{"name":"echo"},{"name":"output_"#)],
                ),
            ],
        ),
        (
            "our tools get a longer prefix if the server has one of their names",
            vec![
                (
                    FromClient(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
                    vec![ToServer(0, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)],
                ),
                (
                    FromServer(0, r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"output_read"}]}}"#),
                    vec![ClientGets(r#"[{"name":"output_read"},{"name":"forebay_output_"#)],
                ),
            ],
        ),
        (
            "a server without resources has ours",
            vec![
                (
                    FromClient(r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#),
                    vec![ToServer(0, r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#)],
                ),
                (
                    FromServer(0, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#),
                    vec![ClientGets(r#"{"jsonrpc":"2.0","id":1,"result":{"resources":[]"#)],
                ),
            ],
        ),
        (
            "calls of our tools do not reach the server",
            vec![(
                FromClient(
                    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"output_list","arguments":{}}}"#,
                ),
                vec![ClientGets("answer of output_list")],
            )],
        ),
        (
            "a broken answer ends its request",
            vec![
                (FromClient(ASK), vec![ToServer(0, ASK)]),
                (
                    FromServer(0, r#"{"jsonrpc":"2.0","id":1,"result":{"#),
                    vec![ClientGets(r#""code":-32603"#)],
                ),
            ],
        ),
        (
            "a stray line ends no request",
            vec![
                (FromClient(ASK), vec![ToServer(0, ASK)]),
                (FromServer(0, "listening on stdio"), vec![]),
                (FromServer(0, r#"{"jsonrpc":"2.0","id":1,"result":1}"#), vec![ClientGets(r#""result":1"#)]),
            ],
        ),
        (
            "the failure of a server ends its requests",
            vec![
                (FromClient(ASK), vec![ToServer(0, ASK)]),
                (Lost(0), vec![ClientGets("the server one failed: it ended")]),
            ],
        ),
    ];
    play(&["one"], table).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_to_and_from_several_servers() {
    let table = vec![
        (
            "a tool is called at its server, by its name there",
            vec![
                (
                    FromClient(
                        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"two__echo"}}"#,
                    ),
                    vec![ToServer(
                        1,
                        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#,
                    )],
                ),
                (
                    FromServer(1, r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#),
                    vec![ToClient(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#)],
                ),
            ],
        ),
        (
            "a tool of no server is refused",
            vec![(
                FromClient(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#),
                vec![ClientGets(r#""code":-32602"#)],
            )],
        ),
        (
            "an answer of another server than the asked one is dropped",
            vec![
                (
                    FromClient(
                        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"two__echo"}}"#,
                    ),
                    vec![ToServer(
                        1,
                        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#,
                    )],
                ),
                (FromServer(0, r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#), vec![]),
            ],
        ),
        (
            "lists are joined in the order of the servers",
            vec![
                (
                    FromClient(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
                    vec![
                        ToServer(0, r#"{"jsonrpc":"2.0","id":"forebay-1","method":"tools/list"}"#),
                        ToServer(1, r#"{"jsonrpc":"2.0","id":"forebay-2","method":"tools/list"}"#),
                    ],
                ),
                (
                    FromServer(1, r#"{"jsonrpc":"2.0","id":"forebay-2","result":{"tools":[{"name":"b"}]}}"#),
                    vec![],
                ),
                (
                    FromServer(0, r#"{"jsonrpc":"2.0","id":"forebay-1","result":{"tools":[{"name":"a"}]}}"#),
                    vec![ClientGets(r#"{"tools":[{"name":"one__a"},{"name":"two__b"},{"name":"output_"#)],
                ),
            ],
        ),
        (
            "servers that count alike get the answers to their own requests",
            vec![
                (
                    FromServer(0, r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#),
                    vec![ToClient(r#"{"jsonrpc":"2.0","id":"forebay:0:7","method":"roots/list"}"#)],
                ),
                (
                    FromServer(1, r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#),
                    vec![ToClient(r#"{"jsonrpc":"2.0","id":"forebay:1:7","method":"roots/list"}"#)],
                ),
                (
                    FromClient(r#"{"jsonrpc":"2.0","id":"forebay:1:7","result":{"roots":[]}}"#),
                    vec![ToServer(1, r#"{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}"#)],
                ),
            ],
        ),
        (
            "a cancellation reaches the server that works on the request",
            vec![
                (
                    FromClient(
                        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one__echo"}}"#,
                    ),
                    vec![ToServer(
                        0,
                        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#,
                    )],
                ),
                (
                    FromClient(
                        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
                    ),
                    vec![ToServer(
                        0,
                        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
                    )],
                ),
            ],
        ),
        (
            "ping is answered by the gateway",
            vec![(
                FromClient(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
                vec![ToClient(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)],
            )],
        ),
    ];
    play(&["one", "two"], table).await;
}
