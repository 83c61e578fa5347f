"""The agent programs under test: how each is installed by the name of its package, and how one turn of it is run."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass

import model


@dataclass
class Agent:
    name: str  # as forebay calls it
    package: str  # pinned: an older version has other events
    program: str  # in the package
    wire: model.Wire
    shell: str  # its tool for commands
    command: str  # the argument of that tool that is the command
    more: dict  # what else that tool needs
    arguments: list  # MODEL stands for the model's address
    environment: dict
    free: list  # arguments with which it asks nothing
    most: int = 30_000  # characters of a result that it passes whole
    pause: str = ""  # follows a command that prints much, so that the agent reads all of it


OPENCODE = {
    "provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "models": {"model": {}},
                              "options": {"baseURL": "MODEL/v1", "apiKey": "none"}}},
    "model": "scripted/model", "small_model": "scripted/model", "autoupdate": False, "share": "disabled",
}

AGENTS = [
    Agent("claude-code", "pip:claude-agent-sdk==0.2.183", "claude_agent_sdk/_bundled/claude", model.Messages(),
          "Bash", "command", {}, ["-p", "go", "--output-format", "json"],
          {"ANTHROPIC_BASE_URL": "MODEL", "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
          free=["--allowedTools", "Bash,Read,Grep,Glob,TaskOutput,mcp__t"]),
    Agent("codex", "npm:@openai/codex@0.169.0-linux-x64", "vendor/x86_64-unknown-linux-musl/bin/codex", model.Responses(),
          "exec_command", "cmd", {},
          ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "-c", 'model="gpt-5.4"',
           "-c", 'model_provider="scripted"',
           "-c", 'model_providers.scripted={name="scripted", base_url="MODEL/v1", wire_api="responses"}', "go"],
          {}, most=10_300, free=["-c", 'sandbox_mode="danger-full-access"']),
    Agent("gemini-cli", "npm:@google/gemini-cli@0.61.0", "bundle/gemini.js", model.Contents(),
          "run_shell_command", "command", {}, ["--skip-trust", "-p", "go"],
          {"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_VERTEX_BASE_URL": "MODEL", "GOOGLE_API_KEY": "none",
           "GOOGLE_GEMINI_BASE_URL": "MODEL", "GEMINI_API_KEY": "none", "GEMINI_TELEMETRY_ENABLED": "false"},
          most=40_500, free=["--yolo"]),
    Agent("opencode", "npm:opencode-linux-x64@1.18.33", "bin/opencode", model.Completions(),
          "bash", "command", {"description": "x"}, ["run", "go"],
          {"OPENCODE_CONFIG_CONTENT": json.dumps(OPENCODE), "OPENCODE_DISABLE_MODELS_FETCH": "1",
           "npm_config_offline": "true"}, most=50_000, free=["--auto"],
          # It stops reading when the command ends, also where output is still in the pipe.
          pause="; sleep 2"),
    Agent("copilot", "npm:@github/copilot-linux-x64@1.0.102", "copilot", model.Completions(),
          "bash", "command", {"description": "x"}, ["-p", "go"],
          {"COPILOT_PROVIDER_BASE_URL": "MODEL/v1", "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "gpt-5.4",
           "COPILOT_OFFLINE": "true"}, most=20_000, free=["--allow-all-tools"]),
]


def install(agent, packages):
    """The program of an agent, fetched once; None with a message where its package cannot be had."""
    folder = packages / re.sub(r"[^\w.@-]", "_", agent.package)
    program = folder / agent.program
    if program.exists():
        return program
    kind, name = agent.package.split(":", 1)
    with tempfile.TemporaryDirectory(dir=packages) as fresh:
        fetch = {"pip": [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", fresh, name],
                 "npm": ["npm", "pack", "--silent", "--pack-destination", fresh, name]}[kind]
        got = subprocess.run(fetch, capture_output=True, text=True)
        files = [file for file in pathlib.Path(fresh).iterdir() if file.is_file()]
        if got.returncode or not files:
            last = (got.stderr.strip() or "no package").splitlines()[-1]
            print(f"SKIPPED: {agent.name}: {name} cannot be installed here: {last}")
            return None
        unpacked = pathlib.Path(fresh, "unpacked")
        if kind == "pip":
            zipfile.ZipFile(files[0]).extractall(unpacked)
        else:
            with tarfile.open(files[0]) as archive:
                archive.extractall(unpacked, filter="fully_trusted")
            unpacked = unpacked / "package"
        shutil.rmtree(folder, ignore_errors=True)
        unpacked.rename(folder)
    program.chmod(0o755)
    return program


@dataclass
class Turn:
    results: list  # (text, error mark) of each call that got a result
    printed: str
    status: int


def run(agent, program, script, home, project, arguments, path, timeout=180):
    """One turn of an agent with a script of calls."""
    scripted = model.Model(agent.wire, script)
    temporary = home.parent / "tmp"
    for folder in (home, project, temporary):
        folder.mkdir(parents=True, exist_ok=True)
    fill = lambda text: text.replace("MODEL", scripted.url)
    own = {"PATH": path, "HOME": str(home), "TMPDIR": str(temporary), "TERM": "dumb", "LANG": "C.UTF-8"}
    own |= {name: fill(value) for name, value in agent.environment.items()}
    command = (["node"] if agent.program.endswith(".js") else []) + [str(program)]
    command += [fill(argument) for argument in agent.arguments] + list(arguments)
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(command, cwd=project, env=own, stdin=subprocess.DEVNULL, stdout=printed,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
                process.wait(5)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass
        printed.seek(0)
        text = printed.read().decode(errors="replace")
    scripted.close()
    return Turn(scripted.results, text, status)
