"""A service that is degraded three times while it answers 20,000 questions: which alerts are raised, and after how many questions.

`python -m benchmarks monitored_service` starts experiments/targets/handbook_service.py as a process on the loopback, and asks it the handbook's questions
and paraphrases of them by rule, from several threads. Between two phases the process is killed (SIGKILL) and started with other options. The times of
the log are then stretched to 286 questions a day, ten weeks in all, and `workbench monitor` reads it.
"""

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.claims import at_most
from workbench.core.text.printable import printable_line
from workbench.monitor.alerts.settings import EVENTS
from workbench.monitor.alerts.state import AlertState, read_state

ROOT = Path(__file__).parents[1]
HANDBOOK = ROOT / "experiments" / "handbook"
# An alert that returns within the quiet time continues the earlier one, and here degradations follow each other within two weeks. A learned limit of
# latency would be raised by other work of the machine.
SETTINGS = "alerts: {quiet_days: 3, latency: {limit: 0.5}}\n"
A_DAY = 286
_START = datetime(2026, 8, 3, tzinfo=UTC)
_THREADS, _MOST_SECONDS, _START_SECONDS = 8, 600, 60
# A killed process loses what it had not written for this long.
_UNWRITTEN_SECONDS = 0.2
_COMMAND = "from workbench.cli.main import main; main()"
RULES: tuple[Callable[[str], str], ...] = (
    str,
    lambda text: f"hello, {text}",
    lambda text: f"{text}, please",
    lambda text: text.replace("what is", "what's").upper(),
    lambda text: f"quick question: {text}??",
    lambda text: text.replace("the ", "teh ", 1),
    lambda text: f"can you tell me {text}",
    lambda text: " ".join(word for word in text.split() if word not in ("the", "a", "an")),
)


class Phase(NamedTuple):
    """The least number of questions that a service with some options answers. A degraded one should raise one of `alerts` within `most` questions."""

    name: str
    questions: int
    options: tuple[str, ...] = ()
    alerts: tuple[str, ...] = ()
    most: int = 0


def usual(questions: int) -> Phase:
    """Return a phase of the service as it should be."""
    return Phase("as usual", questions)


def embedder(questions: int) -> Phase:
    """Return a phase in which questions are embedded into another space."""
    return Phase("another embedder", questions, ("--questions-embedder", "other"), ("no_results", "refusals", "lost_results"), 25)


def corpus(questions: int) -> Phase:
    """Return a phase in which the index lacks a folder of documents."""
    return Phase("a folder of documents is lost", questions, ("--without", "finance"), ("lost_results",), 600)


def prompt(questions: int) -> Phase:
    """Return a phase in which answers say more than the documents."""
    return Phase("a prompt without grounding", questions, ("--prompt", "free"), ("faithfulness",), 300)


# Degradations that follow each other at once, as each has its own alert.
SHORT = (usual(2_200), corpus(600), prompt(350), embedder(60))
PHASES = (usual(6_000), embedder(2_000), usual(3_000), corpus(2_000), usual(3_000), prompt(2_000), usual(2_000))


@dataclass(eq=False)
class Traffic:
    """Questions in conversations of up to three, a tenth of them two fifths of the traffic (Zipf and Mandelbrot), and the ids of those that were answered."""

    texts: Sequence[str]
    random: np.random.Generator
    answered: set[str] = field(default_factory=set)
    seconds: list[float] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def conversation(self) -> list[str]:
        """Draw the questions of a conversation."""
        weights = 1 / np.arange(10, len(self.texts) + 10)
        with self._lock:
            asked = self.random.choice(len(self.texts), self.random.integers(1, 4), p=weights / weights.sum())
            rules = self.random.integers(0, len(RULES), len(asked))
        return [RULES[rule](self.texts[number]) for number, rule in zip(asked.tolist(), rules.tolist(), strict=True)]

    def ask(self, port: int, stop: threading.Event) -> None:
        """Ask one conversation after the other, until the service is gone or `stop` is set."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            while not stop.is_set():
                session = f"{threading.get_ident()}-{time.perf_counter_ns()}"
                for turn, question in enumerate(self.conversation(), 1):
                    started = time.perf_counter()
                    connection.request("POST", "/answer", json.dumps({"question": question, "session": session, "turn": turn}))
                    reply = json.loads(connection.getresponse().read())
                    with self._lock:
                        self.answered.add(reply["id"])
                        self.seconds.append(time.perf_counter() - started)
        except (OSError, http.client.HTTPException, ValueError):
            return  # the service was killed
        finally:
            connection.close()


def run(phases: Sequence[Phase] = PHASES, budget: int = 100) -> dict[str, Any]:
    """Ask, kill, monitor, and claim that each degradation is seen in time, that no alert is false, and that a kill loses what was not written."""
    texts = [json.loads(line)["query"] for line in (HANDBOOK / "questions.jsonl").read_text("utf-8").splitlines()]
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        traffic, logged, lost = Traffic(random.permutation(texts).tolist(), random), [0], list[tuple[int, float]]()
        for phase in phases:
            before = len(traffic.answered)
            rate = _served(phase, traffic, folder / "log")
            lines = [*_lines(folder / "log")]
            logged.append(len(lines))
            lost.append((len(traffic.answered - {line["id"] for line in lines}) - sum(each for each, _ in lost), rate))
            print(f"{phase.name}: {len(traffic.answered) - before} answered at {rate:.0f} a second, {lost[-1][0]} lost", flush=True)
        times = _stretched(lines, folder / "stretched")
        (folder / "monitor.yaml").write_text(f"{SETTINGS}budget: {budget}\n")
        command = ("monitor", folder / "stretched", "--settings", folder / "monitor.yaml", "--outputs", folder)
        started = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", _COMMAND, *command], cwd=ROOT, capture_output=True, text=True, timeout=_MOST_SECONDS)
        seconds = time.perf_counter() - started
        print(done.stdout, done.stderr, flush=True)
        return _figures(phases, logged, lost, times, read_state(folder / "monitoring" / "alerts.json")) | {
            "answered": len(traffic.answered),
            "milliseconds an answer, median": 1000 * float(np.median(traffic.seconds)),
            "seconds of the monitor": seconds,
        }


def _served(phase: Phase, traffic: Traffic, log: Path) -> float:
    """Let a service answer the questions of a phase, kill it under load, and return the answers a second."""
    command = [sys.executable, "experiments/targets/handbook_service.py", "--log", str(log), "--port", "0", *phase.options]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    stop, before = threading.Event(), len(traffic.answered)
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as service:
        watchdog = threading.Timer(_START_SECONDS, service.kill)
        watchdog.start()
        address = service.stdout.readline() if service.stdout else ""
        watchdog.cancel()
        if not address:
            raise RuntimeError("the service did not start")
        port = int(address.rpartition(":")[2])
        threads = [threading.Thread(target=traffic.ask, args=(port, stop), daemon=True) for _ in range(_THREADS)]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        while len(traffic.answered) - before < phase.questions and time.perf_counter() - started < _MOST_SECONDS:
            time.sleep(0.01)
        rate = (len(traffic.answered) - before) / (time.perf_counter() - started)
        service.send_signal(signal.SIGKILL)
        stop.set()
        for thread in threads:
            thread.join(20)
    return rate


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    """Yield the questions of a log, conversation by conversation in the order of time. A line that a kill has cut is left out."""
    found = []
    for path in log.glob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    rows = sorted((row for row in found if "query" in row), key=lambda row: row["time"])
    place: dict[str, int] = {}
    for number, row in enumerate(rows):
        place.setdefault(row["session"], number)
    yield from sorted(rows, key=lambda row: place[row["session"]])


def _stretched(lines: Sequence[dict[str, Any]], folder: Path) -> list[int]:
    """Write the questions with A_DAY of them a day, and return their times in nanoseconds."""
    folder.mkdir()
    times = [_START + timedelta(days=number / A_DAY) for number in range(len(lines))]
    rows = [row | {"time": time.isoformat(timespec="microseconds").replace("+00:00", "Z")} for row, time in zip(lines, times, strict=True)]
    (folder / "20260803T000000Z-1-000000.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return [int((time - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1)) * 1000 for time in times]


def _figures(
    phases: Sequence[Phase], logged: Sequence[int], lost: Sequence[tuple[int, float]], times: Sequence[int], state: AlertState
) -> dict[str, Any]:
    """Return the alerts by phase with the questions from its start until each was raised, those without a degradation, and the claims."""
    starts = np.array(times)[np.array(logged[:-1])]
    found: dict[int, dict[str, int]] = {number: {} for number in range(len(phases))}
    for alert in sorted(state.alerts, key=lambda alert: alert.first.raised):
        number = int(np.searchsorted(starts, alert.first.raised, side="right")) - 1
        asked = int(np.searchsorted(times, alert.first.raised, side="right")) - logged[number]
        found[number].setdefault(alert.first.alert, asked)
        print(f"{phases[number].name}, after {asked} questions: {printable_line(str(alert))}", flush=True)
    wrong = [name for number, names in found.items() if not phases[number].options for name in names if name not in EVENTS]
    claims = [at_most("alerts without a degradation", len(wrong), 0)]
    for phase, names in zip(phases, found.values(), strict=True):
        first = min((names[name] for name in phase.alerts if name in names), default=sys.maxsize)
        claims += [at_most(f"questions until the alert of: {phase.name}", first, phase.most)] if phase.options else []
    unwritten = [
        at_most(f"answers lost by kill {number}", gone, round(rate * _UNWRITTEN_SECONDS)) for number, (gone, rate) in enumerate(lost, 1)
    ]
    each = {f"{number}: {phase.name}": names for (number, names), phase in zip(found.items(), phases, strict=True)}
    return {
        "questions": sum(phase.questions for phase in phases),
        "questions until each alert": each,
        "alerts without a degradation": wrong,
        "lost by a kill": [gone for gone, _ in lost],
        "answers a second": [round(rate) for _, rate in lost],
        "claims": [*claims, *unwritten],
    }
