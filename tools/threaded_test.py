#!/usr/bin/env python3
"""Tests which tests tools/threaded selects, in a small tree."""

import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def load_threaded():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("threaded", os.path.join(HERE, "threaded"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("threaded", loader))
    loader.exec_module(module)
    return module


threaded = load_threaded()

TREE = {
    "src/damper/a/pool.h": "class Pool;\n",
    "src/damper/a/pool.cc": '#include "damper/a/pool.h"\nstd::jthread thread;\n',
    "src/damper/a/user.h": "void use();\n",
    "src/damper/a/user.cc": '#include "damper/a/user.h"\n#include "damper/a/pool.h"\n',
    "src/damper/a/plain.h": '#include "damper/a/plain.h"\nint plain();\n',
    "tests/a/driver.h": "auto answer = std::async(work);\n",
}


class Threaded(unittest.TestCase):
    def is_threaded(self, text):
        with tempfile.TemporaryDirectory() as root:
            threaded.ROOT = root
            threaded.facts.cache_clear()
            for name, content in {**TREE, "t_test.cc": text}.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(content)
            return threaded.is_threaded(os.path.join(root, "t_test.cc"))

    def test_a_thread_of_its_own_counts(self):
        for start in ("std::thread t(f);", "std::vector<std::jthread> all;", "std::async(f);",
                      "pthread_create(&t, 0, f, 0);"):
            self.assertTrue(self.is_threaded(start + "\n"), start)

    def test_so_does_one_behind_the_headers_and_the_sources_beside_them(self):
        for name in ("damper/a/pool.h", "damper/a/user.h", "tests/a/driver.h"):
            self.assertTrue(self.is_threaded(f'#include "{name}"\n'), name)

    def test_what_only_talks_of_threads_does_not(self):
        for text in ("// std::thread would be wrong here\n", "std::this_thread::yield();\n",
                     '#include "damper/a/plain.h"\n', '// #include "damper/a/pool.h"\n',
                     '#include "damper/a/missing.h"\n#include <thread>\n'):
            self.assertFalse(self.is_threaded(text), text)

    def test_a_comment_decides_against_the_text(self):
        self.assertTrue(self.is_threaded("// Under tsan: a program is run.\n"))
        self.assertFalse(self.is_threaded("// Not under tsan: slow.\nstd::thread t;\n"))


if __name__ == "__main__":
    unittest.main()
