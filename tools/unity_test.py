#!/usr/bin/env python3
"""Tests which sources tools/unity puts into one group."""

import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def load_unity():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("unity", os.path.join(HERE, "unity"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("unity", loader))
    loader.exec_module(module)
    return module


unity = load_unity()


def unnamed(text):
    return f"namespace damper {{\nnamespace {{\n{text}\n}}\n}}\n"


class Unity(unittest.TestCase):
    def groups(self, *texts, size=8):
        with tempfile.TemporaryDirectory() as root:
            paths = []
            for number, text in enumerate(texts):
                paths.append(os.path.join(root, f"{number}.cc"))
                with open(paths[-1], "w", encoding="utf-8") as file:
                    file.write(text)
            return [[int(os.path.basename(path)[:-3]) for path in group]
                    for group in unity.grouped(paths, size)]

    def test_sources_without_a_name_in_common_are_one_group(self):
        self.assertEqual(self.groups(unnamed("int a() { return 1; }"), unnamed("struct B {};"),
                                     "int c() { return x.a(); }  // B and a()\n"), [[0, 1, 2]])

    def test_a_name_of_an_unnamed_namespace_is_written_by_no_other_of_its_group(self):
        for own in ("int at(int x) { return x; }", "struct at {};", "constexpr int at = 1;",
                    "using at = int;", "enum class at { x };", "int* at();",
                    "const int at[] = {1};", "template <class T>\nT at(T x) { return x; }",
                    "constexpr Range<int> at{1, 2};"):
            self.assertEqual(self.groups(unnamed(own), unnamed("int at(long x);")), [[0], [1]], own)
            self.assertEqual(self.groups(unnamed(own), "int c() { return at(1); }\n"), [[0], [1]])

    def test_locals_members_strings_and_comments_are_no_names_of_the_file(self):
        self.assertEqual(self.groups(unnamed("void a() { int x = 1; }\nstruct B { int y; };"),
                                     unnamed("void c() { int x = 2; z.y = x; }  // a B\n"
                                             "auto t = \"a B\";")), [[0, 1]])

    def test_a_macro_and_a_using_declaration_clash_with_who_writes_the_name(self):
        self.assertEqual(self.groups("#define LIST 1\n", "int c() { return LIST; }\n"), [[0], [1]])
        self.assertEqual(self.groups("using std::chrono::seconds;\n", "int seconds = 1;\n"),
                         [[0], [1]])
        self.assertEqual(self.groups("using std::chrono::seconds;\nseconds a;\n",
                                     "using std::chrono::seconds;\nseconds b;\n"), [[0, 1]])

    def test_a_comment_keeps_a_source_alone(self):
        alone = "// Not in a group: it counts allocations.\nint b;\n"
        self.assertEqual(self.groups("int a;\n", alone, "int c;\n"), [[0, 2], [1]])

    def test_a_call_whose_overload_depends_on_the_headers_keeps_a_source_alone(self):
        self.assertEqual(self.groups("int a;\n", "auto b = find_error({.size = 1});\n",
                                     "auto c = find_error(C{});\n"), [[0, 2], [1]])

    def test_a_group_has_at_most_the_size(self):
        self.assertEqual(self.groups("int a;\n", "int b;\n", "int c;\n", size=2), [[0, 1], [2]])


if __name__ == "__main__":
    unittest.main()
