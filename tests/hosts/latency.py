"""Time of a hook around the fold itself: a hook with a large result against `forebay put` of the same bytes.

latency.py FOREBAY [COUNT]
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

MOST = 0.015  # seconds beyond the fold, at the median


def main():
    forebay, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    output = "".join(f"line {number} of a log of a build\n" for number in range(20_000))
    with tempfile.TemporaryDirectory() as folder:
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "TMPDIR": folder, "FOREBAY_ROOT": folder + "/root"}
        file = folder + "/output.txt"
        with open(file, "w") as out:
            out.write(output)

        def event(number, response):
            return json.dumps({"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Bash",
                               "tool_use_id": f"c{number}", "tool_input": {"command": "make"}, "tool_response": response}).encode()

        def seconds(command, given):
            started = time.perf_counter()
            ran = subprocess.run(command, input=given, env=environment, cwd=folder, capture_output=True)
            assert ran.returncode == 0, ran.stderr
            return time.perf_counter() - started

        large = {"stdout": output[:30_000], "stderr": "", "persistedOutputPath": file}
        small = {"stdout": "one line", "stderr": ""}
        args = json.dumps({"command": "make"})
        hooks, folds, smalls, starts = [], [], [], []
        for number in range(count):  # in turns, so that a busy machine slows all of them
            hooks.append(seconds([forebay, "hook", "claude-code"], event(number, large)))
            folds.append(seconds([forebay, "put", "--session", "p", "--call-id", f"p{number}", "--tool", "Bash", "--exit", "0",
                                  "--args", args, file], b""))
            smalls.append(seconds([forebay, "hook", "claude-code"], event(f"s{number}", small)))
            starts.append(seconds([forebay, "--version"], b""))
        hook, fold, little, start = map(statistics.median, (hooks, folds, smalls, starts))
        print(f"medians of {count}: hook {hook * 1000:.1f} ms, the fold alone (put) {fold * 1000:.1f} ms, "
              f"hook with a small result {little * 1000:.1f} ms, start of the program {start * 1000:.1f} ms")
        if hook - fold > MOST:
            sys.exit(f"FAILED: a hook takes {(hook - fold) * 1000:.1f} ms beyond the fold")


if __name__ == "__main__":
    main()
