"""Feeds hooks with mutated events. Each must end with status 0 within a second of work, and print nothing or JSON.

The second is one of the processor, so that a busy machine changes nothing.

fuzz.py FOREBAY [COUNT]
"""

import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

OUTPUT = "".join(f"line {number} of a log\n" for number in range(2_000))
COMMAND = {"command": "make"}
EVENTS = {
    "claude-code": {"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "c",
                    "tool_input": COMMAND, "tool_response": {"stdout": OUTPUT, "stderr": "", "interrupted": False}},
    "codex": {"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "c",
              "tool_input": COMMAND, "tool_response": OUTPUT},
    "gemini-cli": {"session_id": "s", "hook_event_name": "AfterTool", "tool_name": "run_shell_command", "tool_input": COMMAND,
                   "tool_response": {"llmContent": f"Output: {OUTPUT}\nProcess Group PGID: 7"}},
    "opencode": {"event": "after", "session": "s", "call": "c", "tool": "bash", "args": COMMAND,
                 "output": {"output": OUTPUT, "metadata": {"exit": 2}}},
    "copilot": {"sessionId": "s", "toolName": "bash", "toolArgs": COMMAND,
                "toolResult": {"resultType": "success", "textResultForLlm": OUTPUT}},
}
SECOND = 1.0
VALUES = [None, True, -1, 1e300, "", "\u0000", [], {}, "x" * 5_000, "/dev/zero", {"a": [1]}]


def places(value, path=()):
    if isinstance(value, dict):
        for key in value:
            yield path + (key,)
            yield from places(value[key], path + (key,))


def mutated(event, chance):
    """An event with other values, or other bytes."""
    event = json.loads(json.dumps(event))
    for _ in range(chance.randint(0, 3)):
        path = chance.choice(list(places(event)) or [()])
        place = event
        for key in path[:-1]:
            place = place[key]
        if not path:
            break
        if chance.random() < 0.3:
            del place[path[-1]]
        else:
            place[path[-1]] = chance.choice(VALUES)
    text = bytearray(json.dumps(event).encode())
    for _ in range(chance.choice([0, 0, 1, 3])):
        at = chance.randrange(len(text))
        text[at : at + chance.randint(1, 30)] = chance.randbytes(chance.randint(0, 3))
    return bytes(text)


def worked():
    """Seconds that all children so far had of the processor."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main():
    forebay, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
    chance, slowest, answered = random.Random(30), 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "TMPDIR": folder, "FOREBAY_ROOT": folder + "/root"}
        for number in range(count):
            host = chance.choice(list(EVENTS))
            event = mutated(EVENTS[host], chance)
            before = worked()
            ran = subprocess.run([forebay, "hook", host], input=event, env=environment, cwd=folder, capture_output=True)
            took = worked() - before
            slowest = max(slowest, took)
            wrong = ran.returncode != 0 or took > SECOND
            try:
                answered += bool(ran.stdout and json.loads(ran.stdout))
            except ValueError:
                wrong = True
            if wrong:
                print(f"FAILED: {host}, event {number}: status {ran.returncode}, {ran.stdout[:200]!r} {ran.stderr[:200]!r}\n{event[:500]!r}")
                sys.exit(1)
        root = pathlib.Path(folder, "root")
        assert root.is_dir(), "no event was kept"
    print(f"{count} mutated events: status 0 each, {answered} answered, the slowest with {slowest * 1000:.0f} ms of work")


if __name__ == "__main__":
    main()
