#!/usr/bin/env python3
"""Tests how tools/mutants writes mutants into a file, and how it reads the explanations."""

import importlib.machinery
import importlib.util
import os
import sys
import unittest
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))


def load_mutants():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("mutants", os.path.join(HERE, "mutants"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", loader))
    loader.exec_module(module)
    return module


mutants = load_mutants()

# pylint: disable=wrong-import-position
from mutation import runs, schemata
from mutation import sites as finding
from mutation.schemata import wrap_choice, wrap_condition, wrap_expression_statement, wrap_jump


def sites(text, *changes):
    """`changes`: the text of a site, how it is wrapped, and its changes."""
    finder = finding.Finder("a/b.h", text)
    for part, wrap, changed in changes:
        start = text.index(part)
        finder.add(start, start + len(part), wrap, changed)
    return schemata.number_sites(finder.sites, "a/b.h")


def rendered(text, *changes):
    """The instrumented text, with M1, M2, ... for the switches."""
    found = sites(text, *changes)
    out, _ = schemata.render(text, found)
    base = zlib.crc32(b"a/b.h") % 65521 * 4096
    for site in found:
        for mutant in site.mutants:
            out = out.replace(f"::damper_mutants::on({mutant.number})", f"M{mutant.number - base}")
    return out


class Render(unittest.TestCase):
    def test_a_choice_has_both_texts(self):
        self.assertEqual(rendered("x = a < b;", ("a < b", wrap_choice,
                                                 [("< to <=", "a <= b")])),
                         "x = (M1 ? (a <= b) : (a < b));")

    def test_a_condition_is_written_once(self):
        out = rendered("if (f()) g();",
                       ("f()", wrap_condition, [("condition always true", "true"),
                                                        ("condition always false", "false")]),
                       ("g()", wrap_expression_statement, [("drop `g()`", "")]))
        self.assertEqual(out, "if (((static_cast<bool>(f()) || M1) && !M2)) "
                              "(M3 ? static_cast<void>(0) : static_cast<void>(g()));")

    def test_the_changed_text_of_an_outer_site_has_no_inner_mutants(self):
        out = rendered("x = a + 1 < b;", ("a + 1 < b", wrap_choice,
                                          [("< to <=", "a + 1 <= b")]),
                       ("1", wrap_choice, [("1 to 2", "2")]))
        self.assertEqual(out, "x = (M1 ? (a + 1 <= b) : (a + (M2 ? (2) : (1)) < b));")

    def test_a_jump_stays_one_statement(self):
        self.assertEqual(rendered("if (a) return; else b();",
                                  ("return;", wrap_jump, [("drop `return`", "")])),
                         "if (a) { if (!M1) return; } else b();")

    def test_an_argument_of_a_macro_is_left_out(self):
        text = "DAMPER_CHECK(a < b); x = a > b;"
        self.assertEqual(rendered(text, ("a < b", wrap_choice, [("< to <=", "a <= b")])),
                         text)

    def test_the_place_of_a_site_is_known_in_the_output(self):
        found = sites("x = a < b;", ("a < b", wrap_choice, [("< to <=", "a <= b")]))
        out, places = schemata.render("x = a < b;", found)
        start, end, site = places[0]
        self.assertEqual(out[:start], "x = ")
        self.assertEqual(out[end:], ";")
        self.assertIs(site, found[0])

    def test_equal_changes_of_equal_lines_have_different_keys(self):
        found = sites("f(0);\nf(1);\n", ("0", wrap_choice, [("c", "9")]))
        text = "f(0);\nf(0);\n"
        finder = finding.Finder("a/b.h", text)
        finder.add(2, 3, wrap_choice, [("0 to 1", "1")])
        finder.add(8, 9, wrap_choice, [("0 to 1", "1")])
        found = schemata.number_sites(finder.sites, "a/b.h")
        keys = [mutant.key() for site in found for mutant in site.mutants]
        self.assertEqual(len(set(keys)), 2)
        self.assertEqual([mutant.line for site in found for mutant in site.mutants], [1, 2])


class Blanked(unittest.TestCase):
    def test_comments_and_strings_keep_their_length(self):
        text = 'a("x < y"); // b\nc = 1\'000;'
        plain = finding.blanked(text)
        self.assertEqual(len(plain), len(text))
        self.assertNotIn("<", plain)
        self.assertNotIn("b", plain)
        self.assertIn("1'000", plain)


class Survivors(unittest.TestCase):
    ENTRY = "# A comment.\na/b.h: x = a < b;\n- < to <=\nNobody can\nsee it.\n"

    def survivor(self):
        return sites("  x = a < b;\n", ("a < b", wrap_choice,
                                        [("< to <=", "a <= b")]))[0].mutants[0]

    def test_an_entry_has_a_file_a_line_changes_and_a_reason(self):
        self.assertEqual(mutants.read_survivors(self.ENTRY),
                         [("a/b.h", "x = a < b;", ["< to <="], "Nobody can see it.")])

    def test_an_entry_without_a_reason_is_an_error(self):
        with self.assertRaises(ValueError):
            mutants.read_survivors("a/b.h: x = a < b;\n- < to <=\n")

    def test_an_explained_survivor_is_none(self):
        entries = mutants.read_survivors(self.ENTRY)
        found = [self.survivor()]
        self.assertEqual(mutants.explain(found, entries, found), ([], []))

    def test_a_survivor_without_an_entry_is_left(self):
        left, idle = mutants.explain([self.survivor()], [], [self.survivor()])
        self.assertEqual((len(left), idle), (1, []))

    def test_an_entry_that_matches_no_mutant_of_its_file_is_reported(self):
        entries = mutants.read_survivors(self.ENTRY)
        other = sites("y = a < c;\n", ("a < c", wrap_choice, [("< to <=", "a <= c")]))[0].mutants
        self.assertEqual(mutants.explain([], entries, []), ([], []))  # Another file's.
        self.assertEqual(mutants.explain([], entries, other),
                         ([], ["a/b.h: x = a < b;: < to <="]))

    def test_an_entry_for_a_killed_mutant_is_no_error(self):
        entries = mutants.read_survivors(self.ENTRY)
        self.assertEqual(mutants.explain([], entries, [self.survivor()]), ([], []))


class Errors(unittest.TestCase):
    def test_a_gtest_name_has_a_source(self):
        tests = runs.Tests("x_test", [])
        tests.source = {("A", "B"): "a_test.cc"}
        self.assertEqual(tests.source_of("A.B"), "a_test.cc")
        self.assertEqual(tests.source_of("Each/A.B/3"), "a_test.cc")
        self.assertEqual(tests.source_of("A/0.B"), "a_test.cc")
        self.assertEqual(tests.source_of("A.C"), "")


if __name__ == "__main__":
    unittest.main()
