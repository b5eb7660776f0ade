"""libclang, by ctypes: the few functions that tools/mutants needs."""

import ctypes
import re
import subprocess
import sys


class Cursor(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("xdata", ctypes.c_int), ("data", ctypes.c_void_p * 3)]


class Location(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p * 2), ("offset", ctypes.c_uint)]


class Range(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p * 2), ("begin", ctypes.c_uint), ("end", ctypes.c_uint)]


class Type(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("data", ctypes.c_void_p * 2)]


class String(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("flags", ctypes.c_uint)]


VISITOR = ctypes.CFUNCTYPE(ctypes.c_int, Cursor, Cursor, ctypes.c_void_p)


class Clang:
    """Parses a file; hands out its cursors as Node."""

    def __init__(self):
        names = ["/usr/lib/llvm-16/lib/libclang.so.1", "libclang-16.so.1", "libclang.so.1"]
        for name in names:
            try:
                self.lib = ctypes.CDLL(name)
                break
            except OSError:
                continue
        else:
            sys.exit("tools/mutants: libclang 16 is not installed: run `tools/setup mutants`")
        uint, ptr = ctypes.c_uint, ctypes.c_void_p
        for name, result, arguments in (
                ("clang_createIndex", ptr, [ctypes.c_int, ctypes.c_int]),
                ("clang_parseTranslationUnit", ptr,
                 [ptr, ctypes.c_char_p, ptr, ctypes.c_int, ptr, uint, uint]),
                ("clang_disposeTranslationUnit", None, [ptr]),
                ("clang_getTranslationUnitCursor", Cursor, [ptr]),
                ("clang_visitChildren", uint, [Cursor, VISITOR, ptr]),
                ("clang_getCursorLocation", Location, [Cursor]),
                ("clang_getCursorExtent", Range, [Cursor]),
                ("clang_getRangeStart", Location, [Range]),
                ("clang_getRangeEnd", Location, [Range]),
                ("clang_Location_isFromMainFile", ctypes.c_int, [Location]),
                ("clang_getFileLocation", None, [Location, ptr, ptr, ptr, ptr]),
                ("clang_getCursorType", Type, [Cursor]),
                ("clang_getCanonicalType", Type, [Type]),
                ("clang_getTypeSpelling", String, [Type]),
                ("clang_getCString", ctypes.c_char_p, [String]),
                ("clang_disposeString", None, [String]),
                ("clang_Cursor_getNumArguments", ctypes.c_int, [Cursor]),
                ("clang_Cursor_getArgument", Cursor, [Cursor, uint]),
                ("clang_getNumDiagnostics", uint, [ptr]),
                ("clang_getDiagnostic", ptr, [ptr, uint]),
                ("clang_getDiagnosticSeverity", ctypes.c_int, [ptr]),
                ("clang_formatDiagnostic", String, [ptr, uint])):
            function = getattr(self.lib, name)
            function.restype, function.argtypes = result, arguments
        self.index = self.lib.clang_createIndex(0, 0)
        self.resources = subprocess.run(["clang++-16", "-print-resource-dir"], capture_output=True,
                                        text=True, check=True).stdout.strip()

    def parse(self, path, include):
        flags = ["-std=c++20", "-xc++", "-w", f"-I{include}", f"-resource-dir={self.resources}"]
        array = (ctypes.c_char_p * len(flags))(*[flag.encode() for flag in flags])
        unit = self.lib.clang_parseTranslationUnit(self.index, path.encode(), array, len(flags),
                                                   None, 0, 0)
        if not unit:
            sys.exit(f"tools/mutants: libclang cannot parse {path}")
        for i in range(self.lib.clang_getNumDiagnostics(unit)):
            diagnostic = self.lib.clang_getDiagnostic(unit, i)
            if self.lib.clang_getDiagnosticSeverity(diagnostic) >= 3:
                text = self.string(self.lib.clang_formatDiagnostic(diagnostic, 1))
                sys.exit(f"tools/mutants: libclang cannot parse {path}: {text}")
        return unit, Node(self, self.lib.clang_getTranslationUnitCursor(unit))

    def string(self, value):
        text = (self.lib.clang_getCString(value) or b"").decode()
        self.lib.clang_disposeString(value)
        return text

    def offset(self, location):
        offset = ctypes.c_uint()
        self.lib.clang_getFileLocation(location, None, None, None, ctypes.byref(offset))
        return offset.value


class Node:
    """One cursor of libclang: its kind, its range in the file, its children."""

    def __init__(self, clang, cursor):
        self.clang, self.cursor, self.kind = clang, cursor, cursor.kind
        extent = clang.lib.clang_getCursorExtent(cursor)
        self.start = clang.offset(clang.lib.clang_getRangeStart(extent))
        self.end = clang.offset(clang.lib.clang_getRangeEnd(extent))

    def children(self, in_main=False):
        found = []
        lib = self.clang.lib

        def visit(cursor, _parent, _data):
            # A Cursor is only valid in its own memory: the argument is copied.
            location = lib.clang_getCursorLocation(cursor)
            if not in_main or lib.clang_Location_isFromMainFile(location):
                found.append(Cursor.from_buffer_copy(cursor))
            return 1
        lib.clang_visitChildren(self.cursor, VISITOR(visit), None)
        return [Node(self.clang, cursor) for cursor in found]

    def location(self):
        return self.clang.offset(self.clang.lib.clang_getCursorLocation(self.cursor))

    def type(self):
        lib = self.clang.lib
        canonical = lib.clang_getCanonicalType(lib.clang_getCursorType(self.cursor))
        text = self.clang.string(lib.clang_getTypeSpelling(canonical))
        return re.sub(r"^const |\s*&+$", "", text)

    def arguments(self):
        lib = self.clang.lib
        count = lib.clang_Cursor_getNumArguments(self.cursor)
        return [Node(self.clang, lib.clang_Cursor_getArgument(self.cursor, i))
                for i in range(max(count, 0))]
