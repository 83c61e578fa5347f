"""Holds encrypted archives against rage, another program of the age format: what we encrypt it decrypts, and the reverse.

Usage: check_sealing.py <forebay, built>. Prints a line per direction; stops at the first difference.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import pyrage

PASSPHRASE = "correct horse battery staple"
# The sizes of archives around the blocks of the format.
LENGTHS = (1, 65_000, 65_536, 200_000)


def forebay(binary, folder, *arguments, stdin=b""):
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "FOREBAY_ROOT": str(folder / "root"), "FOREBAY_SESSION": "s"}
    done = subprocess.run([binary, *arguments], input=stdin, capture_output=True, cwd=folder, env=environment)
    assert done.returncode == 0, (arguments, done.stderr.decode())
    return done.stdout


def check(binary, folder):
    identity = pyrage.x25519.Identity.generate()
    key, words = folder / "key.txt", folder / "words.txt"
    key.write_text(f"{identity}\n")
    words.write_text(f"{PASSPHRASE}\n")
    recipient = str(identity.to_public())
    for at, length in enumerate(LENGTHS):
        # Random, so that it does not get smaller.
        forebay(binary, folder, "put", "--call-id", f"o{at}", stdin=os.urandom(length))
        plain = forebay(binary, folder, "export", "--out", "-")
        ours = forebay(binary, folder, "export", "--out", "-", "--encrypt", recipient)
        assert pyrage.decrypt(ours, [identity]) == plain, f"rage reads something else of {len(plain)} bytes"
        theirs = pyrage.encrypt(plain, [pyrage.x25519.Recipient.from_str(recipient)])
        there = folder / f"there{at}"
        there.mkdir()
        told = forebay(binary, there, "import", "-", "--identity", str(key), stdin=theirs)
        assert told.startswith(b"session s: "), told
        for name in range(at + 1):
            same = [forebay(binary, where, "cat", f"o{name}") for where in (folder, there)]
            assert same[0] == same[1], f"o{name} has other bytes"
    print(f"archives for a key: {len(LENGTHS)} sizes, both directions")
    ours = forebay(binary, folder, "export", "--out", "-", "--passphrase-file", str(words))
    assert pyrage.passphrase.decrypt(ours, PASSPHRASE) == plain
    there = folder / "words"
    there.mkdir()
    theirs = pyrage.passphrase.encrypt(plain, PASSPHRASE)
    forebay(binary, there, "import", "-", "--passphrase-file", str(words), stdin=theirs)
    print("archives with a passphrase: both directions")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        check(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(folder))
