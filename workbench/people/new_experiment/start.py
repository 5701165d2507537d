"""Make an experiment of a folder of documents, or add the folder's new documents and questions about them to it."""

import errno
import json
import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.core.environment import missing_package, of_extra
from workbench.core.errors import InputError
from workbench.core.files import write_text
from workbench.core.operating_system import locked_folder
from workbench.core.records import Document, Query, is_placeholder
from workbench.core.text.formatting import approximate, number, plain_name, plural
from workbench.core.text.terminal import say_aside
from workbench.data.checks import faults
from workbench.data.conversion.process import ConverterProcess
from workbench.data.formats.golden import QUESTION_FILES, jsonl
from workbench.data.sources import GoldenSource
from workbench.measures.statistics.clusters import FEWEST_FOR_WINNER
from workbench.measures.statistics.pairs import expected_difference, expected_questions
from workbench.measures.statistics.verdict import FEWEST_QUERIES
from workbench.people.new_experiment.documents import FolderConversion, Origins, convert_folder, read_origins, texts_of, write_origins
from workbench.people.new_experiment.placeholders import MINUTES, placeholder_rows
from workbench.people.new_experiment.proposal import Proposal, ProposedSetting, experiment_text, measure, propose
from workbench.report.sentences import drafts_of
from workbench.runner.experiment.json_schema import SCHEMA_FILE, schema_text
from workbench.runner.experiment.read import ExperimentSpec, read_experiment


def existing_questions(folder: Path, about: Collection[str] = ()) -> list[str]:
    """Return the texts of an experiment's questions, without the placeholders `about` these documents, which an interrupted run has left.

    Lines that are not JSON have no text; the check of the dataset reports them.
    """
    return [text for row in _rows(folder) if isinstance(text := row.get("query"), str) and not _left_about(row, about)]


def _left_about(row: Mapping[str, Any], about: Collection[str]) -> bool:
    documents = row.get("relevant_doc_ids")
    return is_placeholder(row) and isinstance(documents, list) and any(doc_id in about for doc_id in documents)


def append_questions(folder: Path, rows: Sequence[Mapping[str, Any]]) -> int:
    """Append the questions whose ids do not exist yet. Returns how many were appended."""
    known: Collection[str] = {str(row.get("query_id")) for row in _rows(folder)}
    new = [row for row in rows if row["query_id"] not in known]
    if new:
        before = _text(folder)
        write_text(folder / QUESTION_FILES[0], before + ("\n" if before and not before.endswith("\n") else "") + jsonl(new))
    return len(new)


def _rows(folder: Path) -> list[dict[str, Any]]:
    rows = []
    for line in _text(folder).split("\n"):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def _text(folder: Path) -> str:
    file = folder / QUESTION_FILES[0]
    return file.read_bytes().decode("utf-8", "replace") if file.is_file() else ""


_LONGEST_NAME = 60
# Writes questions about new documents, as lines of questions.jsonl, in place of headings. It gets the questions that exist.
Writer = Callable[[Sequence[Document], Sequence[str]], Sequence[Mapping[str, Any]]]


def advice_lines(documents: int, queries: Sequence[Query], comparisons: int, smallest: float) -> Iterator[str]:
    """Yield advice on what a dataset needs before a sweep can conclude anything: documents, questions, acceptance by a person.

    `comparisons` are those of the experiment, all pairs or all with its baseline. `smallest` is the experiment's smallest difference that matters.
    """
    questions, placeholders = len(queries), sum(query.is_placeholder for query in queries)
    if documents < FEWEST_FOR_WINNER:
        yield (
            f"{plural(documents, 'document')} cannot show which chunking is better: questions about one document hang together, and a claim "
            f"needs at least {FEWEST_FOR_WINNER} documents, better 30; add documents and run the same command again"
        )
    if questions < FEWEST_QUERIES:
        yield f"{plural(questions, 'question')} are too few to name a winner; write at least {FEWEST_QUERIES - questions} more"
    elif questions:
        shown, needed = expected_difference(questions, comparisons), expected_questions(smallest, comparisons)
        more = f"; a difference of {number(smallest, 2)} needs about {approximate(needed)}" if needed > questions else ""
        yield f"{plural(questions, 'question')} show differences in span recall from about {number(shown, 2)}{more} (the report computes both from your data)"
    if waiting := sum(query.is_draft for query in queries):
        minutes = f"; writing the questions takes about {plural(math.ceil(placeholders * MINUTES), 'minute')}, at one a minute"
        yield drafts_of(waiting, questions, placeholders) + (minutes if placeholders else "")


@dataclass(frozen=True)
class Place:
    """The source, the experiment's name, its file and its folder."""

    source: Path
    name: str
    file: Path
    folder: Path

    @classmethod
    def of(cls, source: Path, name: str | None, parent: Path) -> "Place":
        """Choose the place of an experiment. Raises InputError if the source is no folder, or would be inside of the experiment."""
        if not source.is_dir():
            what = "is a file, not a folder" if source.exists() else "does not exist"
            raise InputError(f"{source} {what}", "give the folder with your documents")
        chosen = _name_like(source.resolve().name) if name is None else name
        if chosen != _name_like(chosen):
            raise InputError(f"--name {chosen} is no name of an experiment", f"write for example {_name_like(chosen)}")
        folder = parent / chosen
        if source.resolve().is_relative_to(os.path.realpath(folder)):
            raise InputError(f"the experiment {folder} would contain its source {source}", "give another --name or --to")
        return cls(source, chosen, parent / f"{chosen}.yaml", folder)

    @property
    def recorded_source(self) -> str:
        """Return the source relative to the experiment's folder, so that both can be moved together."""
        try:
            return Path(os.path.relpath(self.source.resolve(), self.folder.resolve())).as_posix()
        except ValueError:  # another drive
            return self.source.resolve().as_posix()


@dataclass(frozen=True)
class StartedExperiment:
    """An experiment and what was done for it: documents, questions, the proposal of a new file, and the faults of its dataset.

    `unasked` are the new documents that no new question is about.
    """

    place: Place
    conversion: FolderConversion
    written: int
    unasked: tuple[str, ...]
    proposal: Proposal | None
    faults: tuple[str, ...]
    queries: tuple[Query, ...]
    documents: int
    spec: ExperimentSpec | None


def proposed_name(proposed: ProposedSetting, spec: ExperimentSpec | None) -> str:
    """Return the name of the only configuration with these settings, else the name of the chunking, or the kind and the model."""
    wanted = proposed.settings
    fitting = [
        configuration
        for configuration in (spec.configurations if spec else ())
        if all(getattr(configuration.pipeline.chunking, key, None) == value for key, value in wanted.items())
    ]
    if len(fitting) == 1:
        return fitting[0].name
    return fitting[0].pipeline.chunking.name if fitting else " ".join(str(wanted[key]) for key in ("kind", "model") if key in wanted)


def _name_like(name: str) -> str:
    """Return a valid name of an experiment that is like the name of a folder."""
    return plain_name(name, _LONGEST_NAME) or "documents"


def start_experiment(place: Place, wanted: int, limits: ConverterProcess, writer: Writer | None = None) -> StartedExperiment:
    """Convert new files, choose passages of them to ask about, and propose an experiment if there is no file yet.

    Documents, questions and the experiment file that exist stay as they are. `wanted` is the number of passages at most.
    Raises InputError for a folder that holds something else.
    """
    _known(place)
    with _alone(place.folder):
        return _add_documents(place, wanted, limits, writer)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock an experiment's folder, and say so if another process has it. The lock of a killed process is free."""
    with locked_folder(folder, lambda: say_aside(f"waiting for another workbench init that writes to {folder}")):
        yield


def _add_documents(place: Place, wanted: int, limits: ConverterProcess, writer: Writer | None) -> StartedExperiment:
    known = _known(place)
    conversion = convert_folder(place.source, place.folder, known, limits)
    origins = conversion.origins(known.source)
    texts = texts_of(place.folder, origins.by_file)
    new = [Document(origin.doc_id, texts[origin.doc_id]) for origin in conversion.added]
    asked = existing_questions(place.folder, {document.doc_id for document in new})
    # New documents get their share of the questions.
    share = math.ceil(wanted * len(new) / max(1, len(texts)))
    rows = (writer(new, asked) if writer else placeholder_rows(new, share, asked)) if new else ()
    # The record is last: what an interrupted run has written is found again by the next one.
    written = append_questions(place.folder, rows)
    write_origins(place.folder, origins)
    documents = [Document(doc_id, text) for doc_id, text in texts.items()]
    proposal = _propose(place, documents, 0 if writer else len(rows)) if documents else None
    about = {doc_id for row in rows for doc_id in row["relevant_doc_ids"]}
    unasked = tuple(document.doc_id for document in new if document.doc_id not in about)
    started = StartedExperiment(place, conversion, written, unasked, proposal, (), (), len(documents), None)
    return _checked(started) if documents and (place.folder / QUESTION_FILES[0]).is_file() else started


def _known(place: Place) -> Origins:
    """Return the record of the experiment, a new one for a new folder."""
    known = read_origins(place.folder)
    if known is None:
        if taken := [path for path in (place.folder, place.file) if path.exists() and not (path == place.folder and _is_empty(path))]:
            raise InputError(f"{taken[0]} exists and was not made by workbench init", "give another --name or --to")
    elif (place.folder / known.source).resolve() != place.source.resolve():
        raise InputError(f"{place.folder} was made from {known.source}, not from {place.source}", "give another --name")
    # Make the experiment's folder. Raises InputError if nothing can be written there, before any file is converted.
    try:
        place.folder.mkdir(parents=True, exist_ok=True)
        if not os.access(place.folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise InputError(f"{place.folder} cannot be written ({error.strerror})", "give another --to, or change its permissions") from None
    if known is None:
        known = Origins(source=place.recorded_source)
        write_origins(place.folder, known)
    return known


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _propose(place: Place, documents: Sequence[Document], placeholders: int) -> Proposal | None:
    """Write the experiment file unless it exists."""
    if place.file.exists():
        return None
    proposal = propose(measure(documents))
    remarks = (
        [
            f"{plural(placeholders, 'question')} were placeholders, headings in place of questions, when this file was made: figures on them are not a result"
        ]
        if placeholders
        else []
    )
    write_text(place.file.with_name(SCHEMA_FILE), schema_text())
    write_text(place.file, experiment_text(place.name, place.folder.as_posix(), proposal, remarks))
    return proposal


def _checked(started: StartedExperiment) -> StartedExperiment:
    """Read the dataset, with its faults, and the experiment file."""
    draft = GoldenSource(path=str(started.place.folder)).read()
    found = tuple(faults(draft))
    file = started.place.file
    return replace(
        started,
        faults=found,
        queries=tuple(query for query, _ in draft.queries),
        documents=len(draft.documents),
        # The proposal is a pipeline, which the core writes and cannot check.
        spec=read_experiment(file) if file.is_file() and not found and not missing_package(*of_extra("sweep")) else None,
    )
