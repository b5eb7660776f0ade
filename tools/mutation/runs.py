"""The tests: which of them reach a mutant, and whether one of these fails with it."""

import glob
import hashlib
import os
import re
import resource
import signal
import subprocess
import time

from mutation.files import BUILD, CONFORMANCE, OUT, ROOT, load_json, read, save_json

SLOW = 20.0  # Seconds: a test that takes longer is not used.


def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    os.setsid()


def run_tests(program, tests, seconds, number, reached=None):
    """Runs some tests with one mutant; returns (passed, the test that failed, the output)."""
    environment = dict(os.environ, DAMPER_MUTANT=str(number), DAMPER_MUTANTS_REACHED=reached or "")
    command = [os.path.join(OUT, "bin", program), "--gtest_filter=" + ":".join(tests),
               "--gtest_color=no", "--gtest_brief=0"]
    if number >= 0:
        command += ["--gtest_break_on_failure", "--gtest_catch_exceptions=0"]
    log = os.path.join(BUILD, f"run_{os.getpid()}.log")
    with open(log, "wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment,
                                   preexec_fn=limits, cwd=OUT)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = "hang"
    with open(log, "rb") as file:
        output = file.read(4 << 20).decode(errors="replace")
    os.remove(log)
    if code == 0:
        return True, "", output
    started = re.findall(r"^\[ RUN      \] (\S+)", output, re.M)
    killer = started[-1] if started else "at the start"
    return False, killer + (" (hang)" if code == "hang" else ""), output


class Tests:
    """The tests of a program: their source, how long they take, which mutants they reach."""

    def __init__(self, program, sources):
        self.program = program
        self.seconds, self.reach, self.source = {}, {}, {}
        self.hashes = {path: hashlib.sha256(read(path).encode()).hexdigest() for path in sources}
        for path in sources:
            for suite, name in re.findall(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)",
                                          read(path), re.M):
                self.source[suite, name] = path

    def source_of(self, test):
        parts = [part for part in test.split(" ")[0].split("/") if not part.isdigit()]
        suite, _, name = ".".join(parts).rpartition(".")
        for candidate in (suite, suite.split(".")[-1], suite.split(".")[0]):
            if (candidate, name) in self.source:
                return self.source[candidate, name]
        return ""

    def measure(self):
        """Runs each test once without a mutant; kept until the program changes."""
        program = os.path.join(OUT, "bin", self.program)
        with open(program, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        cache = os.path.join(BUILD, f"reach_{self.program}.json")
        known = load_json(cache)
        if known.get("digest") == digest:
            self.seconds = known["seconds"]
            self.reach = {test: set(numbers) for test, numbers in known["reach"].items()}
            return
        print(f"  {self.program}: which test reaches which mutant", flush=True)
        listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True,
                                check=True).stdout
        suite, names = "", []
        for line in listed.splitlines():
            line = line.split("#")[0].rstrip()
            if line.endswith(".") and not line.startswith(" "):
                suite = line
            elif line.startswith("  "):
                names.append(suite + line.strip())
        file = os.path.join(BUILD, f"reached_{os.getpid()}")
        for test in names:
            if os.path.exists(file):
                os.remove(file)
            start = time.monotonic()
            passed, _, output = run_tests(self.program, [test], SLOW, -1, file)
            took = time.monotonic() - start
            if not passed:
                if took < SLOW:
                    print(f"  {test} fails without a mutant and is not used:\n{output[-500:]}")
                else:
                    print(f"  {test} takes more than {SLOW:.0f} s and is not used")
                continue
            self.seconds[test] = took
            data = b""
            if os.path.exists(file):
                with open(file, "rb") as reached:
                    data = reached.read()
            self.reach[test] = {int.from_bytes(data[i:i + 4], "little")
                                for i in range(0, len(data), 4)}
        save_json(cache, {"digest": digest, "seconds": self.seconds,
                          "reach": {test: sorted(found) for test, found in self.reach.items()}})

    def batches(self, number, stem, first, changed, slow):
        """The tests that reach a mutant, the likely killers first, in growing groups. A test that
        takes more than `slow` seconds is used if it was the killer before."""
        first = first.removesuffix(" (hang)")
        chosen = [test for test, found in self.reach.items() if number in found
                  and (changed is None or self.source_of(test) in changed)
                  and (self.seconds[test] <= slow or test == first)]

        def order(test):
            own = os.path.basename(self.source_of(test)).startswith(stem)
            return (test != first, self.seconds[test] > 0.5, not own, self.seconds[test])
        chosen.sort(key=order)
        bounds, groups, total = [0.1, 0.5, 2.0, 8.0], [[]], 0.0
        for test in chosen:
            total += self.seconds[test]
            if groups[-1] and (len(groups) <= len(bounds) and total > bounds[len(groups) - 1]
                               or test != first and groups[-1] == [first]):
                groups.append([])
            groups[-1].append(test)
        return [group for group in groups if group]


def sources_of(module):
    if module == CONFORMANCE:
        return sorted(glob.glob(os.path.join(ROOT, "tests", "conformance", "*.cc")))
    folder = os.path.join(ROOT, "src", "damper", module)
    found = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names
             if name.endswith(("_test.cc", "_testing.h"))]
    return sorted(path for path in found if os.sep + "text" + os.sep not in path)


def try_mutant(mutant, suites, first, changed, slow=SLOW, verbose=False):
    """Returns the test that kills the mutant, or "" for a survivor. `changed`: it has survived
    all tests but those of these sources; None: all of them are run."""
    stem = os.path.splitext(os.path.basename(mutant.path))[0]
    for suite in suites:
        for group in suite.batches(mutant.number, stem, first, changed, slow):
            seconds = 4 + 8 * sum(suite.seconds[test] for test in group)
            passed, killer, output = run_tests(suite.program, group, seconds, mutant.number)
            if not passed:
                if verbose:
                    print(output[-1500:])
                return killer
    return ""
