"""Fuzz tests: odd arguments, files and arrays, and what must never come of them.

A *case* is one odd input. It is accepted or refused. A finding is anything else: a traceback, a
signal, a hang, or more than 1 GiB of memory. Cases run one after another in a worker, which is a
process of its own; the parent watches it. A case depends on its kind, the seed and its number
alone, so one command repeats it:

    python tests/support/fuzzing.py --kind commands --seed 1 --case 17

`python tests/support/fuzzing.py --report` runs as many as the tests do and prints their counts.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import os
import random
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).parent
SILENCE = 20.0  # seconds without a result that make a hang
READY = 900.0  # seconds for the first use, which compiles every game
GROWTH = 1 << 30  # bytes of memory that a case may need
ADDRESSES = 8 << 30  # bytes of addresses above that: libraries reserve more than they use
SHOWN = 2000  # characters of a finding
ENOUGH = 5  # findings of a kind, after which it stops

ACCEPTED, REFUSED = "accepted", "refused"
FOLDER = "KIBITZ_FUZZ"  # the variable that names the folder for a worker's files
MODULES = ("fuzz_tables", "fuzz_commands", "fuzz_files", "fuzz_escampe", "fuzz_code")

Case = Callable[[random.Random], str]


class Wrong(AssertionError):
    """What a case must never lead to."""


@dataclass(frozen=True)
class Kind:
    """How many cases of a kind are tried: by the tests, and by the slow tests."""

    normal: int
    long: int


KINDS = {
    "commands": Kind(200, 12_000),
    "records": Kind(150, 6_000),
    "results": Kind(75, 3_000),
    "networks": Kind(250, 6_000),
    "onnx": Kind(250, 10_000),
    "runs": Kind(60, 2_000),
    "game_files": Kind(120, 3_000),
    "data_files": Kind(80, 2_000),
    "weight_files": Kind(40, 1_000),
    "model_folders": Kind(40, 1_000),
    "referees": Kind(50, 1_000),
    "compiled_code": Kind(3, 40),
    "positions": Kind(700, 12_000),
    "actions": Kind(500, 8_000),
    "arrays": Kind(800, 12_000),
    "players": Kind(150, 3_000),
}


# The worker ---------------------------------------------------------------------------------------


def serve(modules: Iterable[str], requests: IO[str], answers: IO[str]) -> None:
    """Run the cases that are asked for, one line each, and say how each one ended."""
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    faulthandler.enable()
    cases = prepared(modules)
    limit_memory()
    print(json.dumps({"ready": memory()}), file=answers, flush=True)
    for line in requests:
        asked = json.loads(line)
        answer = one_case(cases[asked["kind"]], asked)
        print(json.dumps(answer), file=answers, flush=True)


def prepared(names: Iterable[str]) -> dict[str, Case]:
    """The cases by kind of these modules, once all that they use is compiled."""
    cases: dict[str, Case] = {}
    modules = [importlib.import_module(name) for name in names]
    for module in modules:
        module.prepare()
        cases |= module.CASES
    for module in modules:
        module.begin()
    return cases


def one_case(case: Case, asked: dict[str, Any]) -> dict[str, Any]:
    """Run one case in this process: how it ended, and what is wrong with that."""
    began, finding = time.perf_counter(), ""
    outcome = "wrong"
    forget_peak()
    before = memory()  # with what thousands of cases before it have left: compiled games, say
    try:
        outcome = case(case_rng(**asked))
    except Wrong as wrong:
        finding = str(wrong)
    except BaseException:
        finding = traceback.format_exc()
    grown = memory("VmHWM") - before
    if not finding and grown > GROWTH:
        finding = f"it needed {grown >> 20:,} MiB"
    return {
        "outcome": "wrong" if finding else outcome,
        "finding": finding[-SHOWN:],
        "seconds": time.perf_counter() - began,
    }


def case_rng(kind: str, seed: int, case: int) -> random.Random:
    return random.Random(f"{seed} {kind} {case}")


def limit_memory() -> None:
    most = memory("VmSize") + ADDRESSES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def memory(what: str = "VmRSS") -> int:
    """Bytes of this process: VmRSS now, VmHWM at most since `forget_peak`, VmSize of addresses."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{what}:"):
            return int(line.split()[1]) << 10
    raise AssertionError(f"the system does not say {what}")


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


# The parent ---------------------------------------------------------------------------------------


@dataclass
class Tally:
    """How the cases of a kind ended."""

    kind: str
    accepted: int = 0
    refused: int = 0
    seconds: float = 0.0
    findings: list[str] = field(default_factory=list)

    @property
    def cases(self) -> int:
        return self.accepted + self.refused + len(self.findings)


class Worker:
    """A process that runs cases. Another takes its place when one has ended it."""

    def __init__(self, modules: Sequence[str] = MODULES, silence: float = SILENCE) -> None:
        self.modules, self.silence = modules, silence
        self.process: subprocess.Popen[str] | None = None
        self.errors: IO[bytes] | None = None
        self.folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.folder = tempfile.TemporaryDirectory(prefix="kibitz-fuzz-")
        shell = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", FOLDER: self.folder.name}
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "fuzzing.py"), "--worker", *self.modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={**os.environ, **shell},
            text=True,
        )
        ready = self._line(READY)
        assert ready is not None, f"the worker cannot begin: {self._said()}"

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            assert self.process.stdin is not None and self.process.stdout is not None
            self.process.stdin.close()
            self.process.stdout.close()
        if self.errors is not None and self.folder is not None:
            self.errors.close()
            self.folder.cleanup()
        self.process = self.errors = self.folder = None

    def run(self, kind: str, seed: int, cases: Iterable[int]) -> Tally:
        """Run cases of a kind until all are done, or enough is found."""
        tally = Tally(kind)
        for case in cases:
            answer = self._ask(kind, seed, case)
            tally.seconds += answer["seconds"]
            if answer["outcome"] in (ACCEPTED, REFUSED):
                setattr(tally, answer["outcome"], getattr(tally, answer["outcome"]) + 1)
                continue
            again = f"python tests/support/fuzzing.py --kind {kind} --seed {seed} --case {case}"
            tally.findings.append(f"{again}\n{answer['finding']}")
            if len(tally.findings) == ENOUGH:
                break
        return tally

    def _ask(self, kind: str, seed: int, case: int) -> dict[str, Any]:
        if self.process is None:
            self.start()
        assert self.process is not None and self.process.stdin is not None
        asked = {"kind": kind, "seed": seed, "case": case}
        print(json.dumps(asked), file=self.process.stdin, flush=True)
        line = self._line(self.silence)
        if line is not None:
            answer: dict[str, Any] = json.loads(line)
            return answer
        finding = self._death()
        self.stop()
        return {"outcome": "wrong", "finding": finding, "seconds": self.silence}

    def _death(self) -> str:
        """Why there was no answer: the worker has ended, or it hangs; and where."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGUSR1)  # it says where it is
            time.sleep(0.5)
        status = self.process.poll()
        why = f"no answer for {self.silence:g} s" if status is None else f"it ended with {status}"
        return f"{why}\n{self._said()}"

    def _line(self, seconds: float) -> str | None:
        """The next line of the worker; None if it ends or is silent for so long."""
        assert self.process is not None and self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        line = self.process.stdout.readline() if ready else ""
        if not line and ready:
            self.process.wait()
        return line or None

    def _said(self) -> str:
        assert self.errors is not None
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-SHOWN:]


# By hand ------------------------------------------------------------------------------------------


def report(seed: int) -> Iterator[str]:
    """The table of counts, in Markdown, a line as soon as it is known."""
    yield "| kind | cases | accepted | refused | seconds |"
    yield "|---|---:|---:|---:|---:|"
    total = Tally("total")
    with Worker() as worker:
        worker.start()
        for kind, how_many in KINDS.items():
            tally = worker.run(kind, seed, range(how_many.normal))
            yield row(tally)
            for finding in tally.findings:
                yield f"\n{finding}\n"
            total.accepted += tally.accepted
            total.refused += tally.refused
            total.seconds += tally.seconds
            total.findings += tally.findings
    yield row(total)


def row(tally: Tally) -> str:
    counts = f"{tally.cases:,} | {tally.accepted:,} | {tally.refused:,} | {tally.seconds:.0f}"
    return f"| {tally.kind.replace('_', ' ')} | {counts} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Fuzz tests of kibitz.")
    parser.add_argument("--worker", nargs="+", metavar="MODULE", help=argparse.SUPPRESS)
    parser.add_argument("--report", action="store_true", help="a table of counts")
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="one case, in this process, with its output")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, help="so many cases, in a worker")
    given = parser.parse_args()
    if given.worker:
        answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)  # whatever is printed is not an answer
        serve(given.worker, sys.stdin, answers)
    elif given.report:
        for line in report(given.seed):
            print(line, flush=True)
    elif given.kind and given.case is not None:
        repeat(given.kind, given.seed, given.case)
    elif given.kind:
        with Worker() as worker:
            count = given.count or KINDS[given.kind].normal
            cases = range(given.first, given.first + count)
            tally = worker.run(given.kind, given.seed, cases)
        print(row(tally), *tally.findings, sep="\n\n")
    else:
        parser.print_help()


def repeat(kind: str, seed: int, case: int) -> None:
    """Run one case in this process: a debugger can look at it, and nothing limits it."""
    with tempfile.TemporaryDirectory(prefix="kibitz-fuzz-") as folder:
        os.environ |= {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", FOLDER: folder}
        print(prepared(MODULES)[kind](case_rng(kind, seed, case)))


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.modules["fuzzing"] = sys.modules["__main__"]  # so that `Wrong` is one class
    main()
