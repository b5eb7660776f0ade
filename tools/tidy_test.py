#!/usr/bin/env python3
"""Plants a breach of each rule of tools/tidy in a small tree and expects it to be named."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TIDY = os.path.join(HERE, "tidy")


def load_tidy():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("tidy", TIDY)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
    loader.exec_module(module)
    return module


tidy = load_tidy()

HEADER = """#pragma once

#include <cstdint>
{include}
namespace damper {{

int {n}();

}}  // namespace damper
"""
SOURCE = """#include "damper/{m}/{n}.h"

#include <array>

namespace damper {{

// A comment may say new, std::mutex, rand() and steady_clock::now(): it is not code.
int {n}() {{
  constexpr const char* kText = "throw new std::mutex, std::cout, using namespace std";
  return kText[0] == '"' ? 1'000'000 : std::array<int, 1>{{2}}[0];
}}

}}  // namespace damper
"""
TEST = """#include "damper/{m}/{n}.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

#include "damper/base/a.h"

TEST(X, Y) {{ std::vector<int> may_allocate(2); }}
"""


def clean_tree():
    """{path: text} of a tree without a breach: one concept in base, decide and engine."""
    tree = {
        "Makefile": "all:\n\techo a tab is right here\n",
        "README.md": "# A tree\n" + "words " * 40 + "end\n",
        "fuzz/corpus/x/input.txt": "not ours to format \t ",
        "src/damper/damper.h": '#pragma once\n\n#include "damper/engine/c.h"\n',
    }
    for module, name, include in (("base", "a", ""), ("decide", "b", "base/a"),
                                  ("engine", "c", "decide/b")):
        words = {"m": module, "n": name,
                 "include": f'\n#include "damper/{include}.h"\n' if include else ""}
        stem = f"src/damper/{module}/{name}"
        tree[stem + ".h"] = HEADER.format(**words)
        tree[stem + ".cc"] = SOURCE.format(**words)
        tree[stem + "_test.cc"] = TEST.format(**words).replace(
            '\n#include "damper/base/a.h"\n', "" if module == "base" else
            '\n#include "damper/base/a.h"\n')
    return tree


def breaches_in(tree):
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return tidy.breaches(root)


A, B, C = "src/damper/base/a.cc", "src/damper/decide/b.cc", "src/damper/engine/c.cc"

INCLUDE = "#include <array>\n"


def including(name):
    """Adds an include where the order of includes wants it."""
    if name.startswith("<"):
        return lambda text: text.replace(INCLUDE, INCLUDE + f"#include {name}\n")
    return lambda text: text.replace(INCLUDE, INCLUDE + f"\n#include {name}\n")


def saying(line):
    return lambda text: text.replace("  return kText", f"  {line}\n  return kText")


# (name, path, how its text is changed, part of the sentence that has to come)
BREACHES = [
    ("upward include", A, including('"damper/engine/c.h"'), "base may not include engine"),
    ("upward include of the umbrella", A, including('"damper/damper.h"'), "may not include the um"),
    ("sibling", B, including('"damper/admit/x.h"'), "decide may not include admit"),
    ("sibling in a test", "src/damper/decide/b_test.cc",
     lambda text: text.replace('"damper/base/a.h"', '"damper/schedule/x.h"'),
     "may not include sch"),
    ("balance and engine", "src/damper/balance/l_test.cc",
     lambda _: '#include "damper/engine/x.h"\n', "balance may not include engine"),
    ("core and balance", C, including('"damper/balance/x.h"'), "engine may not include balance"),
    ("sibling in angle brackets", B, including("<damper/admit/x.h>"), "may not include admit"),
    ("lab and run", "src/damper/lab/l_test.cc", lambda _: '#include "damper/run/x.h"\n',
     "lab may not include run"),
    ("lab and http", "src/damper/lab/l_test.cc", lambda _: '#include "damper/http/x.h"\n',
     "lab may not include http"),
    ("umbrella and policy", "src/damper/damper.h",
     lambda text: text.replace("engine/c.h", "policy/c.h"), "may not include policy"),
    ("unknown module", "src/damper/utils/u_test.cc", lambda _: "int x;\n", "not a module"),
    ("clock", A, saying("std::chrono::steady_clock::now();"), "the core reads no clock"),
    ("clock by alias", B, saying("Clock::now();"), "the core reads no clock"),
    ("wall clock", B, saying("std::chrono::system_clock::time_point t;"), "reads no clock"),
    ("random device", C, saying("std::random_device device;"), "draws nothing"),
    ("engine", A, saying("std::mt19937_64 engine(1);"), "draws nothing"),
    ("rand", A, saying("int r = rand();"), "draws nothing"),
    ("distribution", A, saying("std::uniform_real_distribution<> d;"), "draws nothing"),
    ("<random>", A, including("<random>"), "draws nothing"),
    ("mutex", A, saying("static std::mutex m;"), "does not block"),
    ("<mutex>", A, including("<mutex>"), "does not block"),
    ("condition variable", C, saying("std::condition_variable v;"), "does not block"),
    ("pthread", C, saying("pthread_yield();"), "does not block"),
    ("thread", C, saying("std::jthread t;"), "neither starts threads nor waits"),
    ("sleep", C, saying("std::this_thread::sleep_for(x);"), "neither starts threads nor waits"),
    ("iostream", A, including("<iostream>"), "does no I/O"),
    ("cstdio", A, including("<cstdio>"), "does no I/O"),
    ("printf", A, saying("std::fprintf(f, x);"), "does no I/O"),
    ("fopen", A, saying("fopen(x, y);"), "does no I/O"),
    ("socket", A, saying("::socket(1, 2, 3);"), "does no I/O"),
    ("new", A, saying("int* p = new int;"), "does not allocate"),
    ("make_unique", A, saying("auto p = std::make_unique<int>(1);"), "does not allocate"),
    ("std::function", C, saying("std::function<void()> f;"), "does not allocate"),
    ("vector", C, saying("std::vector<int> v;"), "does not allocate"),
    ("vector in balance", "src/damper/balance/l.cc", lambda _: "std::vector<int> v;\n",
     "does not allocate"),
    ("throw", B, saying("throw 1;"), "no exception leaves"),
    ("impure header", "src/damper/base/a.h",
     lambda text: text.replace("int a();", "inline int* a() { return new int; }"),
     "does not allocate"),
    ("fence", "src/damper/base/a_test.cc", lambda text: text + "std::atomic_thread_fence(x);\n",
     "fences"),
    ("using namespace", A, saying("using namespace std;"), "name what you use"),
    ("guard", "src/damper/base/a.h",
     lambda text: f"#ifndef A_H_\n#define A_H_\n{text}#endif\n", "a guard repeats the path"),
    ("NDEBUG", A, saying("#ifdef NDEBUG\n#endif"), "checks are always on"),
    ("assert", A, saying("inline void f(int x) { assert(x); }"), "checks are always on"),
    ("underscore and capital", A, saying("int _Name;"), "reserved"),
    ("two underscores", A, saying("int a__b;"), "reserved"),
    ("nobody in a comment", A, saying("// Nobody waits."), "'Nobody': name the subject"),
    ("whoever in a string", B, saying('const char* t = "for whoever asks";'), "'whoever'"),
    ("hear", "src/damper/base/a.h", lambda text: text + "// It hears of it.\n", "'hears'"),
    ("heard", C, saying("/* It was\n  heard. */"), "'heard'"),
    ("so much", A, saying("// So much more."), "'So much': name the subject or the value"),
    ("so long", "src/damper/base/a.h", lambda text: text + "// Waits so long.\n", "'so long'"),
    ("two underscores first", A, saying("int __builtin;"), "reserved"),
    ("typedef", A, saying("typedef int Number;"), "`using`"),
    ("strcmp", A, saying("bool f(char* a) { return std::strcmp(a, a); }"), "std::string_view"),
    ("memcmp", A, saying("bool f(char* a) { return memcmp(a, a, 1); }"), "std::string_view"),
    ("own header not first", A,
     lambda text: text.replace('#include "damper/base/a.h"\n\n#include <array>\n',
                               '#include <array>\n\n#include "damper/base/a.h"\n'),
     "own header comes first"),
    ("standard after ours", C, lambda text: text.replace(
        INCLUDE, '#include "damper/base/a.h"\n\n' + INCLUDE), "stands after"),
    ("no empty line", A, lambda text: text.replace('a.h"\n\n', 'a.h"\n'), "no empty line"),
    ("relative include", B, including('"b_detail.h"'), "write it from the root"),
    ("no #pragma once", "src/damper/base/a.h", lambda _: "int a();\n", "included twice"),
    ("CamelCase file", "src/damper/base/RetryBudget_test.cc", lambda _: "int x;\n", "snake_case"),
    ("long file", "src/damper/base/a_test.cc", lambda text: text + "int x;\n" * 500, "split it"),
    ("long line", A, lambda text: text + "// " + "x" * 98 + "\n", "101 columns"),
    ("tab", A, lambda text: text + "\tint x;\n", "a tab"),
    ("trailing white space", "README.md", lambda text: text + "x \n", "trailing white space"),
    ("no newline at the end", "README.md", lambda text: text + "x", "does not end with a newline"),
    ("empty line at the end", A, lambda text: text + "\n", "ends with an empty line"),
    ("outside path", "README.md", lambda text: text + "see ../sha" "red/A.md\n", "stands alone"),
    ("outside path in a comment", A, lambda text: text + "// /work/sha" "red/x\n", "stands alone"),
    ("to do", A, lambda text: text + "// TO" "DO: later\n", "do it now"),
    ("fix me", "tools/x.py", lambda _: "# FIX" "ME\n", "do it now"),
    ("opening without a subject", "docs/x.md", lambda _: "W" "ho waits is called.\n", '"Words"'),
    ("comment without a subject", A, saying("// W" "hom it concerns."), '"Words"'),
    ("value without a name", A, saying("// After so" " many calls."), '"Words"'),
    ("set is the word", "docs/x.md", lambda _: "Off unless it is" " said.\n", '"Words"'),
    ("exception not needed", "src/damper/base/check.cc",
     lambda _: "int x;\n", "from ALLOWED"),
]


class Tidy(unittest.TestCase):
    def test_a_clean_tree_passes(self):
        self.assertEqual(breaches_in(clean_tree()), [])

    def test_each_breach_is_named_where_it_is(self):
        for name, path, change, sentence in BREACHES:
            with self.subTest(name):
                tree = clean_tree()
                before = tree.get(path, "")
                tree[path] = change(before)
                self.assertNotEqual(tree[path], before, "the breach was not planted")
                found = breaches_in(tree)
                self.assertTrue(any(sentence in text for _, _, text in found),
                                f"{name}: not caught; found {found}")

    def test_a_breach_has_its_file_and_line(self):
        tree = clean_tree()
        tree[A] = saying("int* p = new int;")(tree[A])
        line = tree[A].split("\n").index("  int* p = new int;") + 1
        [(path, number, _)] = breaches_in(tree)
        self.assertEqual((path, number), (A, line))

    def test_what_the_core_may_not_the_rest_may(self):
        tree = clean_tree()
        tree["src/damper/run/r.cc"] = "#include <thread>\n\nstd::mutex m;\nint* p = new int;\n"
        tree["src/damper/run/r_test.cc"] = "#include <thread>\n"
        self.assertEqual(breaches_in(tree), [])

    def test_a_header_of_declarations_needs_no_test(self):
        tree = clean_tree()
        tree["src/damper/base/words.h"] = HEADER.format(n="words", include="")
        self.assertEqual(breaches_in(tree), [])

    def test_a_concept_may_have_several_sources(self):
        tree = clean_tree()
        part = '#include "damper/base/a.h"\n\n#include <array>\n\n#include "damper/base/b.h"\n'
        tree["src/damper/base/part.cc"] = part
        self.assertEqual(breaches_in(tree), [])

    def test_a_name_and_a_test_may_have_a_vague_word(self):
        tree = clean_tree()
        tree[A] = saying("const int nobody = 1;")(tree[A])
        tree["src/damper/base/a_test.cc"] += "// Nobody waits so long.\n"
        self.assertEqual(breaches_in(tree), [])

    def test_a_folder_holds_at_most_45_files(self):
        tree = clean_tree()
        here = sum(os.path.dirname(path) == "src/damper/base" for path in tree)
        for i in range(45 - here):
            tree[f"src/damper/base/part_{i}.cc"] = "int x;\n"
        self.assertEqual(breaches_in(tree), [])
        tree["src/damper/base/one_more.cc"] = "int x;\n"
        self.assertEqual([path for path, _, _ in breaches_in(tree)], ["src/damper/base"])

    def test_numbered_pages_do_not_count(self):
        tree = clean_tree()
        for i in range(46):
            tree[f"docs/design/{i:04}-a-page.md"] = f"# {i:04}: A page\n"
        self.assertEqual(breaches_in(tree), [])
        for i in range(46):
            tree[f"docs/guide/page-{i:04}.md"] = "# A page\n"
        self.assertEqual([path for path, _, _ in breaches_in(tree)], ["docs/guide"])

    def test_an_exception_is_heeded(self):
        tree = clean_tree()
        tree["src/damper/base/check.cc"] = "#include <cstdio>\n"
        tree["src/damper/base/check_test.cc"] = "int x;\n"
        self.assertEqual(breaches_in(tree), [])

    def test_the_program_says_so_and_fails(self):
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, "x.md"), "w", encoding="utf-8") as file:
                file.write("a \n")
            run = subprocess.run([sys.executable, TIDY, root], capture_output=True, text=True,
                                 check=False)
            self.assertEqual((run.returncode, run.stdout), (
                1, "x.md:1: trailing white space: remove it\ntidy: 1 to fix\n"))


if __name__ == "__main__":
    unittest.main()
