"""The places of a C++ file that tools/mutants changes, from libclang's tree."""

import hashlib
import os
import re

from mutation.clang import Clang
from mutation.files import BUILD, ROOT, load_json, read, save_json
from mutation.schemata import (Mutant, Site, number_sites, wrap_choice, wrap_condition,
                               wrap_expression_statement, wrap_jump)

LONGEST = 1500  # Characters of an expression that is written twice.

# Kinds of cursors (clang-c/Index.h).
# Function, method, constructor, destructor, conversion, template.
FUNCTIONS = {8, 21, 24, 25, 26, 30}
VAR, STATIC_ASSERT, LAMBDA, CONDITIONAL = 9, 602, 144, 116
CALL, INTEGER, FLOATING, PAREN, UNARY, BINARY, BOOL = 103, 106, 107, 111, 112, 114, 130
REFERENCES = {101, 102}  # DeclRefExpr, MemberRefExpr.
CASTS = {117, 124, 125, 126, 127, 128}
SIZEOF, BLOCK, CASE, IF, WHILE, DO, FOR, FOR_RANGE = 136, 202, 203, 205, 207, 208, 209, 225
DEFAULT, SWITCH_STMT, CONTINUE, BREAK, RETURN = 204, 206, 212, 213, 214

SWAPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
           "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "<<": ">>", ">>": "<<",
           "&": "|", "|": "&", "^": "&",
           "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|=", "^=": "&=",
           "<<=": ">>=", ">>=": "<<=", "%=": "*="}
OPERATORS = set(SWAPPED) | {"&&", "||", "=", "<=>"}


def is_expression(node):
    return 100 <= node.kind < 200


def blanked(text):
    """The text with comments, strings and characters replaced by spaces of the same length."""
    pattern = (r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|'
               r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'")
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)


def closing(text, start):
    """The offset of the parenthesis that closes the one at `start`."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text)


class Finder:
    """The sites of one file, from libclang's tree."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.plain = blanked(text)
        self.sites = []
        self.macros = [(m.start(), closing(self.plain, m.end() - 1) + 1)
                       for m in re.finditer(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\s*\(", self.plain)]
        self.macros += [(m.start(), m.end()) for m in re.finditer(r"^[ \t]*#(?:[^\n]|\\\n)*",
                                                                  self.plain, re.M)]

    def of(self, node):
        return self.text[node.start:node.end]

    def add(self, start, end, wrap, changes):
        """`changes`: pairs of a description and the changed text."""
        if start >= end or any(a < end and start < b and not (start < a and b < end)
                               for a, b in self.macros):
            return
        if wrap is wrap_choice and end - start > LONGEST:
            return
        mutants = []
        for what, alone in changes:
            mutant = Mutant(self.path, self.text, start, what)
            mutant.alone = alone
            mutants.append(mutant)
        self.sites.append(Site(start, end, wrap, mutants))

    # -- declarations

    def declarations(self, node, in_main=True):
        for child in node.children(in_main):
            if child.kind in FUNCTIONS:
                self.function(child)
            elif child.kind in (2, 3, 4, 22, 23, 31, 32):  # Classes, namespaces, extern "C".
                self.declarations(child)

    def function(self, node):
        head = self.plain[node.start:node.end]
        if re.search(r"=\s*(default|delete)\s*;?\s*$", head) or head.startswith("consteval"):
            return
        at = node.location()
        for child in node.children():
            if child.kind == BLOCK:
                self.statement(child)
            elif is_expression(child) and child.start > at and node.kind in (24, 30):
                # An initialiser of a member; not a default argument, noexcept or requires.
                before = self.plain[at:child.start]
                if re.search(r"\)\s*(noexcept(\([^)]*\))?)?\s*:[^:]", before):
                    self.expression(child)

    # -- statements

    def statement(self, node):
        kind = node.kind
        if kind == STATIC_ASSERT:
            return
        if is_expression(node):
            self.dropped(node)
            self.expression(node)
            return
        if kind in (CONTINUE, BREAK) or (kind == RETURN and not node.children()):
            end = self.plain.find(";", node.end - 1) + 1
            word = self.plain[node.start:node.start + 8].split(";")[0].strip()
            if word in ("continue", "break", "return"):
                self.add(node.start, end, wrap_jump, [(f"drop `{word}`", "")])
            return
        children = node.children()
        if kind == RETURN:
            self.returned(children[-1])
            self.expression(children[-1])
        elif kind in (IF, WHILE):
            self.branch(node, children)
        elif kind == FOR or kind == FOR_RANGE:
            for child in children[:-1]:
                if child.kind == UNARY:
                    continue  # ++i: the other direction never ends.
                if is_expression(child):
                    self.expression(child)
                elif child.kind not in (VAR,):
                    self.statement(child)
                else:
                    self.variable(child)
            self.statement(children[-1])
        elif kind == DO:
            self.statement(children[0])
            self.expression(children[-1])
        elif kind == CASE:
            self.statement(children[-1])
        elif kind == SWITCH_STMT:
            for child in children:
                if is_expression(child):
                    self.expression(child)
                else:
                    self.statement(child)
        elif kind == VAR:
            self.variable(node)
        elif kind == 1:  # A structured binding.
            for child in children:
                self.expression(child)
        elif kind < 100:  # A class, a type, a using declaration.
            return
        else:  # Blocks, declarations, default, try, labels, attributes.
            for child in children:
                self.statement(child)

    def variable(self, node):
        if re.search(r"\b(constexpr|constinit)\b", self.plain[node.start:node.location()]):
            return
        at = node.location()
        for child in node.children():
            if is_expression(child) and child.start > at:
                self.expression(child)

    def branch(self, node, children):
        opening = self.plain.find("(", node.start)
        close = closing(self.plain, opening)
        constant = "constexpr" in self.plain[node.start:opening]
        inner = self.plain[opening + 1:close]
        semicolon = inner.rfind(";")
        begin = opening + 1 + semicolon + 1
        for child in children:
            if child.start >= close:
                self.statement(child)
            elif constant:
                continue
            elif child.kind == VAR:
                self.variable(child)
            elif not is_expression(child):
                self.statement(child)
            elif child.start >= begin and self.plain[begin:close].strip() == \
                    self.plain[child.start:child.end].strip():
                self.condition(child, node.kind == WHILE)
                self.expression(child, covered=True)
            else:
                self.expression(child)

    def condition(self, node, loop=False):
        changes = [] if loop else [("condition always true", "true")]
        if self.of(node).strip() in ("true", "false"):
            return
        changes.append(("condition always false", "false"))
        self.add(node.start, node.end, wrap_condition, changes)

    def dropped(self, node):
        text = self.of(node)
        plain = text.strip()
        if plain.startswith(("static_cast<void>", "(void)", "co_", "throw", "::damper_")):
            return
        brief = re.sub(r"\s+", " ", plain)
        brief = brief if len(brief) <= 60 else brief[:57] + "..."
        self.add(node.start, node.end, wrap_expression_statement, [(f"drop `{brief}`", "")])

    def returned(self, node):
        text = self.of(node)
        if not is_expression(node) or node.kind in (BOOL, BINARY, PAREN) or node.type() != "bool":
            return
        if re.search(r"&&|\|\||[<>=!]=", self.plain[node.start:node.end]) or text.startswith("!"):
            return
        self.add(node.start, node.end, wrap_choice, [("negate the result", f"!({text})")])

    # -- expressions

    def expression(self, node, covered=False):
        kind = node.kind
        if kind == LAMBDA:
            for child in node.children():
                if child.kind == BLOCK:
                    self.statement(child)
            return
        if kind in (SIZEOF, STATIC_ASSERT) or kind == 153:  # 153: a requires expression.
            return
        if not is_expression(node):
            return
        if kind in (INTEGER, FLOATING, BOOL) or self.is_duration(node):
            self.literal(node)
            return
        children = node.children()
        expressions = [child for child in children if is_expression(child)]
        if kind in REFERENCES:  # Not the arguments of its template.
            for child in expressions:
                if child.start == node.start and child.kind not in (INTEGER, BOOL):
                    self.expression(child)
            return
        if kind in CASTS:
            if expressions:
                self.expression(expressions[-1])
            return
        operator = self.operator(node, expressions)
        if operator in ("&&", "||"):
            for side in (expressions[0], expressions[-1]):
                self.operand(side, operator)
                self.expression(side, covered=True)
            return
        if operator:
            self.binary(node, expressions, operator)
            self.expression(expressions[0])
            self.expression(expressions[-1])
            return
        if kind == UNARY:
            self.unary(node, expressions, covered)
        elif kind == CONDITIONAL and len(expressions) == 3:
            self.condition(expressions[0])
            self.expression(expressions[0], covered=True)
            self.expression(expressions[1])
            self.expression(expressions[2])
            return
        elif kind == CALL:
            self.call(node)
        for child in expressions:
            wraps = len(expressions) == 1 and child.start == node.start and child.end == node.end
            self.expression(child, covered and wraps)

    def is_duration(self, node):
        return bool(re.fullmatch(r"\d[\d']*(ns|us|ms|s|min|h)", self.of(node)))

    def literal(self, node):
        text = self.of(node)
        if text in ("true", "false"):
            other = "false" if text == "true" else "true"
        elif re.fullmatch(r"0[xX][0-9a-fA-F']{8,}[uUlLzZ]*", text):
            return
        elif re.fullmatch(r"0[.]?0*[fF]?", text) and "." in text:
            other = "1.0"
        elif match := re.fullmatch(r"(\d[\d']*)([a-zA-Z]*)", text):
            other = f"{int(match[1].replace(chr(39), ''), 10) + 1}{match[2]}" \
                if match[1] == "0" or not match[1].startswith("0") else ""
        elif re.fullmatch(r"0[xX][0-9a-fA-F']+[uUlLzZ]*|[\d.']+([eE][-+]?\d+)?[fFlL]?", text):
            other = f"{text} + 1"
        else:
            return
        if other:
            self.add(node.start, node.end, wrap_choice, [(f"{text} to {other}", other)])

    def operator(self, node, expressions):
        """The operator between the first and the last child, if there is one."""
        if len(expressions) < 2:
            return ""
        first, last = expressions[0], expressions[-1]
        if first.start != node.start or last.end != node.end or first.end > last.start:
            return ""
        between = self.plain[first.end:last.start].strip()
        return between if between in OPERATORS else ""

    def operand(self, node, operator):
        inside = [child for child in node.children() if is_expression(child)]
        if self.operator(node, inside) == operator:
            return  # Its own operands are enough.
        brief = re.sub(r"\s+", " ", self.of(node))
        brief = brief if len(brief) <= 60 else brief[:57] + "..."
        self.add(node.start, node.end, wrap_condition,
                 [(f"ignore `{brief}` of {operator}", "true" if operator == "&&" else "false")])

    def binary(self, node, expressions, operator):
        if operator in SWAPPED:
            other = SWAPPED[operator]
            first, last = expressions[0], expressions[-1]
            alone = f"{self.of(first)} {other} {self.of(last)}"
            self.add(node.start, node.end, wrap_choice, [(f"{operator} to {other}", alone)])

    def unary(self, node, expressions, covered):
        text, operand = self.of(node), self.of(expressions[0]) if expressions else ""
        if not operand:
            return
        if text.startswith("!") and not covered:
            self.add(node.start, node.end, wrap_choice,
                     [(f"drop the ! of `{operand[:50]}`", f"static_cast<bool>({operand})")])
        elif text.startswith(("++", "--")):
            other = "--" if text.startswith("++") else "++"
            self.add(node.start, node.end, wrap_choice,
                     [(f"{text[:2]} to {other}", f"{other}{operand}")])
        elif text.endswith(("++", "--")):
            other = "--" if text.endswith("++") else "++"
            self.add(node.start, node.end, wrap_choice,
                     [(f"{text[-2:]} to {other}", f"{operand}{other}")])
        elif text.startswith("-") and expressions[0].kind not in (INTEGER, FLOATING):
            self.add(node.start, node.end, wrap_choice, [(f"drop the - of `{operand}`", operand)])

    def call(self, node):
        text = self.of(node)
        match = re.match(r"(std::)(min|max)\b", text)
        if match:
            other = "max" if match[2] == "min" else "min"
            self.add(node.start, node.end, wrap_choice,
                     [(f"std::{match[2]} to std::{other}", f"std::{other}{text[match.end():]}")])
            return
        arguments = node.arguments()
        if len(arguments) < 2 or arguments[0].start <= node.start:
            return
        callee = self.plain[node.start:arguments[0].start].rstrip().rstrip("({")
        name = re.split(r"[.:>\s]", callee)[-1]
        if not re.fullmatch(r"\w+(<[^()]*)?", name) or \
                re.match(r"swap|store|load|fetch_|compare_exchange|exchange|equal", name):
            return
        for a, b in zip(arguments, arguments[1:]):
            between = self.plain[a.end:b.start].strip()
            first, second = self.of(a), self.of(b)
            kind = a.type()
            if between != "," or first == second or kind != b.type() or "dependent" in kind:
                continue
            if {first, second} <= {"true", "false"} or kind.startswith("std::memory_order"):
                continue
            alone = (self.text[node.start:a.start] + second + self.text[a.end:b.start] + first +
                     self.text[b.end:node.end])
            self.add(node.start, node.end, wrap_choice,
                     [(f"swap `{first[:30]}` and `{second[:30]}` of {name}", alone)])
            return


def find_sites(clang, path, text):
    """The sites of src/damper/`path`, which libclang parses: about a second."""
    unit, root = clang.parse(os.path.join(ROOT, "src", "damper", path), os.path.join(ROOT, "src"))
    finder = Finder(path, text)
    finder.declarations(root)
    clang.lib.clang_disposeTranslationUnit(unit)
    return finder.sites


def sites_of_all(texts):
    """The sites of each file, numbered; those of unchanged files are read from build/mutants."""
    cache = os.path.join(BUILD, "sites.json")
    known, clang, tool = load_json(cache), None, read(os.path.abspath(__file__))
    sites, fresh = {}, {}
    for path, text in texts.items():
        digest = hashlib.sha256((tool + text).encode()).hexdigest()
        if known.get(path, {}).get("digest") != digest:
            clang = clang or Clang()
            found = [[site.start, site.end, site.wrap.__name__,
                      [[m.what, m.alone] for m in site.mutants]]
                     for site in find_sites(clang, path, text)]
            known[path] = {"digest": digest, "sites": found}
        fresh[path] = known[path]
        rebuilt = Finder(path, text)
        for start, end, wrap, changes in known[path]["sites"]:
            rebuilt.add(start, end, globals()[wrap], changes)
        sites[path] = number_sites(rebuilt.sites, path)
    if clang:
        save_json(cache, fresh)
    return sites
