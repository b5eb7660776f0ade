#!/usr/bin/env python3
"""Tests which failures tools/ctest forgives, with the real ctest."""

import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ctest")
ONCE = 'test -e {mark} || { touch {mark}; echo "{text}"; exit 1; }'


def run(tests):
    """Runs tools/ctest on shell scripts by name; gives its exit code and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
            for name, script in tests.items():
                script = script.replace("{mark}", os.path.join(folder, f"mark{len(name)}"))
                file.write(f"add_test([==[{name}]==] sh -c [==[{script}]==])\n")
        done = subprocess.run([sys.executable, TOOL, folder], check=False, capture_output=True,
                              text=True)
        return done.returncode, done.stdout


def once(text="too slow"):
    return ONCE.replace("{text}", text)


class SecondChance(unittest.TestCase):

    def test_nothing_is_said_where_all_pass(self):
        status, text = run({"Good": "exit 0"})
        self.assertEqual(status, 0)
        self.assertNotIn("====", text)

    def test_a_test_that_passes_alone_is_named(self):
        status, text = run({"Good": "exit 0", "Busy.Once": once()})
        self.assertEqual(status, 0)
        self.assertIn("==== passed only alone, mend them: Busy.Once", text)

    def test_a_test_that_always_fails_fails(self):
        status, text = run({"Good": "exit 0", "Bad": "exit 1"})
        self.assertNotEqual(status, 0)
        self.assertNotIn("passed only alone", text)

    def test_a_test_that_fails_once_in_four_fails(self):
        script = 'echo x >> {mark}; n=$(wc -l < {mark}); [ "$n" -eq 2 ] || [ "$n" -eq 3 ]'
        self.assertNotEqual(run({"Rare": script})[0], 0)

    def test_a_sanitizers_word_is_final(self):
        status, text = run({"Race": once("WARNING: ThreadSanitizer: data race")})
        self.assertNotEqual(status, 0)
        self.assertIn("no second chance: ThreadSanitizer", text)

    def test_a_crash_is_final(self):
        status, text = run({"Crash": "test -e {mark} || { touch {mark}; kill -SEGV $$; }"})
        self.assertNotEqual(status, 0)
        self.assertIn("no second chance: Crash: SEGFAULT", text)

    def test_a_crash_of_a_program_that_a_test_started_is_final(self):
        for word in ("damper: check failed: x", "the proxy ended with -6", "it does not end"):
            status, text = run({"Parent": once(word)})
            self.assertNotEqual(status, 0, word)
            self.assertIn("no second chance", text)

    def test_a_name_may_have_spaces_and_brackets(self):
        name = "Heads/Queue.Agrees/4-byte object <00 01> (x)"
        status, text = run({name: once()})
        self.assertEqual(status, 0)
        self.assertIn(f"mend them: {name}", text)
        status, _ = run({name: "test -e {mark} || { touch {mark}; kill -SEGV $$; }", "B": once()})
        self.assertNotEqual(status, 0)

    def test_four_failures_are_no_accident(self):
        status, text = run({"Busy" * i: once() for i in range(1, 5)})
        self.assertNotEqual(status, 0)
        self.assertIn("no second chance: 4 tests failed", text)


if __name__ == "__main__":
    unittest.main()
