"""The files of the core, and where build/mutants keeps what it knows."""

import glob
import json
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build", "mutants")
TREE = os.path.join(BUILD, "tree")
OUT = os.path.join(BUILD, "out")
REJECTED = os.path.join(BUILD, "rejected.json")
SURVIVORS = os.path.join(ROOT, "tools", "mutants_survivors.txt")

# By module: the files, relative to src/damper, and the test programs that have to notice.
MODULES = {
    "base": (["base/*.h", "base/*.cc"], ["base_test"]),
    "decide": (["decide/*.h", "decide/*.cc"], ["decide_test"]),
    "schedule": (["schedule/*.h", "schedule/*.cc"], ["schedule_test"]),
    "admit": (["admit/*.h", "admit/*.cc"], ["admit_test"]),
    "balance": (["balance/*.h", "balance/*.cc"], ["balance_test"]),
    "engine": (["engine/*.h", "engine/*.cc", "engine/delivery/*.h", "engine/delivery/*.cc"],
               ["engine_test"]),
    "queue": (["queue/work_queue/work_queue_core.h", "queue/work_queue/key_table.h",
               "queue/work_queue/delayed_keys.h", "queue/work_queue/ready_lines.h",
               "queue/work_queue/node_list.h", "queue/limiters/*.h",
               "queue/controller/controller_core.h"], ["queue_test"]),
}
CONFORMANCE = "conformance_test"
MIRRORED = ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "CHANGELOG.md", "cmake",
            "src", "tests", "tools", "bench", "fuzz", "examples", "packaging", "docs")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write_if_new(path, text):
    if os.path.exists(path) and read(path) == text:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def files_of(module):
    found = []
    for pattern in MODULES[module][0]:
        for path in sorted(glob.glob(os.path.join(ROOT, "src", "damper", pattern))):
            if not path.endswith(("_test.cc", "_bench.cc", "_testing.h", "_testing.cc")):
                found.append(os.path.relpath(path, os.path.join(ROOT, "src", "damper")))
    return found


def results_of(module):
    return os.path.join(BUILD, f"results_{module}.json")


def states_of(module):
    return os.path.join(BUILD, f"states_{module}.json")


def load_json(path):
    return json.loads(read(path)) if os.path.exists(path) else {}


def save_json(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(value, file, indent=0, sort_keys=True)
    os.replace(path + ".new", path)
