"""Faults of a running dispatcher: see faults.cc. FAULTS_LIBRARY is the compiled one."""

import os
import struct

from dispatcher_process import Dispatcher


class FaultyDispatcher(Dispatcher):
    """A Dispatcher whose wall clock jumps and whose disk is full when the test says so."""

    def __init__(self, config=""):
        super().__init__(config)
        self.faults = self.directory / "faults"
        self.shift, self.is_full = 0.0, False
        self.set()

    def set(self, shift=None, full=None):
        """`shift`: of the wall clock, in seconds."""
        self.shift = self.shift if shift is None else shift
        self.is_full = self.is_full if full is None else full
        content = struct.pack("=qq", int(self.shift * 1e9), int(self.is_full))
        if self.faults.exists():
            with open(self.faults, "r+b") as file:  # In place: it is mapped.
                file.write(content)
        else:
            self.faults.write_bytes(content)

    async def start(self, under=()):
        await super().start(("env", f"LD_PRELOAD={os.environ['FAULTS_LIBRARY']}",
                             f"DAMPER_FAULTS={self.faults}", *under))
