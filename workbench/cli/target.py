"""The commands `target check` and `target freshness`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli.options import set_option
from workbench.core.errors import InputError, RunError
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import aligned, plural
from workbench.core.text.terminal import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.core.records import Dataset, Query, TargetHit
    from workbench.systems.asking import TargetReply, TargetRequest
    from workbench.systems.base import Target

# The hits that are shown.
_SHOWN = 5
_allow_code = click.option(
    "--allow-code", is_flag=True, help="Import functions and start programs that the experiment names; trust it as you would a program."
)


@click.group()
def target() -> None:
    """Try the targets of an experiment before a sweep, or check them for stale data."""


@target.command("check")
@click.argument("experiment", type=click.Path(path_type=Path))
@click.option("--question", help="The question to ask, by default the canary question, or the first of the dataset.")
@set_option
@_allow_code
def check(experiment: Path, question: str | None, overrides: tuple[str, ...], allow_code: bool) -> None:
    """Ask each target one question and show what it returns. Nothing is stored. Exit 1 if a target does not serve it.

    A target that takes documents gets those of the dataset first.
    """
    from workbench.core.records import Query

    dataset, targets = _read(experiment, overrides, allow_code)
    failed = False
    for system in targets:
        asked = next((query for query in dataset.queries if query.text == question), Query("check", question)) if question else None
        lines, served = _checked(system, asked or _first(system, dataset), dataset)
        failed = failed or not served
        for line in lines:
            say(line)
    sys.exit(1 if failed else 0)


@target.command("freshness")
@click.argument("experiment", type=click.Path(path_type=Path))
@click.argument("folder", type=click.Path(path_type=Path))
@set_option
@_allow_code
def freshness(experiment: Path, folder: Path, overrides: tuple[str, ...], allow_code: bool) -> None:
    """Check the targets that take documents for stale data, with the `documents`, `earlier` versions and `stale.jsonl` of FOLDER.

    Documents with these ids are replaced in the target and deleted at the end. Exit 1 if a target serves stale data, 4 if that was not seen.
    """
    from workbench.api.evaluation import check_freshness

    _, targets = _read(experiment, overrides, allow_code)
    taking = [system for system in targets if system.ingests]
    if not taking:
        raise InputError(f"no target of {experiment} takes documents", "give one of them ingest")
    verdicts = set()
    for system in taking:
        report = check_freshness(system, folder)
        verdicts.add(report.verdict)
        for line in report.lines():
            say(line)
    sys.exit(1 if "failed" in verdicts else 4 if "unscored" in verdicts else 0)


def _read(experiment: Path, overrides: tuple[str, ...], allow_code: bool) -> "tuple[Dataset, list[Target]]":
    """Return the dataset and the targets of an experiment, whose code is imported."""
    from workbench.runner.execution.local import check_code
    from workbench.runner.experiment.read import read_experiment

    spec = read_experiment(experiment, overrides, allow_code)
    targets = [target for configuration in spec.configurations for target in configuration.targets]
    if not targets:
        raise InputError(f"{experiment} has no targets", "add the key targets")
    check_code(spec)
    return spec.load(), targets


def _first(target: "Target", dataset: "Dataset") -> "Query":
    from workbench.core.records import Query

    if target.canary:
        return Query("canary", target.canary)
    if not dataset.queries:
        raise InputError("the dataset has no questions", "give one with --question")
    return dataset.queries[0]


def _checked(target: "Target", query: "Query", dataset: "Dataset") -> "tuple[list[str], bool]":
    """Return the reply of a target to a question as lines, and True if it served every request."""
    from workbench.llm.session import CallResources
    from workbench.systems.asking import TargetRequest, replies_of
    from workbench.systems.base import TargetResources

    requests = [TargetRequest("search", query, target.k)] if target.searches else []
    requests += [TargetRequest("answer", query)] if target.answers else []
    lines = [f"{target.name}: {excerpt(query.text)}"]
    try:
        replies = replies_of(target, requests, TargetResources(CallResources(), dataset.corpus))
    except RunError as error:
        return [*lines, f"  {error}"], False
    for request, reply in zip(requests, replies, strict=True):
        lines += [f"  {line}" for line in _shown(request, reply, target, dataset)]
    return lines, not any(reply.error for reply in replies)


def _shown(request: "TargetRequest", reply: "TargetReply", target: "Target", dataset: "Dataset") -> "Iterator[str]":
    if reply.error:
        yield f"{request.operation} failed: {reply.error}"
        return
    answer = reply.answer
    hits = reply.hits if answer is None else answer.sources or ()
    what = plural(len(hits), "hit" if answer is None else "source")
    yield f"{request.operation}: {what} in {reply.seconds:.2f} s" + (f": {excerpt(answer.text)}" if answer else "")
    yield from (f"  {line}" for line in _hits(hits[:_SHOWN], target, dataset))


def _hits(hits: "Sequence[TargetHit]", target: "Target", dataset: "Dataset") -> list[str]:
    from workbench.systems.matching import HitMatcher

    matcher, rows = HitMatcher(dataset.documents, target.match), [("rank", "document", "characters", "score", "text")]
    for rank, hit in enumerate(hits, 1):
        place = matcher.place(hit)
        document = dataset.documents[place.doc].doc_id if place.doc >= 0 else "–"
        characters = f"{place.start}–{place.end}" if place.start >= 0 else place.fault or "only an id"
        rows.append((str(rank), document, characters, "–" if hit.score is None else f"{hit.score:.3f}", excerpt(hit.text or "")))
    return aligned(rows) if hits else []
