"""Runs real agent programs with and without Forebay against a scripted model, and compares what the model saw.

check.py FOREBAY PACKAGES [--quick] [AGENT…]
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import agents

MANY = "seq -f 'line %.0f of the output' 1 20001"
LAST = "fatal: the last line of all"


class Failed(Exception):
    pass


def check(holds, what, *facts):
    if not holds:
        raise Failed("\n".join([what] + [str(fact)[:1500] for fact in facts]))


class Bench:
    """One agent with a home of its own, with or without Forebay."""

    def __init__(self, agent, program, forebay, folder):
        self.agent, self.program, self.forebay, self.folder = agent, program, forebay, folder
        self.home, self.project = folder / "home", folder / "project"
        for path in (self.home, self.project):
            path.mkdir(parents=True)

    @property
    def many(self):
        return MANY + self.agent.pause

    def init(self, *arguments):
        ran = subprocess.run([self.forebay, "init", self.agent.name, "--yes", *arguments], cwd=self.project,
                             env=self.environment(), capture_output=True, text=True)
        check(ran.returncode == 0, "init failed", ran.stderr)
        return ran.stdout

    def environment(self):
        return {"PATH": self.path(), "HOME": str(self.home), "TMPDIR": str(self.folder)}

    def path(self):
        return f"{self.forebay.parent}:{os.environ['PATH']}"

    def call(self, command, **more):
        return self.agent.shell, {self.agent.command: command, **self.agent.more, **more}

    def turn(self, *script, free=True, arguments=(), is_cut_off=False, **options):
        script = [self.call(step) if isinstance(step, str) else step for step in script]
        arguments = [*(self.agent.free if free else ()), *arguments]
        turn = agents.run(self.agent, self.program, script, self.home, self.project, arguments, self.path(), **options)
        check(is_cut_off or len(turn.results) == len(script), "not every call got a result", turn.status, turn.printed[-1500:])
        return turn.results

    def write(self, name, text):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def events(self):
        ran = subprocess.run([self.forebay, "events", "--all", "--json"], cwd=self.project, env=self.environment(),
                             capture_output=True, text=True)
        return [json.loads(line) for line in ran.stdout.splitlines()]


def plain(text):
    """A result without what differs from run to run."""
    for pattern, same in ((r"Chunk ID: \w+", "Chunk ID"), (r"Wall time: [\d.]+", "Wall time"), (r"PGID: \d+", "PGID"),
                          (r"/\S*/(home|tmp|project)/\S+", "/path"), (r"\w{8}-[\w-]{27}", "id"), (r"shellId: \d+", "shellId")):
        text = re.sub(pattern, same, text)
    return text


def view_calls(view, verb):
    return re.findall(rf"(\S*forebay {verb} \S+(?: --lines \d+:\d+)?)", view)


def results_are_replaced(bare, ours):
    """Small results stay as they are, large ones become views, and the rest is read back."""
    read_back = lambda results: ours.call(view_calls(results[2][0], "read")[0])
    script = ["echo one; echo two; echo three", ours.many, f"{MANY}; echo '{LAST}' >&2{ours.agent.pause}; exit 2",
              "X=1 cat <<EOF | wc -l\na\nb\nEOF"]
    without = bare.turn(*script)
    with_us = ours.turn(*script, read_back)
    for number in (0, 3):
        check(plain(with_us[number][0]) == plain(without[number][0]), "a small result differs", with_us[number], without[number])
    for number in (1, 2):
        text = with_us[number][0]
        check("[forebay view of " in text and len(text) <= ours.agent.most, "a large result is no view", len(text), text)
    success, failure, read = with_us[1][0], with_us[2][0], with_us[4][0]
    check("line 20001 of the output" in success, "the view has not the last line", success)
    check(LAST in failure, "the view has not the line of the failure", failure)
    check(re.search(r"exit(ed with)?( code)? 2", failure), "the view has not the exit status", failure[:300])
    check("cut short" not in failure or ours.agent.name == "codex", "the whole output is not kept", failure[:300])
    check("unfolded: #whole" in failure, "the view does not name its escape", failure[-300:])
    check(re.search(r"^line \d+ of the output$", read, re.M), "the handle cannot be read in the agent's shell", read)
    kinds = [event["event"] for event in ours.events()]
    check(kinds.count("view-given") == 2 and "fell-back" not in kinds, "the events are not those of two views", kinds)
    return f"20,001 lines: {len(without[1][0]):,} → {len(success):,} characters, failing {len(without[2][0]):,} → {len(failure):,}"


def a_word_gives_the_result_unfolded(bare, ours):
    for command in (f"{ours.many} #whole", f"FOREBAY_OFF=1 {ours.many}"):
        without, with_us = bare.turn(command)[0][0], ours.turn(command)[0][0]
        check("[forebay view of " not in with_us, "an unfolded result is a view", with_us)
        # An agent cuts a result where a part of it happened to end.
        check(abs(len(with_us) - len(without)) < len(without) / 5, "an unfolded result is not the agent's own", len(with_us), len(without))
    return "#whole and FOREBAY_OFF=1 give the agent's own result"


RULES = {  # files and arguments: first those that deny `touch`, then those that allow nothing else
    "claude-code": ({".claude/settings.json": '{"permissions": {"deny": ["Bash(touch:*)"]}}'}, [],
                    {".claude/settings.json": '{"permissions": {"allow": ["Bash(touch:*)"]}}'}, []),
    "codex": ({".codex/rules/default.rules": 'prefix_rule(pattern=["touch"], decision="forbidden")\n'}, [],
              {}, ["-c", 'sandbox_mode="workspace-write"']),
    "gemini-cli": ({".gemini/policies/mine.toml":
                    '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "touch"\ndecision = "deny"\npriority = 900\n'}, [],
                   {".gemini/policies/mine.toml":
                    '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "touch"\ndecision = "allow"\npriority = 900\n'}, []),
    "opencode": ({".config/opencode/opencode.json": '{"permission": {"bash": {"*": "allow", "touch *": "deny"}}}'}, [],
                 {".config/opencode/opencode.json": '{"permission": {"bash": {"*": "ask", "touch *": "allow"}}}'}, []),
    "copilot": ({}, ["--deny-tool", "shell(touch)"], {}, ["--allow-tool", "shell(touch)"]),
}


def rules_decide_as_before(bare, ours):
    """What is denied stays denied, what is allowed runs without a question, and nothing else runs."""
    denying, deny, allowing, allow = RULES[ours.agent.name]
    seen = []
    for bench in (bare, ours):
        file = bench.project / "made"
        # A plain sandbox asks about nothing that it can hold back.
        other = None if bench.agent.name == "codex" else "mkdir other"
        for files, is_free, arguments in ((denying, True, deny), (allowing, False, allow)):
            for name in {**denying, **allowing}:
                (bench.home / name).unlink(missing_ok=True)
            for name, text in files.items():
                bench.write(name, text)
            if bench is ours:
                bench.init()
            script = ["touch made"] + ([other] if other and not is_free else [])
            # OpenCode ends the turn when it has to ask.
            bench.turn(*script, free=is_free, arguments=arguments, is_cut_off=not is_free)
            seen.append((file.exists(), (bench.project / "other").exists()))
            file.unlink(missing_ok=True)
            if bench is ours:
                bench.init("--uninstall")
    check(seen[:2] == seen[2:], "a rule decides otherwise than without Forebay", seen)
    check(seen[0][0] is False and seen[1] == (True, False), "the rules of this test do not hold", seen)
    return "a denied command stays denied, an allowed one runs, another does not"


def the_settings_come_back(bare, ours):
    """init, a turn, and --uninstall leave every settings file as it was."""
    files = {
        "claude-code": {".claude/settings.json": '{\n  // mine\n  "env": { "A": "1" },\n  "model": "x" }'},
        "codex": {".codex/hooks.json": '{ "hooks": {} }\n'},
        "gemini-cli": {".gemini/settings.json": '{\n\t"theme": "x" // dark\n}\n'},
        "opencode": {".config/opencode/opencode.json": '{ "$schema": "https://opencode.ai/config.json" }'},
        "copilot": {".copilot/hooks/mine.json": '{"version": 1, "hooks": {}}'},
    }[ours.agent.name]
    for name, text in files.items():
        ours.write(name, text)
    listed = lambda: {path.relative_to(ours.home): path.read_bytes() for path in ours.home.rglob("*") if path.is_file()}
    before = listed()
    ours.init("--allow-reads")
    first = listed()
    ours.init("--allow-reads")
    check(listed() == first, "a second init changes something", set(listed()) ^ set(first))
    changed = {name for name in first if first[name] != before.get(name)}
    ours.turn(ours.many)
    ours.init("--uninstall")
    after = listed()
    wrong = {str(name) for name in changed | set(before) if after.get(name) != before.get(name)}
    # Gemini CLI and Codex write into their own settings when they run.
    check(not wrong, "files are not as they were", wrong, [after.get(pathlib.Path(name)) for name in wrong])
    return f"{len(changed)} files changed and restored"


def background_output_is_live(bare, ours):
    if ours.agent.name != "claude-code":
        return None
    def path(results):
        return re.search(r"Output is being written to: (\S+\.output)", results[0][0])[1]
    looks = lambda results: ours.call(f"sleep 1.5; cat {path(results)}")
    later = lambda results: ours.call(f"sleep 3; tail -c 400 {path(results)}")
    command = f"echo started; sleep 3; {MANY}; echo '{LAST}'; exit 3"
    shown = [text for text, _ in ours.turn(ours.call(command, run_in_background=True), looks, later)]
    check(shown[1].strip() == "started", "the output of a background command is not live", shown[1])
    check(LAST in shown[2], "the end of a background command is lost", shown[2])
    return "output of a command in the background is there while it runs"


def files_and_searches(bare, ours):
    if ours.agent.name != "claude-code":
        return None
    for bench in (bare, ours):
        (bench.project / "large.txt").write_text("".join(f"line {n} of a file with some words in it\n" for n in range(1, 1801)))
        (bench.project / "small.txt").write_text("one\ntwo\n")
    script = lambda bench: [
        ("Read", {"file_path": str(bench.project / "small.txt")}),
        ("Read", {"file_path": str(bench.project / "large.txt"), "offset": 1, "limit": 1700}),
        ("Read", {"file_path": str(bench.project / "large.txt")}),
        ("Grep", {"pattern": "line", "path": str(bench.project), "output_mode": "content", "head_limit": 1800}),
        ("Glob", {"pattern": "*.txt"}),
    ]
    without = [text for text, _ in bare.turn(*script(bare))]
    with_us = [text for text, _ in ours.turn(*script(ours))]
    for number in (0, 1, 4):
        check(plain(without[number]) == plain(with_us[number]), "a small or ranged result differs", without[number][:500], with_us[number][:500])
    check("[forebay view of 1,800 lines" in with_us[2], "a large file is no view", with_us[2])
    check("forebay view" in with_us[3] and "persisted" in without[3], "a large search is no view", with_us[3])
    return f"Read {len(without[2]):,} → {len(with_us[2]):,}, Grep {len(without[3]):,} → {len(with_us[3]):,} characters"


def mcp_results(bare, ours):
    server = [sys.executable, str(pathlib.Path(__file__).with_name("lines_server.py"))]
    command, args = server[0], server[1:]
    name, arguments, files = {
        "claude-code": ("mcp__t__lines", ["--mcp-config", json.dumps({"mcpServers": {"t": {"command": command, "args": args}}})], {}),
        "gemini-cli": ("mcp_t_lines", [], {".gemini/settings.json": json.dumps({"mcpServers": {"t": {"command": command, "args": args}}})}),
        "opencode": ("t_lines", [], {".config/opencode/opencode.json": json.dumps({"mcp": {"t": {"type": "local", "command": server}}})}),
        "copilot": ("t-lines", ["--additional-mcp-config", json.dumps({"mcpServers": {"t": {"type": "local", "command": command, "args": args, "tools": ["*"]}}})], {}),
    }.get(ours.agent.name, (None, None, None))
    if name is None:
        return None
    for bench in (bare, ours):
        for file, text in files.items():
            bench.write(file, text)
    ours.init()
    # Servers start while the first command runs.
    script = ["sh -c 'sleep 2'; echo ready", (name, {"count": 3}), (name, {"count": 1_200})]
    without, with_us = bare.turn(*script, arguments=arguments), ours.turn(*script, arguments=arguments)
    check(plain(without[1][0]) == plain(with_us[1][0]), "a small result differs", without[1], with_us[1])
    check("[forebay view of 1,200 lines" in with_us[2][0], "a large result is no view", with_us[2])
    return f"MCP result {len(without[2][0]):,} → {len(with_us[2][0]):,} characters"


def the_doctor_is_content(bare, ours):
    found = subprocess.run([ours.forebay, "doctor", ours.agent.name, "--json"], cwd=ours.project, env=ours.environment(),
                           capture_output=True, text=True)
    findings = [json.loads(line) for line in found.stdout.splitlines()]
    broken = [finding for finding in findings if finding.get("state") == "broken" and finding["check"] != "trust"]
    hooks = [finding for finding in findings if finding.get("check") == "hook"]
    check(not broken and hooks, "doctor finds something broken", broken, found.stderr)
    return hooks[0]["finding"]


def a_folder_of_the_repository_can_be_installed(bare, ours):
    """The plugin of Claude Code and the extension of Gemini CLI, from the local path."""
    integrations = pathlib.Path(__file__).resolve().parents[2] / "integrations"
    ours.init("--uninstall")
    arguments = []
    if ours.agent.name == "claude-code":
        arguments = ["--plugin-dir", str(integrations / "claude-code")]
    elif ours.agent.name == "gemini-cli":
        subprocess.run(["node", ours.program, "extensions", "install", integrations / "gemini-cli", "--consent"], input="y\ny\n",
                       text=True, env=ours.environment(), cwd=ours.project, capture_output=True, timeout=120)
    else:
        return None
    text = ours.turn(ours.many, arguments=arguments)[0][0]
    check("[forebay view of " in text, "the folder does not work", text)
    return "works from the folder in the repository"


def the_sandbox_reads_and_keeps(bare, ours):
    """In Codex's sandbox the home folder is read-only: what is kept there is read, and what is stored is taken in later."""
    if ours.agent.name != "codex":
        return None
    sandbox = ["-c", 'sandbox_mode="workspace-write"']
    read = lambda results: ours.call(view_calls(results[0][0], "read")[0])
    inside = ours.call(f"{ours.forebay} run -- {MANY}")
    again = lambda results: ours.call(view_calls(results[2][0], "read")[0])
    results = ours.turn(ours.many, read, inside, again, "echo done", free=False, arguments=sandbox)
    for number in (1, 3):
        check(re.search(r"^line \d+ of the output$", results[number][0], re.M), "the sandbox cannot read", results[number])
    stored = [path for path in (ours.home / ".local/share/forebay").rglob("terminal/*.log")]
    return f"read from inside the sandbox; {len(stored)} output stored inside is in the root"


CASES = [results_are_replaced, a_word_gives_the_result_unfolded, background_output_is_live, files_and_searches, mcp_results,
         the_sandbox_reads_and_keeps, a_folder_of_the_repository_can_be_installed, the_doctor_is_content, the_settings_come_back, rules_decide_as_before]

# Cases of a quick run with an agent that takes long.
QUICK = [results_are_replaced, the_settings_come_back]
SLOW_AGENTS = ["gemini-cli", "opencode", "copilot"]


def main():
    forebay, packages = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    names = [name for name in sys.argv[3:] if not name.startswith("-")]
    is_quick = "--quick" in sys.argv[3:]
    only = [name[1:] for name in sys.argv[3:] if name.startswith("-") and name != "--quick"]
    packages.mkdir(parents=True, exist_ok=True)
    failures = 0
    for agent in agents.AGENTS:
        if names and agent.name not in names:
            continue
        program = agents.install(agent, packages)
        if program is None:
            continue
        for case in CASES:
            if only and case.__name__ not in only:
                continue
            if is_quick and agent.name in SLOW_AGENTS and case not in QUICK:
                continue
            # Not in the system's folder for temporary files, which a sandbox can write to.
            with tempfile.TemporaryDirectory(dir=packages, ignore_cleanup_errors=True) as folder:
                folder = pathlib.Path(folder)
                bare = Bench(agent, program, forebay, folder / "bare")
                ours = Bench(agent, program, forebay, folder / "ours")
                started = time.monotonic()
                try:
                    if case not in (rules_decide_as_before, the_settings_come_back, mcp_results):
                        ours.init("--allow-reads")
                    said = case(bare, ours)
                except Failed as error:
                    failures += 1
                    print(f"FAILED: {agent.name}: {case.__name__}: {error}", flush=True)
                else:
                    if said:
                        print(f"{agent.name}: {said} ({time.monotonic() - started:.0f} s)", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
