"""Mutants in a text: all of them are written into it, and a switch selects one at run time."""

import sys
import zlib

SWITCH = """#pragma once
// Written by tools/mutants: is mutant `id` the selected one?
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <type_traits>
#include <unistd.h>
namespace damper_mutants {
// DAMPER_MUTANT=ID selects a mutant. DAMPER_MUTANT=-1 appends the numbers of the reached ones to
// the file DAMPER_MUTANTS_REACHED, also from the children of death tests.
inline int selected() {
  const char* text = std::getenv("DAMPER_MUTANT");
  return text == nullptr ? 0 : std::atoi(text);
}
inline const int active = selected();
inline bool reached(int id) {
  static auto* const seen = static_cast<unsigned char*>(
      ::mmap(nullptr, 1u << 28, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
             -1, 0));
  static const int file = ::open(std::getenv("DAMPER_MUTANTS_REACHED"),
                                 O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (__atomic_exchange_n(&seen[id], 1, __ATOMIC_RELAXED) == 0) {
    [[maybe_unused]] const auto n = ::write(file, &id, sizeof id);
  }
  return false;
}
__attribute__((always_inline)) constexpr bool on(int id) {
  if (std::is_constant_evaluated()) return false;
  if (active < 0) [[unlikely]] return reached(id);
  return active == id;
}
}  // namespace damper_mutants
"""


class Site:
    """A range of the file with its mutants: `wrap` renders them around the range's own text."""

    def __init__(self, start, end, wrap, mutants):
        self.start, self.end, self.wrap = start, end, wrap
        self.mutants = mutants
        self.inside = []


class Mutant:
    def __init__(self, path, text, start, what):
        self.path, self.what, self.start = path, what, start
        self.number = 0  # In the whole core; Finder numbers them.
        self.line = text.count("\n", 0, start) + 1
        begin = text.rfind("\n", 0, start) + 1
        end = text.find("\n", start)
        self.text = text[begin:end if end >= 0 else len(text)].strip()
        self.nth = 0  # Among the mutants with the same text and change.
        self.alone = ""  # The expression itself, changed; for those that are written twice.

    def key(self):
        return f"{self.path}\t{self.text}\t{self.what}\t{self.nth}"

    def __str__(self):
        return f"{self.path}:{self.line}: {self.what}\n    {self.text}"


def on(mutant):
    return f"::damper_mutants::on({mutant.number})"


def wrap_choice(site, inner):
    text = f"({inner})"
    for mutant in site.mutants:
        text = f"({on(mutant)} ? ({mutant.alone}) : {text})"
    return text


def wrap_condition(site, inner):
    text = f"static_cast<bool>({inner})"
    for mutant in site.mutants:
        text = (f"({text} || {on(mutant)})" if mutant.alone == "true" else
                f"({text} && !{on(mutant)})")
    return text


def wrap_expression_statement(site, inner):
    return f"({on(site.mutants[0])} ? static_cast<void>(0) : static_cast<void>({inner}))"


def wrap_jump(site, inner):
    return f"{{ if (!{on(site.mutants[0])}) {inner} }}"


def number_sites(sites, path):
    seen, unique = set(), []
    for site in sites:  # A template's instantiations are visited once; an implicit node is double.
        mark = (site.start, site.end, site.wrap, tuple(m.what for m in site.mutants))
        if mark not in seen:
            seen.add(mark)
            unique.append(site)
    # Of equal ranges the statement is outside of the condition, and that outside of the choice.
    rank = {wrap_jump: 0, wrap_expression_statement: 0, wrap_condition: 1, wrap_choice: 2}
    unique.sort(key=lambda site: (site.start, -site.end, rank[site.wrap]))
    base = zlib.crc32(path.encode()) % 65521 * 4096
    count = 0
    nths = {}
    for site in unique:
        for mutant in site.mutants:
            count += 1
            mutant.number = base + count
            name = (mutant.text, mutant.what)
            mutant.nth = nths[name] = nths.get(name, -1) + 1
    if count > 4095:
        sys.exit(f"tools/mutants: {path} has {count} mutants; the limit is 4095")
    return unique


def render(text, sites):
    """The instrumented text, and where in it each site lies: (start, end, site)."""
    out, places = [], []
    length = 0

    def emit(piece):
        nonlocal length
        out.append(piece)
        length += len(piece)

    def walk(begin, end, index):
        at = begin
        while index < len(sites) and sites[index].start < end:
            site = sites[index]
            emit(text[at:site.start])
            before, _, after = site.wrap(site, "\0").partition("\0")
            start = length
            emit(before)
            index = walk(site.start, site.end, index + 1)
            emit(after)
            places.append((start, length, site))
            at = site.end
        emit(text[at:end])
        return index

    sites = [site for site in sites if site.mutants]
    walk(0, len(text), 0)
    return "".join(out), places
