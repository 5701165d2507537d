"""Run a command of `workbench`, or one of those below, with a fault, in a process that is forked for it."""

import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import click

from tests.faults.injection import Fault, Injector
from workbench.cli.main import Commands, main
from workbench.core.errors import RunError
from workbench.core.fingerprint import code_digest
from workbench.core.records import Span
from workbench.data.formats.golden import write_golden
from workbench.data.sources import GoldenSource
from workbench.llm.models.files import MINILM, model_fingerprint
from workbench.monitor.log.query_log import QueryLog
from workbench.monitor.log.reading import LoggedQuestions
from workbench.people.labelling.applying import apply_to
from workbench.people.labelling.checking import LabelChecker
from workbench.people.labelling.label_file import LabelFile, labels_by_annotator
from workbench.people.labelling.pooling import CandidateSearch, LabelPool, PooledDocument
from workbench.people.labelling.priority import queue_without_run
from workbench.people.labelling.session import LabellingSession, LabellingTask
from workbench.report.render.html import environment
from workbench.runner.execution import latency
from workbench.runner.execution.local import run_experiment
from workbench.runner.execution.outputs import publish
from workbench.runner.experiment.read import read_experiment

PLACES = "places.json"
# Sessions of a log, and questions of a session.
SESSIONS, QUESTIONS = 3, 2


# The server that forks the processes imports this file, so that they find what each of them would compute again.
code_digest()
model_fingerprint(MINILM)
environment().get_template("report.html.j2")


def run_case(folder: Path, command: Sequence[str], fault: Fault | None) -> NoReturn:
    """Run a command in a folder, leave the places of its operations there, and end this process without Python's clean-up."""
    # One timed question of a configuration in one round instead of 50 in 5: timings are not compared.
    latency.QUESTIONS = latency.ROUNDS = 1
    writing = os.open(folder / PLACES, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    injector = Injector(folder / "outputs", fault)
    injector.install()
    try:
        code = _run(command)
    except BaseException:  # whatever leaves the command is a failure of the case
        traceback.print_exc()
        code = 99
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(writing, json.dumps(injector.places).encode())
    os._exit(code)


def _run(command: Sequence[str]) -> int:
    """Run a command of `workbench`, or one of this file."""
    own = {each.name: each for each in (tables, remote_tables, labels, logged, gated)}
    group = Commands("workbench", commands={**main.commands, **{name: each for name, each in own.items() if name}})
    try:
        group.main(command, prog_name="workbench")
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@click.command()
def tables() -> None:
    """Do what `workbench sweep` does besides executing notebooks, which takes longer than everything else."""
    outcome = run_experiment(read_experiment(Path("small.yaml")), Path("outputs"), print)
    published = publish(outcome, print, notebooks=False)
    if failed := [*(f"{name}: {line}" for name, line in outcome.failures.items()), *published.errors]:
        raise RunError("; ".join(failed))


@click.command()
@click.pass_context
def remote_tables(context: click.Context) -> None:
    """Do what `tables` does, with the store under a URL."""
    outputs = Path("outputs").absolute()
    os.environ |= {"WORKBENCH_STORE": (outputs / "remote").as_uri(), "WORKBENCH_CACHE": str(outputs / "cache")}
    context.invoke(tables)


@click.command()
def labels() -> None:
    """Continue a session of labelling at its first missing action, then write the labelled dataset.

    Raises RuntimeError if an action is lost that was saved before.
    """
    dataset = GoldenSource(path="data").load()
    checker, acknowledged = LabelChecker(dataset), Path("acknowledged")
    first, second = dataset.queries[:2]
    pool = tuple(PooledDocument(document.doc_id, ((0, len(document.text)),)) for document in dataset.documents)
    task = LabellingTask(
        dataset,
        LabelPool({query.query_id: pool for query in dataset.queries}, {}),
        queue_without_run(dataset),
        CandidateSearch(dataset.corpus, 5),
    )
    session = LabellingSession(task, checker, LabelFile.begin(Path("outputs/labels.jsonl"), checker.header), "ann")
    steps: list[tuple[str, Callable[[], object]]] = [
        (first.query_id, lambda: session.judge("d1", 2)),
        (first.query_id, lambda: session.mark(Span("d0", 0, 12))),
        (first.query_id, lambda: session.answer("At noon")),
        (first.query_id, session.undo),
        (second.query_id, lambda: session.judge("d2", -1)),
        (second.query_id, lambda: session.rewrite("When does the lamp change?")),
    ]
    done = len(session.file.actions)
    if acknowledged.exists() and done < int(acknowledged.read_text()):
        raise RuntimeError(f"{done} actions are left of {acknowledged.read_text()} that were saved")
    for number, (query_id, act) in enumerate(steps[done:], done + 1):
        session.go_to(query_id)
        act()
        acknowledged.write_text(str(number))
    applied = apply_to(checker.dataset, labels_by_annotator(checker.checked(session.file)[0]))
    write_golden(applied.dataset, Path("outputs/applied"), replace=True)


@click.command()
def logged() -> None:
    """Log the questions that the log does not have. Raises RunError if records were lost."""
    path, lost = Path("outputs/log"), 0
    there = {row["id"] for row in LoggedQuestions(path).rows()} if path.is_dir() and any(path.iterdir()) else set()
    for session in range(SESSIONS):
        log = QueryLog(path, configuration="served")
        for name in (f"q{session}-{number}" for number in range(QUESTIONS)):
            if name not in there:
                log.record(f"question {name}", hits=["d0", "d1"], answer="At noon", id=name, time=f"2026-11-27T08:00:0{session}Z")
        log.close()
        lost += sum(log.lost.values())
    if lost:
        raise RunError(f"{lost} records are lost")


@click.command()
@click.pass_context
def gated(context: click.Context) -> None:
    """Write a baseline of the run, and check the run with it."""
    command = main.commands["gate"]
    for words in (["--update-baseline", "outputs/base.json"], ["--baseline", "outputs/base.json", "--junit", "outputs/gate.xml", *_LIMITS]):
        with command.make_context("gate", ["outputs/small", *words], parent=context) as inner:
            command.invoke(inner)


_LIMITS = ("--floors", "specification", "--fail-below", "span_recall@500t=0.999")
