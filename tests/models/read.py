"""Has SmolLM2 read outputs through `forebay extract`. Structure is checked, not wording: the model is tiny.

Called by `tests/models/run` with the program and the model's file.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

FOREBAY, MODEL = sys.argv[1:]
HERE = pathlib.Path(__file__).parent

# The model cannot know a nonce it has not read; any is allowed, and Forebay reads a misspelt one too.
WRAPPED = (
    'root ::= "<ai-agent-" [0-9a-f]{24} "-FINAL format=\\"text\\">" text "</ai-agent-" [0-9a-f]{24} "-FINAL>"\n'
    "text ::= [a-zA-Z0-9 :.,\\n]{8,80}\n"
)


class Server:
    """A server with a window, slots and perhaps a grammar."""

    def __init__(self, context, slots=1, grammar=None):
        command = [sys.executable, str(HERE / "server.py"), MODEL, str(context), str(slots)]
        self.process = subprocess.Popen(
            command + ([grammar] if grammar else []), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def __enter__(self):
        line = self.process.stdout.readline().strip()
        self.url = line if line.startswith("http") else f"http://{line}"
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{self.url}/health", timeout=5)
                return self
            except (urllib.error.URLError, OSError):
                time.sleep(0.5)
        raise SystemExit("the model's server does not start")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def reading(server, text, *args, **settings):
    """`forebay extract` over a text in a store of its own: answers of the calls of `args`, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        env = {name: value for name, value in os.environ.items() if not name.startswith("FOREBAY_")}
        env.update(HOME=folder, XDG_CACHE_HOME=f"{folder}/cache", FOREBAY_ROOT=f"{folder}/root", TMPDIR=folder)
        env.update(LLAMACPP_BASE_URL=f"{server.url}/v1", FOREBAY_EXTRACT_MODELS="llamacpp/local")
        env.update(FOREBAY_EXTRACT_OUTPUT_TOKENS="120", FOREBAY_MODELS_DEADLINE_SECONDS="1200", **settings)

        def forebay(*command, given=b""):
            ran = subprocess.run([FOREBAY, *command], input=given, env=env, cwd=folder, capture_output=True)
            assert ran.returncode in (0, 4), ran.stderr.decode()
            return json.loads(ran.stdout), ran.returncode

        put = ["put", "--json", "--budget", "200", "--session", "s", "--tool", "job"]
        kept, _ = forebay(*put, given=text.encode())
        command = ["extract", kept["handle"], "which error is there?", "--json", "--session", "s"]
        return [forebay(*command, *given) for given in args]


def log(lines):
    """A log with one error."""
    text = [f"2026-11-18 10:{n // 60 % 60:02}:{n % 60:02} worker {n % 7} handled request {n} in {n * 37 % 911} ms" for n in range(lines)]
    text[lines // 3] = "2026-11-18 10:20:00 worker 3 error: disk is full, request 1234 was dropped"
    return "\n".join(text) + "\n"


def read(name, got, chunks=None):
    """The answer of a model that read everything, in at least so many chunks: the note behind it says how many."""
    answer, code = got
    assert code == 0 and answer["fell_back"] is None, f"{name}: {answer['text'][:600]}"
    assert answer["strategy"] == "full-chunked", f"{name}: {answer['strategy']}"
    if chunks:
        told = re.search(r"in (\d+) chunks?: all", answer["text"])
        assert told and int(told[1]) >= chunks, f"{name}: not {chunks} chunks in {answer['text'][-300:]}"
    print(f"ok: {name}", flush=True)
    return answer


def main():
    whole = ["--mode", "full-chunked"]
    with Server(8192, grammar=WRAPPED) as server:
        first, again = reading(server, log(40), whole, whole)
        read("one chunk", first, 1)
        assert read("the same from memory", again)["repeated"]
        [answer] = reading(server, log(60), whole, FOREBAY_EXTRACT_CONTEXT_TOKENS="2400")
        assert read("two chunks with one answer", answer, 2)["asked"] >= 3
        [answer] = reading(server, log(240), whole, FOREBAY_EXTRACT_CONTEXT_TOKENS="2400", FOREBAY_EXTRACT_PARALLEL="4")
        read("one slot with four chunks", answer, 4)
    with Server(2048, grammar=WRAPPED) as server:
        # The setting is wrong: the log has more tokens than the window.
        [answer] = reading(server, log(70), whole, FOREBAY_EXTRACT_CONTEXT_TOKENS="30000")
        read("an overflow of the window", answer)
    with Server(4096) as server:
        # Without a grammar the model writes no wrapper: the fall-back says so, and nothing hangs.
        [(answer, code)] = reading(server, log(30), whole)
        assert code in (0, 4), code
        if code == 4:
            assert "No model has read this output" in answer["text"] and "disk is full" in answer["text"], answer["text"]
        print(f"ok: without a grammar ({'fall-back' if code else 'read'})", flush=True)


main()
