"""The commands of `dataset`."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.cli.dataset_generate import accept, client_from, generate, limit_options, model_options
from workbench.cli.options import outputs_option
from workbench.core.formatting import plural
from workbench.core.terminal import say, say_aside
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.datasets.draft import DatasetDraft
    from workbench.records import Dataset

# Copied from the sources, which take longer to import than the help takes to print.
KINDS = ("golden", "list", "beir", "nfcorpus", "trec", "table")


@click.option("--output", "file", type=click.Path(path_type=Path), required=True, help="The JSON file to write.")
@click.option("--questions", metavar="IDS", help="The query_id of the questions to answer, separated by commas; by default all.")
@click.option("--read", "read", type=click.IntRange(3, 5), default=5, show_default=True, help="How many documents an answer is from.")
@click.option("--grade", type=click.IntRange(min=1), default=1, show_default=True, help="The lowest relevance of an expected document.")
@model_options
@limit_options
@outputs_option("The folder with the cache of calls.")
def answers(path: str, file: Path, outputs: Path, read: int, grade: int, questions: str | None, **options: Any) -> None:
    """Write reference answers for the questions of the dataset at PATH, from the documents that its labels call most relevant.

    FILE is a JSON list with question, answer, expected documents and provenance. Every answer is marked as synthetic until a person who has read it
    writes a name to `accepted_by`. The same command again makes only the calls that are missing. Exit 1 if no question has an answer, 3 if calls failed.
    """
    from workbench.datasets.sources import recognise
    from workbench.generation.labelled_answers import ANSWER_TOKENS, labelled_answers, write_labelled_answers
    from workbench.generation.model import CachedModel
    from workbench.llm.session import CallBudget, CallLimits, CallResources
    from workbench.pipeline.context import Workspace

    client = client_from(options)
    limits = CallLimits(options.pop("calls"), usd=options.pop("usd"))
    dataset = recognise(path, options.pop("split"), **options).load()
    wanted = [part.strip() for part in questions.split(",") if part.strip()] if questions else None
    chosen = dataset.subset(wanted) if wanted else dataset
    places = {query_id: place for place, query_id in enumerate(wanted or ())}
    queries = sorted((query for query in chosen.queries if query.answerable), key=lambda query: places.get(query.query_id, 0))
    if not queries:
        raise InputError(f"{path} has no answerable question", "name a dataset with questions and judgements")
    model = CachedModel(client, CallResources(Workspace.at(outputs).calls, CallBudget(limits)), ANSWER_TOKENS)
    written = labelled_answers(chosen, queries, model, read, grade)
    write_labelled_answers(written, file)
    for row in written:
        if "missing" in row:
            say_aside(f"workbench: {row['query_id']} has no answer: {row['missing']}")
    found = sum("missing" not in row for row in written)
    say(f"{file}: {found:,} of {plural(len(written), 'reference answer')}, all synthetic; read them, and write your name to accepted_by")
    sys.exit(3 if model.failures else 0 if found else 1)


@click.group()
def dataset() -> None:
    """Check a dataset, convert it to a golden folder, generate one from documents, or select questions from a log."""


def _place(command: Callable[..., None]) -> Callable[..., None]:
    command = click.option("--qrels", help="The judgements of TREC topics, if stored elsewhere.")(command)
    command = click.option("--documents", help="The documents, if stored elsewhere: a folder, a JSON Lines file or a table.")(command)
    command = click.option(
        "--max-file-mb", type=click.IntRange(min=1), help="The largest file that is read, in megabytes; by default 1024."
    )(command)
    command = click.option("--split", help="Read only the questions of this split.")(command)
    command = click.option("--kind", type=click.Choice(KINDS), help="The format; by default it is recognised from the path.")(command)
    return click.argument("path")(command)


@dataset.command()
@_place
def check(path: str, split: str | None, **options: Any) -> None:
    """Report every fault of a dataset at once, whatever its kind. Exit 1 if it has any."""
    from workbench.datasets.checks import faults, notes
    from workbench.datasets.sources import recognise

    draft = recognise(path, split, **options).read()
    problems = faults(draft)
    for note in notes(draft):
        say(f"note: {note}")
    for fault in problems:
        say(fault)
    pieces = {(row.query_id, row.need) for row in draft.evidence}
    say(f"{path}: {_counted(draft, len(pieces), len(draft.evidence))}; {plural(len(problems), 'fault')}")
    sys.exit(1 if problems else 0)


@dataset.command("import")
@_place
@click.option("--to", "folder", type=click.Path(path_type=Path), required=True, help="The folder to write; it must be new or empty.")
@click.option("--recurrences/--no-recurrences", default=False, show_default=True, help="Accept recurrences of evidence as alternatives.")
def import_(path: str, folder: Path, split: str | None, recurrences: bool, **options: Any) -> None:
    """Read a dataset of any kind and write it as a golden folder: documents.jsonl and questions.jsonl.

    Texts given as relevant chunks become evidence spans. The folder gives the same scores as the dataset that was read.
    """
    from workbench.datasets.checks import notes
    from workbench.datasets.formats.golden import write_golden
    from workbench.datasets.sources import recognise

    source = recognise(path, split, recurrences=recurrences or None, **options)
    draft = source.read()
    imported = source.dataset(draft)
    write_golden(imported, folder)
    for note in notes(draft):
        say(f"note: {note}")
    spans = sum(len(need.alternatives) for need in imported.needs)
    say(f"{folder}: {_counted(imported, len(imported.needs), spans)}")


@dataset.command("from-log")
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--dataset", "path", required=True, help="The dataset whose questions are known and whose documents are searched.")
@click.option("--take", type=click.IntRange(min=1), required=True, help="How many questions to select at most.")
@click.option("--to", "folder", type=click.Path(path_type=Path), required=True, help="The folder to write; it must be new or empty.")
@click.option(
    "--monitoring", type=click.Path(path_type=Path), help="The results of a monitor, whose judgements count; by default outputs/monitoring."
)
def from_log(log: Path, path: str, take: int, folder: Path, monitoring: Path | None) -> None:
    """Select the questions of LOG that add most to a dataset, and write them, without labels, for the labeller.

    Near-duplicates count once, and those that a monitor judged bad count more. Each question has `source: production` and the reason why it was selected. Read the folder with
    `wb.load_dataset(FOLDER, unlabelled=True)`, and label it with `wb.label`.
    """
    from workbench.datasets.formats.golden import write_golden
    from workbench.datasets.sources import recognise
    from workbench.embedding.embed import MemoryVectorCache
    from workbench.generation.passages import EMBEDDER
    from workbench.monitor.passes import open_log, read_evaluations
    from workbench.monitor.sampling import COLUMNS, outline
    from workbench.monitor.selection import production_dataset, select

    known = recognise(path, None).load(unlabelled=True)
    with tempfile.TemporaryDirectory() as place:
        questions, remarks = open_log(log, Path(place))
        outlined = outline(questions.table(COLUMNS))
    evaluations = read_evaluations(monitoring or Path("outputs", "monitoring"), missing_ok=monitoring is None)
    selected = select(outlined, known, take, EMBEDDER, MemoryVectorCache(), evaluations)
    for row in selected.rows.to_dict("records"):
        say(f"{row['query']}: {row['reason']}")
    for line in (*remarks, *questions.counts.lines()):
        say(line)
    write_golden(production_dataset(selected, known), folder)
    counts = f"{selected.covered:,} logged questions are in the dataset already, {selected.left_out:,} were not compared"
    say(f"{folder}: {plural(len(selected.rows), 'question')} to label; {counts}")


dataset.command()(_place(generate))
dataset.command()(_place(answers))
dataset.command()(accept)


def _counted(read: "DatasetDraft | Dataset", pieces: int, spans: int) -> str:
    documents = [row[0] if isinstance(row, tuple) else row for row in read.documents]
    sizes = [
        plural(sum(not document.missing for document in documents), "document"),
        plural(len(read.queries), "question"),
        plural(len(read.qrels), "judgement"),
    ]
    evidence = plural(pieces, "piece of evidence", "pieces of evidence")
    # Spans outnumber the pieces if some have alternatives.
    return ", ".join([*sizes, evidence if spans == pieces else f"{evidence} with {plural(spans, 'evidence span')}"])
