"""Two processes: one asks the rules, the other watches it and ends it when a rule does not return.

The one that works writes a line of JSON for everything it finds and, between those, a pulse: what
it is doing, which rule it asked, and for how long. The one that watches passes on what was found
and knows at every moment what to tell a person who waits.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

from ..compiled import ANNOUNCER
from ..game import GameError
from .sources import line_of_frame
from .trial import NOTE, Broken, plain_text

PULSE = 0.5  # seconds
PATIENCE = 10.0  # seconds that a rule may take for one answer
LONG_WORK = 600.0  # seconds that anything else may take: kernels, a compiler
SILENCE = 60.0  # seconds without a pulse
SWITCHES = {"NUMBA_DISABLE_JIT": "0", "NUMBA_BOUNDSCHECK": "0", "NUMBA_ENABLE_CUDASIM": "0"}
STDERR_SHOWN = 1500  # characters

Message = dict[str, Any]
Progress = Callable[[str], None]


def quiet(doing: str) -> None:
    """Progress that nobody watches."""


class Stopped(Broken):
    """The process that asked the rules did not finish; the message says where it was."""


# The process that watches ------------------------------------------------------------------------


def ask(request: Message, progress: Progress, **switches: str) -> Iterator[Message]:
    """What `python -m kibitz.contract` answers, with these of numba's switches set.

    progress: called with what is being done, several times per second.
    """
    words = ["-X", "faulthandler", "-m", "kibitz.contract", json.dumps(request)]
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            [sys.executable, *words],
            env={**os.environ, **SWITCHES, **switches},
            stdin=subprocess.PIPE,  # which closes when we end, and then it ends, too
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        )
        try:
            yield from _watched(process, progress)
            if process.wait():
                complaints.seek(0)
                last = complaints.read().decode(errors="replace").strip()[-STDERR_SHOWN:]
                raise Stopped(f"the process that asked the rules ended by itself: {last}")
        finally:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()


def _watched(process: subprocess.Popen[str], progress: Progress) -> Iterator[Message]:
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
    doing, heard = "starting", time.perf_counter()
    while True:
        try:
            line = lines.get(timeout=PULSE)
        except queue.Empty:
            if time.perf_counter() - heard > SILENCE:
                raise Stopped(f"no sign of life for {SILENCE:.0f} s, after: {doing}") from None
            progress(doing)
            continue
        heard = time.perf_counter()
        if not line:
            return
        message: Message = json.loads(line)
        if "refused" in message:
            raise GameError(message["refused"])
        if "pulse" in message:
            doing = _doing(message["pulse"])
            progress(doing)
        else:
            yield message


def _read(stream: IO[str], lines: queue.Queue[str]) -> None:
    for line in stream:
        lines.put(line)
    lines.put("")


def _doing(pulse: Message) -> str:
    """What a pulse says, in words; raises `Stopped` if it says that a rule does not return."""
    call, seconds = pulse["call"], pulse["seconds"]
    if pulse["compiling"]:
        return f"compiling, {pulse['compiling']:.0f} s" + (f", for {call}" if call else "")
    line = f" It is at {pulse['line']}." if pulse["line"] else ""
    if call and seconds > PATIENCE:
        before = f" The position before it was {pulse['position']!r}" if pulse["position"] else ""
        raise Stopped(f"{call} does not return: it has run for {seconds:.0f} s.{line}{before}")
    if seconds > LONG_WORK:
        raise Stopped(f"no end after {seconds:.0f} s.{line}")
    return str(pulse["elsewhere"] or (f"asking {call}" if call else "working"))


# The process that works --------------------------------------------------------------------------


class Reporter:
    """Writes messages, and a pulse in between, until it is closed."""

    def __init__(self) -> None:
        # Rules and libraries may print; what they print is not ours and goes with the complaints.
        self.out = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        self.lock, self.closed = threading.Lock(), threading.Event()
        self.worker = threading.get_ident()
        threading.Thread(target=self._beat, daemon=True).start()
        threading.Thread(target=_end_with_the_watcher, daemon=True).start()

    def __call__(self, message: Message) -> None:
        with self.lock:
            self.out.write(json.dumps(message) + "\n")
            self.out.flush()

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed.set()

    def _beat(self) -> None:
        count, since = -1, time.perf_counter()
        while not self.closed.wait(PULSE):
            now = time.perf_counter()
            if NOTE.count != count or ANNOUNCER.depth:
                count, since = NOTE.count, now
            compiling = ANNOUNCER.seconds + now - ANNOUNCER.began if ANNOUNCER.depth else 0.0
            self({"pulse": {**_pulse(self.worker), "seconds": now - since, "compiling": compiling}})


def _pulse(worker: int) -> Message:
    call = NOTE.call()
    return {
        "call": call,
        "position": plain_text(NOTE.before()) if call else "",
        "line": line_of_frame(sys._current_frames().get(worker)),
        "elsewhere": NOTE.elsewhere,
    }


def _end_with_the_watcher() -> None:
    while os.read(0, 1):  # not through `sys.stdin`, whose lock would be held at the end
        pass
    os._exit(1)


def relay(doing: str) -> None:
    """The progress of a process that works for this one."""
    NOTE.count += 1
    NOTE.elsewhere = doing


def answer_of(request: Mapping[str, Any], **switches: str) -> Message:
    """The one answer of another process."""
    try:
        (message,) = ask(dict(request), relay, **switches)
        return message
    finally:
        NOTE.elsewhere = ""
