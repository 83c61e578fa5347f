"""Has schemathesis try the running server with all that its document allows, and much that it does not."""

import os
import re
import subprocess
import sys
import tempfile
import urllib.request

from server import serving


def put(address, token, session, output, body, query=""):
    headers = {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"{address}/v1/sessions/{session}/outputs/{output}{query}", data=body, method="PUT", headers=headers)
    urllib.request.urlopen(request).read()


def main():
    forebay, venv = sys.argv[1:]
    log = "".join(f"line {number}: all is well\n" for number in range(1, 3_001)).encode()
    with serving(forebay, "--idle", "5s") as (address, token, folder):
        # There is something to find under names that a fuzzer thinks of.
        for session in ["0", "demo"]:
            put(address, token, session, "0", log, "?tool=make&exit=1&args=%7B%7D")
            put(address, token, session, "json01", b'{"a": [1, {"b": null}], "c": "d"}')
            put(address, token, session, "binary", bytes(range(256)) * 40)
            put(address, token, session, "empty1", b"")
        # A stream has no end: a fuzzer would wait for it. What is right by the schema and wrong otherwise (two ways to read at
        # once, a filter that is none) is refused with 400, and must be.
        command = [os.path.join(venv, "bin", "schemathesis"), "run", address + "/v1/openapi.json", "--max-examples", "40",
                   "--phases", "coverage,fuzzing,stateful", "--exclude-checks", "positive_data_acceptance",
                   "--request-timeout", "60", "--suppress-health-check", "all", "--header", "Accept: application/json, */*;q=0.1",
                   "--header", f"Authorization: Bearer {token}", "--no-color", "--generation-deterministic"]
        with tempfile.TemporaryDirectory() as work:
            # What is too long for an address is refused before anybody looks at it.
            with open(os.path.join(work, "schemathesis.toml"), "w") as file:
                file.write('[checks.negative_data_rejection]\nexpected-statuses = ["4xx"]\n')
            ran = subprocess.run(command, cwd=work, capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(ran.stdout + ran.stderr)
        tried = next(line.strip() for line in ran.stdout.splitlines() if re.search(r"\d generated", line))
        print(f"schemathesis over the document: {tried}")
        with urllib.request.urlopen(address + "/health") as answer:
            assert answer.status == 200


main()
