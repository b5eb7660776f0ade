#!/usr/bin/env python3
"""Plants a breach of each rule of tools/docs_check in a small tree and expects it to be named."""

import importlib.machinery
import importlib.util
import os
import stat
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def load_docs_check():
    sys.dont_write_bytecode = True
    path = os.path.join(HERE, "docs_check")
    loader = importlib.machinery.SourceFileLoader("docs_check", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("docs_check", loader))
    loader.exec_module(module)
    return module


docs_check = load_docs_check()

EXAMPLE = "int main() {\n  // [body]\n  int a = 1;\n  if (a) return 0;\n  // [/body]\n}\n"
SNIPPET = "<!-- examples/a.cc: body -->\n\n```cpp\nint a = 1;\nif (a) return 0;\n```\n"
TEST = "TEST(Backoff, TrapJ1_ItIsSo) {}\n"
ROW = "| id | trap | ours | test |\n|---|---|---|---|\n| J1 | a | b | `Backoff.TrapJ1_ItIsSo` |\n"
VERDICTS = 'kVerdictNames = {\n    "none", "success", "shed"};\n'
# Stands for `damper check [--quiet] -`: refuses what says bad; without --quiet it finds something.
# Of `damper webhooks serve`: refuses what does not say webhook.
DAMPER = ("#!/bin/sh\nif [ $1 = webhooks ]; then grep -q webhook; exit; fi\n"
          "if grep -q bad; then echo 'it is bad' >&2; exit 2; fi\n"
          "if [ $2 = - ]; then echo 'it is risky'; exit 1; fi\n")
GOOD = {
    "README.md": "# Title\n\n[a](docs/traps.md) [b](#title) [c](https://example.org/)\n" + SNIPPET,
    "examples/a.cc": EXAMPLE,
    "examples/a.out": "42\n",
    "docs/output.md": "<!-- examples/a.out -->\n```text\n42\n```\n",
    "docs/yaml.md": "```yaml\ngood: 1\n```\n\n<!-- refused -->\n```yaml\nbad: 1\n```\n\n"
                    "```text\nit is bad\n```\n"
                    "<!-- checked -->\n```yaml\ngood: 2\n```\n\n```text\nit is risky\n```\n"
                    "<!-- webhooks -->\n```yaml\nwebhook: bad\n```\n",
    "docs/traps.md": ROW,
    "src/damper/a_test.cc": TEST,
    "src/damper/base/verdict.h": VERDICTS,
    "docs/guide/getting-started.md": "`success`, `shed`\n",
    "docs/guide/metrics.md": "| `damper_calls_total` | calls |\n",
    "src/damper/observe/m.cc": 'counter("damper_calls_total");\n',
    "docs/guide/policy-reference.md": "the table\n",
}


class DocsCheck(unittest.TestCase):
    def breaches(self, **changed):
        """The sentences about the good tree with the files changed; None removes one."""
        files = {**GOOD, **{name.replace("__", "/"): text for name, text in changed.items()}}
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                if text is None:
                    continue
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            programs = {"damper": DAMPER, "reference": "#!/bin/sh\necho the table\n"}
            for name, text in programs.items():
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(os.path.join(root, name), stat.S_IRWXU)
            found = docs_check.breaches(root, os.path.join(root, "damper"),
                                        {"policy-reference.md": os.path.join(root, "reference")})
        return "\n".join(f"{path}:{line}: {sentence}" for path, line, sentence in found)

    def expect(self, sentence, files):
        said = self.breaches(**{name.replace("/", "__"): text for name, text in files.items()})
        self.assertIn(sentence, said)

    def test_a_good_tree_has_no_breach(self):
        self.assertEqual(self.breaches(), "")

    def test_a_snippet_is_its_region(self):
        self.expect("README.md:6: differs from examples/a.cc: body",
                    {"README.md": "# Title\n\na\n" + SNIPPET.replace("a = 1", "a = 2")})
        self.expect("there is no examples/a.cc: tail",
                    {"README.md": SNIPPET.replace("body", "tail")})
        self.expect("there is no examples/b.cc: body",
                    {"README.md": SNIPPET.replace("a.cc", "b.cc")})
        self.expect("C++ that nothing compiles", {"README.md": "```cpp\nint a;\n```\n"})

    def test_shown_output_is_the_output(self):
        self.expect("docs/output.md:2: differs from examples/a.out", {"examples/a.out": "43\n"})

    def test_yaml_loads_or_is_refused_as_it_says(self):
        self.expect("does not load: it is bad", {"docs/yaml.md": "```yaml\nbad: 1\n```\n"})
        self.expect("does not load", {"docs/yaml.md": "<!-- webhooks -->\n```yaml\na: 1\n```\n"})
        self.expect("loads although", {"docs/yaml.md": "<!-- refused -->\n```yaml\na: 1\n```\n"})
        self.expect("should be the error: it is bad", {
            "docs/yaml.md": "<!-- refused -->\n```yaml\nbad: 1\n```\n```text\nit is good\n```\n"})

    def test_what_is_found_in_yaml_is_what_is_shown(self):
        self.expect("should be the findings: it is risky", {
            "docs/yaml.md": "<!-- checked -->\n```yaml\na: 1\n```\n```text\nit is fine\n```\n"})

    def test_links_lead_somewhere(self):
        self.expect("README.md:1: the link target docs/b.md does not exist",
                    {"README.md": "[a](docs/b.md)\n"})
        self.expect("docs/traps.md has no heading #none",
                    {"README.md": "[a](docs/traps.md#none)\n"})
        self.expect("the link target x.svg does not exist", {"README.md": '<img src="x.svg">\n'})

    def test_the_map_stays_short(self):
        self.expect("ARCHITECTURE.md:222: 222 lines", {"ARCHITECTURE.md": "a\n" * 222})

    def test_no_number_is_left_to_be_measured(self):
        self.expect("a number is missing", {"README.md": "It takes MEASURE(x) ns.\n"})

    def test_traps_name_tests_that_exist(self):
        self.expect("there is no test Backoff.TrapJ1_Gone",
                    {"docs/traps.md": ROW.replace("ItIsSo", "Gone")})
        self.expect("trap J1 names no test", {"docs/traps.md": "| J1 | a | b | c |\n"})
        self.expect("Backoff.TrapJ1_ItIsSo has no row", {"docs/traps.md": "None.\n"})

    def test_names_of_the_code_are_explained(self):
        self.expect("`shed` of src/damper/base/verdict.h is not explained",
                    {"docs/guide/getting-started.md": "`success`\n"})
        self.expect("has no array kVerdictNames", {"src/damper/base/verdict.h": "enum {};\n"})

    def test_metrics_are_those_of_the_code(self):
        self.expect("damper_calls_total is not in", {"src/damper/observe/m.cc": "\n"})
        self.expect("damper_calls_total is exposed", {"docs/guide/metrics.md": "None.\n"})
        for source in ("proxy/data/a.h", "proxy/admin/a.cc", "queue/work_queue/a.cc"):
            self.expect("damper_new_total is exposed",
                        {f"src/damper/{source}": 'counter("damper_new_total");\n'})

    def test_the_reference_is_what_the_schema_says(self):
        self.expect("differs from the schema", {"docs/guide/policy-reference.md": "a\n"})


if __name__ == "__main__":
    unittest.main()
