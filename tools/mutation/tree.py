"""The copy of the tree that has all mutants, and its build."""

import os
import re
import subprocess
import sys
import time

from mutation.files import (MIRRORED, OUT, REJECTED, ROOT, TREE, files_of, load_json, read,
                            save_json, write_if_new)
from mutation.schemata import SWITCH, render
from mutation.sites import sites_of_all


def is_left_out(mutant, text):
    """Changes that are in the tree and are not run, since no test can see them."""
    after = text[mutant.start:mutant.start + 80]
    return bool(
        # A nanosecond more than no time: a value that no option can have.
        re.search(r"Duration[({]$", text[:mutant.start][-9:])
        # Another thread came between, or not.
        or re.match(r"!?[\w.>\[\]-]+?\.compare_exchange_", after)
        and not mutant.what.startswith("drop `")
        # Symmetric: std::clamp(value, low, high) is min(max(value, low), high).
        or re.fullmatch(r"swap .* of (clamp|exact_product|__builtin_(add|mul)_overflow)",
                        mutant.what))


class Core:
    """All mutants, the instrumented tree and its test programs."""

    def __init__(self, modules):
        self.texts, self.places, self.module = {}, {}, {}
        for module in modules:
            for path in files_of(module):
                self.module[path] = module
                self.texts[path] = read(os.path.join(ROOT, "src", "damper", path))
        self.sites = sites_of_all(self.texts)
        self.rejected = load_json(REJECTED)
        self.reject()

    def reject(self):
        """Leaves out the mutants that do not compile, as long as their file is the same."""
        for path, sites in self.sites.items():
            for site in sites:
                site.mutants = [m for m in site.mutants if m.key() not in self.rejected]

    def mutants(self, path):
        return [mutant for site in self.sites[path] for mutant in site.mutants
                if not is_left_out(mutant, self.texts[path])]

    def mirror(self):
        """Copies what changed to the tree; the files with mutants are written instrumented."""
        kept = set()
        for name in MIRRORED:
            top = os.path.join(ROOT, name)
            walk = os.walk(top) if os.path.isdir(top) else [(ROOT, [], [name])]
            for folder, _, names in walk:
                for leaf in names:
                    source = os.path.join(folder, leaf)
                    path = os.path.relpath(source, ROOT)
                    kept.add(path)
                    if path.removeprefix("src/damper/") in self.sites and path.startswith("src/"):
                        continue
                    target = os.path.join(TREE, path)
                    with open(source, "rb") as file:
                        data = file.read()
                    if os.path.exists(target):
                        with open(target, "rb") as file:
                            if file.read() == data:
                                continue
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    with open(target, "wb") as file:
                        file.write(data)
                    os.chmod(target, os.stat(source).st_mode)
        for folder, _, names in os.walk(TREE):
            for leaf in names:
                path = os.path.relpath(os.path.join(folder, leaf), TREE)
                if path not in kept and path != "src/damper_mutants.h":
                    os.remove(os.path.join(TREE, path))
        write_if_new(os.path.join(TREE, "src", "damper_mutants.h"), SWITCH)
        self.write()

    def write(self):
        for path, sites in self.sites.items():
            text, self.places[path] = render(self.texts[path], sites)
            prefix = '#include "damper_mutants.h"\n'
            self.places[path] = [(a + len(prefix), b + len(prefix), site)
                                 for a, b, site in self.places[path]]
            write_if_new(os.path.join(TREE, "src", "damper", path), prefix + text)

    def build(self, programs, jobs):
        if not os.path.exists(os.path.join(OUT, "build.ninja")):
            subprocess.run(["cmake", "-S", TREE, "-B", OUT, "-G", "Ninja", "-DDAMPER_GROUPS=ON",
                            "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS=-w",
                            "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g0", "-DDAMPER_TEST_OPTIONS=-O0"],
                           check=True, stdout=subprocess.DEVNULL)
        for program in programs:
            self.build_one(program, jobs)
        subprocess.run(["ninja", "-C", OUT, f"-j{jobs}", *programs], check=True,
                       stdout=subprocess.DEVNULL)

    def build_one(self, program, jobs):
        """Until all that is left compiles."""
        start = time.monotonic()
        for turn in range(20):
            run = subprocess.run(["ninja", "-C", OUT, f"-j{jobs}", "-k0", program],
                                 capture_output=True, text=True, check=False)
            if run.returncode == 0:
                print(f"  {program}: built in {time.monotonic() - start:.0f} s", flush=True)
                return
            found = self.reject_errors(run.stdout)
            if not found:
                sys.exit("tools/mutants: the build failed:\n" + run.stdout[-6000:])
            print(f"  {program}, build {turn + 1}: {found} mutants do not compile", flush=True)
            save_json(REJECTED, self.rejected)
            self.reject()
            self.write()
        sys.exit("tools/mutants: the build does not end")

    def reject_errors(self, output):
        """Marks the mutants at the places of the compiler's errors; returns how many."""
        found = 0
        block = []  # The places of one error, and of the instantiations that led to it.
        lines = output.splitlines() + ["end: error: "]
        for line in lines:
            match = re.match(r"(\S+?):(\d+):(\d+): +(error|required|note|  required)", line) or \
                re.match(r"(\S+?):(\d+):(\d+): +(\w+)", line)
            if ": error: " in line or line.startswith("end:"):
                context = [place for place in block if place[3] != "error"]
                errors = [place for place in block if place[3] == "error"]
                for place in errors + context[::-1]:
                    hit = self.reject_at(*place[:3])
                    if hit:
                        found += hit
                        break
                # The context of the next error is printed before it.
                block = [place for place in block if place[4] == "pending"]
            if match:
                block.append((match[1], int(match[2]), int(match[3]), match[4], ""))
        return found

    def reject_at(self, file, line, column):
        mark = os.path.join(TREE, "src", "damper") + os.sep
        file = os.path.normpath(os.path.join(OUT, file))
        path = file.removeprefix(mark)
        if path not in self.places:
            return 0
        text = read(file)
        offset = -1
        for _ in range(line - 1):
            offset = text.index("\n", offset + 1)
        offset += column  # In bytes; the sources are nearly all ASCII.
        inside = [place for place in self.places[path] if place[0] <= offset < place[1]
                  and place[2].mutants]
        if not inside:
            return 0
        _, _, site = min(inside, key=lambda place: place[1] - place[0])
        fresh = [m for m in site.mutants if m.key() not in self.rejected]
        for mutant in fresh:
            self.rejected[mutant.key()] = 1
        return len(fresh)
