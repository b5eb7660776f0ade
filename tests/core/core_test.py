"""Asks the compiled core whether it is pure.

tools/tidy reads the source; this reads what came out of the compiler, where no macro, template or
helper can hide a call.

  core_test.py needs PROGRAM       the shared libraries that the program needs
  core_test.py calls ARCHIVE...    the functions that the archives call
  core_test.py self COMPILER DIR   that both notice what they are there for
"""

import os
import re
import subprocess
import sys

ALLOWED_LIBRARIES = {
    "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}

# Demangled names of undefined symbols.
FORBIDDEN_CALLS = [
    ("reads a clock", r"clock_gettime|gettimeofday|_clock::now|^time$|^ftime$"),
    ("draws a random number", r"^rand(om)?(_r)?$|^[dlm]rand48|random_device|getrandom|arc4random"),
    ("locks", r"^pthread_(mutex|rwlock|spin|cond|barrier)|^sem_|condition_variable|^syscall$"),
    ("starts a thread", r"^pthread_create|std::thread::_M_start"),
    ("sleeps or waits", r"^(nano|u|)sleep$|clock_nanosleep|^(e?poll|p?select|epoll_wait)$"),
    ("does I/O", r"^(open|read|write|close|send|recv|connect|socket|fopen|fread|fwrite|printf|puts)"
                 r"(64|v|at|to|from|msg)?$|^f?(printf|puts|putc)$|^std::(basic_)?[io]f?stream|"
                 r"^std::(cout|cerr|clog)|ios_base::Init"),
]

# The one place that may print, on its way to abort().
MAY = {("check.cc", "does I/O")}


def needed(program):
    text = subprocess.run(["readelf", "-d", program], check=True, capture_output=True, text=True)
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", text.stdout))


def foreign_libraries(program):
    return sorted(needed(program) - ALLOWED_LIBRARIES)


def forbidden_calls(archive):
    """Sentences, one for each forbidden call of each object file in the archive."""
    text = subprocess.run(["nm", "--undefined-only", "--demangle", archive], check=True,
                          capture_output=True, text=True).stdout
    found = []
    member = os.path.basename(archive)
    for line in text.splitlines():
        if line.endswith(":"):
            member = line[:-1]
            continue
        name = re.sub(r"^\s*[UwvV]\s+", "", line)
        name = re.sub(r"@.*$", "", name)
        for what, pattern in FORBIDDEN_CALLS:
            source = member.removesuffix(".o")
            if re.search(pattern, name) and (source, what) not in MAY:
                found.append(f"{archive}: {source} {what}: {name}. Take it as an argument.")
    return found


def self_test(compiler, folder):
    """Compiles one offence of each kind and expects it to be named."""
    offences = {
        "reads a clock": "#include <chrono>\n"
                         "long f() { return std::chrono::steady_clock::now()"
                         ".time_since_epoch().count(); }",
        "draws a random number": "#include <random>\n"
                                 "unsigned f() { return std::random_device{}(); }",
        "locks": "#include <mutex>\nstd::mutex m; void f() { m.lock(); }",
        "starts a thread": "#include <thread>\nvoid f() { std::jthread([] {}).join(); }",
        "sleeps or waits": "#include <thread>\n"
                           "void f() { std::this_thread::sleep_for(std::chrono::seconds(1)); }",
        "does I/O": "#include <cstdio>\nvoid f(const char* x) { std::printf(\"%s!\", x); }",
    }
    source, obj = os.path.join(folder, "offence.cc"), os.path.join(folder, "offence.o")
    for what, text in offences.items():
        with open(source, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        subprocess.run([compiler, "-std=c++20", "-O1", "-c", source, "-o", obj], check=True)
        found = forbidden_calls(obj)
        assert any(what in sentence for sentence in found), f"not noticed: {what}"
    with open(source, "w", encoding="utf-8") as file:
        file.write("int f(int x) { return x + 1; }\nint main() {}\n")
    subprocess.run([compiler, "-std=c++20", "-c", source, "-o", obj], check=True)
    assert forbidden_calls(obj) == [], "an innocent function was accused"
    program = os.path.join(folder, "offence")
    subprocess.run([compiler, source, "-o", program, "-Wl,--no-as-needed", "-lresolv"], check=True)
    assert foreign_libraries(program) == ["libresolv.so.2"], "a foreign library was not noticed"


def main(arguments):
    if arguments[:1] == ["needs"]:
        foreign = foreign_libraries(arguments[1])
        problems = [f"the core needs {name}: it may need the standard library alone"
                    for name in foreign]
    elif arguments[:1] == ["calls"]:
        problems = [problem for archive in arguments[1:] for problem in forbidden_calls(archive)]
    elif arguments[:1] == ["self"]:
        self_test(*arguments[1:])
        problems = []
    else:
        sys.exit(__doc__)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
