#!/usr/bin/env python3
"""peer_test.py PEER FOLDER: our signatures against the npm package `standardwebhooks`.

PEER is our program. The package is installed in FOLDER, as package-lock.json names it, and stays
there. Exits with 77, which ctest reports as skipped, if there is no npm or no registry.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
PRIVATE = ("whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicM"
           "Fs6Kvg==")
# JSON, since the peer parses what it has verified.
BODIES = ['{"test": 2432232314}', '""', '{"text": "caf\u00e9 \u2603 \U0001f600"}',
          json.dumps({"long": "x" * 50000}), '{ "spaces" :  [1,2 ] }\n']


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def install(folder):
    """Installs the peer in the folder, once."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            skip(f"there is no {program}; the peer library is the npm package standardwebhooks")
    if os.path.exists(os.path.join(folder, "installed")):
        return
    os.makedirs(folder, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(HERE, name), folder)
    try:
        made = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                              cwd=folder, capture_output=True, text=True, timeout=90, check=False)
    except subprocess.TimeoutExpired:
        skip("npm did not install standardwebhooks within 90 s")
    if made.returncode != 0:
        skip(f"npm cannot install standardwebhooks: {made.stderr.strip()[-300:]}")
    with open(os.path.join(folder, "installed"), "w", encoding="utf-8"):
        pass


def ours(body, *words):
    return subprocess.run([PEER, *map(str, words)], input=body.encode(), capture_output=True,
                          timeout=20, check=True).stdout.decode().strip()


def theirs(jobs):
    ran = subprocess.run(["node", os.path.join(HERE, "peer.js")], input=json.dumps(jobs),
                         capture_output=True, text=True, timeout=60, check=True,
                         env={**os.environ, "NODE_PATH": os.path.join(FOLDER, "node_modules")})
    return json.loads(ran.stdout)


def job(operation, body, when, signature=None, secret=SECRET):
    return {"op": operation, "secret": secret, "id": "msg_1", "time": when, "body": body,
            "signature": signature}


class PeerTest(unittest.TestCase):
    def test_the_peer_accepts_what_we_sign(self):
        now = int(time.time())
        jobs = []
        for body in BODIES:
            jobs.append(job("verify", body, now, ours(body, "sign", "msg_1", now, SECRET)))
            # A rotation: its own secret is not the first, beside a version that it does not know.
            rotated = ours(body, "sign", "msg_1", now, OTHER, PRIVATE, SECRET)
            jobs.append(job("verify", body, now, rotated))
        self.assertEqual(theirs(jobs), ["valid"] * len(jobs))

    def test_the_peer_refuses_what_is_not_signed(self):
        now = int(time.time())
        body = BODIES[0]
        good = ours(body, "sign", "msg_1", now, SECRET)
        jobs = [job("verify", body + " ", now, good), job("verify", body, now - 1, good),
                job("verify", body, now, good, OTHER),
                job("verify", body, now, ours(body, "sign", "msg_2", now, SECRET))]
        self.assertNotIn("valid", theirs(jobs))

    def test_we_accept_what_the_peer_signs_and_sign_the_same(self):
        when = 1614265330
        for body, signed in zip(BODIES, theirs([job("sign", body, when) for body in BODIES])):
            self.assertEqual(ours(body, "sign", "msg_1", when, SECRET), signed)
            self.assertEqual(ours(body, "verify", SECRET, "msg_1", when, signed, when), "valid")
            self.assertEqual(ours(body, "verify", SECRET[6:], "msg_1", when, signed, when + 300),
                             "valid")
            self.assertEqual(ours(body, "verify", SECRET, "msg_1", when, signed, when + 301),
                             "too_old")
            self.assertEqual(ours(body, "verify", OTHER, "msg_1", when, signed, when), "no_match")

    def test_both_have_the_same_tolerance(self):
        now = int(time.time())
        # Far enough from the bound that the time this test takes does not matter.
        for when, wanted in ((now - 240, "valid"), (now + 240, "valid"), (now - 600, "too_old"),
                             (now + 600, "too_new")):
            signed = ours("{}", "sign", "msg_1", when, SECRET)
            self.assertEqual(ours("{}", "verify", SECRET, "msg_1", when, signed, now), wanted)
            said = theirs([job("verify", "{}", when, signed)])
            self.assertEqual(said == ["valid"], wanted == "valid", said)


if __name__ == "__main__":
    PEER, FOLDER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    install(FOLDER)
    unittest.main(argv=sys.argv[:1])
