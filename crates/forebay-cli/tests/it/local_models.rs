//! Servers of one's own: small windows, few slots, slow answers, and models that lose their way.

use super::forebay::{Forebay, Ran, eventually};
use super::model_server::{Asked, Does, ModelServer, report};
use expect_test::expect;
use serde_json::{Value, json};
use std::{
    net::TcpListener,
    process::{Command, Stdio},
};

/// `forebay` with a server as the provider `llamacpp`.
fn with(forebay: &Forebay, server: &ModelServer, args: &[&str]) -> Command {
    let mut command = forebay.command(args);
    command.env("LLAMACPP_BASE_URL", &server.url).env("FOREBAY_EXTRACT_MODELS", "llamacpp/local");
    command.env("FOREBAY_MODELS_BACKOFF_MILLISECONDS", "5").env("FOREBAY_MODELS_RETRIES", "1");
    command.stdin(Stdio::null());
    command
}

fn ran(command: &mut Command) -> Ran {
    Ran::from(command.output().unwrap())
}

/// Contents of the file of learnt facts.
fn kept(forebay: &Forebay) -> Value {
    let file = forebay.folder().join(".cache/forebay/models.json");
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// llama.cpp with a window of so many tokens for each of two slots, as it answered for SmolLM2.
fn llamacpp(window: u64) -> impl Fn(&str) -> Option<Value> + Send + Sync {
    move |path| match path {
        "/v1/models" => {
            Some(json!({"object": "list", "data": [{"id": "/models/smollm2.gguf", "owned_by": "llamacpp",
            "meta": {"n_ctx": window, "n_ctx_train": 8192}}]}))
        }
        "/props" => Some(json!({"default_generation_settings": {"n_ctx": window}, "total_slots": 2,
            "model_path": "/models/smollm2.gguf", "chat_template_caps": {"supports_tools": false}})),
        _ => None,
    }
}

fn ready(asked: &Asked) -> Does {
    if asked.system().contains("GREP") {
        Does::Says("GREP timeout".to_owned())
    } else {
        Does::Says("ready".to_owned())
    }
}

#[test]
fn a_check_shows_what_a_server_says_and_what_was_seen_of_it() {
    let forebay = Forebay::new();
    let server = ModelServer::telling(llamacpp(1_024), ready);
    let checked = ran(&mut with(&forebay, &server, &["models", "--check"])).ok().text();
    let shown: Vec<&str> =
        checked.lines().filter(|line| !line.contains("answers") && !line.contains("speed")).collect();
    expect![[r#"
        llamacpp/local  openai-chat  URL/v1  key not needed
          window       1,024 tokens (/props)
          slots        2 at the same time
          token ratio  1.50 of its tokens for each of ours (a guess)
          tools        calls as lines of text
          streaming    yes
          settings     extract.context_tokens = 682, extract.parallel = 2, extract.output_tokens = 170"#]]
    .assert_eq(&shown.join("\n").replace(&server.url, "URL"));
    assert!(checked.contains("  answers      yes, in "), "{checked}");
    assert_eq!(server.looked_up(), ["/v1/models", "/props"]);
    // The answer may have what the window leaves; a template that ignores tools is not offered any.
    let asked = server.asked();
    let limit = asked[0].body["max_tokens"].as_u64().unwrap();
    assert!((64..512).contains(&limit), "{limit}");
    assert_eq!((asked.len(), asked[1].body.get("tools")), (2, None));

    // What a probe showed is kept; what is cheap to ask is asked again.
    let line = ran(&mut with(&forebay, &server, &["models", "--check", "--json"])).ok().json();
    let expected =
        json!({"extract.context_tokens": 682, "extract.parallel": 2, "extract.output_tokens": 170});
    assert_eq!(
        (&line["tools"], &line["window"], &line["slots"], &line["settings"]),
        (&json!("text"), &json!(1_024), &json!(2), &expected)
    );
    assert_eq!((server.asked().len(), server.looked_up().len()), (3, 4));
    let kept = kept(&forebay);
    let facts = &kept[format!("{}/v1 local", server.url)];
    assert_eq!((&facts["reported"], &facts["tool_calls"]), (&json!(1_024), &json!("text")), "{kept}");
}

#[test]
fn ollama_is_asked_by_its_own_interface_once_the_model_runs() {
    let forebay = Forebay::new();
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let asked = runs.clone();
    let told = move |path: &str| match path {
        "/api/ps" if runs.load(std::sync::atomic::Ordering::SeqCst) => {
            Some(json!({"models": [{"name": "qwen3:latest", "context_length": 32768}]}))
        }
        "/api/ps" => Some(json!({"models": []})),
        "/api/show" => {
            Some(json!({"model_info": {"qwen3.context_length": 40960}, "capabilities": ["tools"]}))
        }
        _ => None,
    };
    let server = ModelServer::telling(told, move |request| {
        asked.store(true, std::sync::atomic::Ordering::SeqCst);
        match request.body.get("tools") {
            Some(_) => Does::Calls(vec![("read_line", "{\"number\": 7}".to_owned())]),
            None => Does::Says("ready".to_owned()),
        }
    });
    let mut command = forebay.command(["models", "--models", "ollama/qwen3", "--check", "--json"]);
    let line = ran(command.env("OLLAMA_HOST", &server.url)).ok().json();
    assert_eq!(
        [&line["window"], &line["window_from"], &line["slots"], &line["tools"]],
        [&json!(32_768), &json!("/api/ps"), &json!(1), &json!("native")]
    );
}

#[test]
fn a_vendor_is_not_asked_about_itself() {
    let forebay = Forebay::new();
    let server = ModelServer::telling(llamacpp(1_024), ready);
    let mut command = forebay.command(["models", "--models", "openai/gpt", "--check", "--json"]);
    let line = ran(command.env("OPENAI_BASE_URL", &server.url).env("OPENAI_API_KEY", "k")).ok().json();
    assert_eq!((&line["window"], &line["tools"]), (&Value::Null, &json!("native")));
    assert_eq!((server.looked_up().len(), server.asked().len()), (0, 1));
}

#[test]
fn a_server_that_nobody_started_is_told_at_once_with_the_command_that_starts_it() {
    let forebay = Forebay::new();
    forebay.put("big001", b"one\ntwo\n", &[]);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let table = [
        ("ollama/qwen3", "OLLAMA_HOST", "ollama serve".to_owned()),
        ("llamacpp/local", "LLAMACPP_BASE_URL", format!("llama-server -m MODEL.gguf --port {port}")),
        ("vllm/Qwen/Qwen3-8B", "VLLM_BASE_URL", format!("vllm serve Qwen/Qwen3-8B --port {port}")),
    ];
    for (model, variable, start) in table {
        let mut command = forebay.command(["extract", "big001", "what?", "--models", model]);
        // A second try would be an hour away.
        command.env("FOREBAY_MODELS_BACKOFF_MILLISECONDS", "3600000").env(variable, &address);
        let text = ran(command.stdin(Stdio::null())).text();
        let expected = format!(
            "{model}: connection refused: no server listens at http://{address}/v1; start it with `{start}`"
        );
        assert!(text.contains(&expected), "{text}");
    }
    let checked = forebay.run(["models", "--models", "ollama/qwen3", "--check"]);
    assert_eq!(checked.status, 1);
    // No name has a label of 70 letters, so nobody is asked for its address.
    let address = format!("http://{}.invalid:8000/v1", "a".repeat(70));
    let mut command = forebay.command(["models", "--models", "vllm/m", "--check"]);
    let checked = ran(command.env("VLLM_BASE_URL", &address));
    let expected = format!(
        "no: its host has no address: no server can be found at {address}; start it with `vllm serve m`"
    );
    assert!(checked.status == 1 && checked.text().contains(&expected), "{}", checked.text());
}

#[test]
fn the_window_that_an_error_names_is_kept() {
    let forebay = Forebay::new();
    forebay.put("big001", "one line of many\n".repeat(2_000).as_bytes(), &[]);
    let overflow = json!({"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 12_255, "n_ctx": 8_192,
        "message": "request (12255 tokens) exceeds the available context size (8192 tokens), try increasing it"}});
    let server = ModelServer::start(move |_| Does::Fails(400, "", overflow.to_string()));
    let _ = ran(&mut with(&forebay, &server, &["extract", "big001", "what?", "--mode", "full-chunked"]));
    let kept = kept(&forebay);
    assert_eq!(kept[format!("{}/v1 local", server.url)]["overflowed"], 8_192, "{kept}");
}

#[test]
fn a_server_that_refuses_a_long_answer_to_a_prompt_that_fits_is_asked_for_a_shorter_one() {
    let forebay = Forebay::new();
    forebay.put("big001", b"one\ntwo\n", &[]);
    let server = ModelServer::start(|asked| match asked.body["max_tokens"].as_u64() {
        Some(limit) if limit > 2_896 => {
            let words = format!(
                "'max_tokens' or 'max_completion_tokens' is too large: {limit}. This model's maximum context length is 4096 tokens and your request has 1200 input tokens ({limit} > 4096 - 1200)."
            );
            Does::Fails(400, "", json!({"object": "error", "message": words, "code": 400}).to_string())
        }
        _ => report(asked, "found"),
    });
    let answer = ran(&mut with(&forebay, &server, &["extract", "big001", "what?"])).ok().text();
    assert!(answer.contains("\nfound\n"), "{answer}");
    assert_eq!(server.asked()[1].body["max_tokens"], 2_896);
}

#[test]
fn an_answer_that_repeats_itself_is_ended_and_its_connection_closed() {
    let forebay = Forebay::new();
    forebay.put("big001", b"one\ntwo\n", &[]);
    let server = ModelServer::start(|_| Does::GoesOn("The disk is full, as the log says.\n"));
    let answer = ran(&mut with(&forebay, &server, &["extract", "big001", "what?"])).text();
    assert!(answer.contains("its answer repeated itself"), "{answer}");
    eventually("it is closed", || server.closed() == server.asked().len());

    // Not streamed, it is cut all the same.
    let server = ModelServer::start(|_| Does::Says("The disk is full, as the log says.\n".repeat(100)));
    let answer =
        ran(with(&forebay, &server, &["extract", "big001", "why?"]).env("FOREBAY_MODELS_STREAM", "false"))
            .text();
    assert!(answer.contains("its answer repeated itself"), "{answer}");
}

#[test]
fn a_request_that_waits_for_its_turn_is_not_silent_and_a_stream_that_stalls_is() {
    let forebay = Forebay::new();
    forebay.put("big001", b"one\ntwo\n", &[]);
    let server = ModelServer::start(|asked| {
        let Does::Says(text) = report(asked, "found") else { unreachable!() };
        Does::Waits(2_500, text)
    });
    let mut command = with(&forebay, &server, &["extract", "big001", "what?"]);
    let answer = ran(command.env("FOREBAY_MODELS_TIMEOUT_SECONDS", "1")).ok().text();
    assert!(answer.contains("\nfound\n"), "{answer}");
    assert_eq!(server.asked().len(), 1);

    let server = ModelServer::start(|_| Does::Stalls("<ai-agent-"));
    let mut command = with(&forebay, &server, &["extract", "big001", "why?"]);
    let answer = ran(command.env("FOREBAY_MODELS_TIMEOUT_SECONDS", "1")).text();
    assert!(answer.contains("timeout: nothing came for 1 s (models.timeout_seconds) (2 times)"), "{answer}");
}

#[test]
fn a_signal_closes_the_connection_so_that_the_server_can_stop() {
    let forebay = Forebay::new();
    forebay.put("big001", b"one\ntwo\n", &[]);
    let server = ModelServer::start(|_| Does::GoesOn("line # of the answer\n"));
    let child = forebay.start(&mut with(&forebay, &server, &["extract", "big001", "what?"]));
    eventually("it asks", || !server.asked().is_empty());
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(Ran::from(child.wait_with_output().unwrap()).fails(1), "forebay: stopped: a signal came\n");
    eventually("it is closed", || server.closed() == 1);
}
