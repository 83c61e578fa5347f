"""A server of forebay in a folder of its own."""

import contextlib
import json
import os
import subprocess
import tempfile


@contextlib.contextmanager
def serving(forebay, *args):
    """Starts a server, and gives its address, its token and its folder."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "FOREBAY_ROOT": os.path.join(folder, "root")}
        command = [forebay, "serve", "--json", "--listen", "127.0.0.1:0", *args]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=folder)
        try:
            said = json.loads(server.stdout.readline())
            yield said["listening"], said["url"].partition("?token=")[2], folder
        finally:
            server.terminate()
            assert server.wait(60) == 0, "the server did not end well"
