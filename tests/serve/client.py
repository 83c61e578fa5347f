"""Uses the API through a client that openapi-python-client generates from the served document."""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request

from server import serving


def generated(address, venv, folder):
    document = os.path.join(folder, "openapi.json")
    with urllib.request.urlopen(address + "/v1/openapi.json") as answer, open(document, "wb") as file:
        file.write(answer.read())
    command = [os.path.join(venv, "bin", "openapi-python-client"), "generate", "--path", document, "--meta", "none",
               "--output-path", os.path.join(folder, "forebay_client"), "--fail-on-warning"]
    # The formatter that it would call is not needed.
    config = os.path.join(folder, "config.json")
    with open(config, "w") as file:
        json.dump({"post_hooks": [], "content_type_overrides": dict.fromkeys(["application/zstd", "*/*"], "application/octet-stream")}, file)
    subprocess.run([*command, "--config", config], check=True, stdout=subprocess.DEVNULL)
    sys.path.insert(0, folder)


def main():
    forebay, venv = sys.argv[1:]
    with serving(forebay) as (address, token, _), tempfile.TemporaryDirectory() as folder:
        generated(address, venv, folder)
        from forebay_client import AuthenticatedClient
        from forebay_client.api.default import (ask, get_events, get_output, get_room, get_session_stats, grep, list_outputs,
                                                list_sessions, list_tools, put_output, read, report_room)
        from forebay_client.models import ListToolsWire, Problem, PutOutputPreset, RoomReport
        from forebay_client.types import File
        import io

        client = AuthenticatedClient(base_url=address, token=token)
        log = "".join(f"line {number}: all is well\n" for number in range(1, 50_001)) + "ERROR: disk on fire\n"
        body = File(payload=io.BytesIO(log.encode()))
        reply = put_output.sync(client=client, session="s", output="call-1", body=body, tool="make", exit_=2)
        assert reply.handle == "s/call-1" and reply.stored and "disk on fire" in reply.text, reply
        body = File(payload=io.BytesIO(log.encode()))
        again = put_output.sync(client=client, session="s", output="call-1", body=body, tool="make", exit_=2)
        assert again.repeated and again.text == reply.text
        body = File(payload=io.BytesIO(log.encode()))
        recovery = put_output.sync(client=client, session="s", output="call-2", body=body, preset=PutOutputPreset.RECOVERY)
        assert recovery.text != reply.text
        assert [session.session for session in list_sessions.sync(client=client).sessions] == ["s"]
        listed = list_outputs.sync(client=client, session="s")
        assert listed.total == 2 and {output.handle for output in listed.outputs} == {"s/call-1", "s/call-2"}
        assert "line 7: all is well" in read.sync(client=client, session="s", output="call-1", lines="7:7").text
        assert "50001:ERROR" in grep.sync(client=client, session="s", output="call-1", pattern="fire$").text
        assert "disk on fire" in ask.sync(client=client, session="s", output="call-1", question="what burns, is on fire?").text
        assert get_output.sync(client=client, session="s", output="call-1").got.queries == 3
        problem = get_output.sync(client=client, session="s", output="nothere")
        assert isinstance(problem, Problem) and problem.status == 404, problem
        assert report_room.sync(client=client, session="s", body=RoomReport(used=5)).reported == 5
        assert get_room.sync(client=client, session="s").reported == 5
        assert get_session_stats.sync(client=client, session="s").saved > 0
        assert len(get_events.sync(client=client, session="s").events) >= 8
        assert "output_grep" in json.dumps(list_tools.sync(client=client, wire=ListToolsWire.ANTHROPIC).to_dict())
        print("a client generated from the document: puts, reads, asks, and is told what is wrong")


main()
