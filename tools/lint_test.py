#!/usr/bin/env python3
"""Tests which files tools/lint passes to clang-tidy: each file once."""

import importlib.machinery
import importlib.util
import json
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def load_lint():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("lint", os.path.join(HERE, "lint"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint", loader))
    loader.exec_module(module)
    return module


lint = load_lint()

TREE = {
    "src/damper/a/far.h": "",
    "src/damper/a/near.h": '#include "damper/a/far.h"\n',
    "src/damper/a/near.cc": '#include "damper/a/near.h"\n',
    "src/damper/a/near_test.cc": '#include "damper/a/tested.h"\n#include "damper/a/b_testing.h"\n',
    "src/damper/a/b_testing.h": "",
    "src/damper/a/c_testing.h": "",
    "src/damper/a/near_bench.cc": '#include "damper/a/timed.h"\n',
    "src/damper/a/tested.h": "",
    "src/damper/a/timed.h": "",
    "src/damper/a/alone.h": "",
    "src/damper/a/named.h": "",
    "src/damper/a/named.cc": '// #include "damper/a/named.h"\n',
    "examples/other.cc": '#include "damper/a/alone.h"\n',
}


class ToCheck(unittest.TestCase):
    def asked(self, tests=True, changed=None):
        with tempfile.TemporaryDirectory() as root:
            lint.ROOT, build = root, os.path.join(root, "build")
            files = dict(TREE)
            for name in TREE:
                if name.endswith(".h"):
                    files["build/headers/" + name.removeprefix("src/") + ".cc"] = ""
            entries = [{"file": os.path.join(root, name)} for name in files if name.endswith(".cc")]
            files["build/compile_commands.json"] = json.dumps(entries)
            for name, text in files.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            if changed is not None:
                changed = {os.path.join(root, name) for name in changed}
            return [os.path.relpath(entry["file"], root)
                    for entry in lint.to_check(build, tests, changed)]

    def test_every_source_is_asked_once(self):
        asked = [name for name in self.asked() if name.startswith("src/")]
        self.assertEqual(sorted(asked),
                         sorted(n for n in TREE if n.startswith("src/") and n.endswith(".cc")))

    def test_a_source_that_a_test_compiles_again_is_asked_as_its_module_compiles_it(self):
        text = json.dumps([{"file": "a.cc", "command": "c++ -Winvalid-pch -include x.h -c a.cc"},
                           {"file": "a.cc", "command": "c++ -DSTEPPED -c a.cc"}])
        self.assertEqual(lint.commands_of(text), [{"file": "a.cc", "command": "c++ -c a.cc"}])

    def test_a_header_is_asked_alone_only_if_no_source_has_it(self):
        asked = [name for name in self.asked() if not name.startswith("src/")]
        self.assertEqual(asked, [f"build/headers/damper/a/{name}.h.cc"
                                 for name in ("c_testing", "tested", "timed", "alone", "named")])

    def test_tests_are_asked_only_when_they_are_wanted(self):
        self.assertEqual(self.asked(tests=False),
                         ["src/damper/a/near.cc", "src/damper/a/named.cc"] +
                         [f"build/headers/damper/a/{name}.h.cc"
                          for name in ("tested", "timed", "alone", "named")])

    def test_of_changed_files_sources_are_asked_and_headers_with_one_source(self):
        self.assertEqual(self.asked(changed=["src/damper/a/near.cc"]), ["src/damper/a/near.cc"])
        self.assertEqual(self.asked(changed=["src/damper/a/near.h"]), ["src/damper/a/near.cc"])
        self.assertEqual(self.asked(changed=["src/damper/a/far.h", "src/damper/a/near.cc"]),
                         ["src/damper/a/near.cc"])
        self.assertEqual(self.asked(changed=["src/damper/a/alone.h"]),
                         ["build/headers/damper/a/alone.h.cc"])
        self.assertEqual(self.asked(changed=["README.md"]), [])


if __name__ == "__main__":
    unittest.main()
