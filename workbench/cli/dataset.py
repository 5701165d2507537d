"""The commands of `dataset`."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.cli.options import client_from, joined_options, limit_options, limits_from, model_options, outputs_option
from workbench.core.errors import InputError
from workbench.core.text.formatting import plural
from workbench.core.text.terminal import say, say_aside

if TYPE_CHECKING:
    from workbench.people.generation.generate import Generated
    from workbench.people.generation.model import CachedModel

# Copied from the sources, which take longer to import than the help takes to print.
KINDS = ("golden", "list", "beir", "nfcorpus", "trec", "table", "huggingface")


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
    from workbench.data.checks import draft_counts, faults, notes
    from workbench.data.sources import recognise

    draft = recognise(path, split, **options).read()
    problems = faults(draft)
    for note in notes(draft):
        say(f"note: {note}")
    for fault in problems:
        say(fault)
    say(f"{path}: {draft_counts(draft)}; {plural(len(problems), 'fault')}")
    sys.exit(1 if problems else 0)


@dataset.command("import")
@_place
@click.option("--to", "folder", type=click.Path(path_type=Path), required=True, help="The folder to write; it must be new or empty.")
@click.option("--recurrences/--no-recurrences", default=False, show_default=True, help="Accept recurrences of evidence as alternatives.")
def import_(path: str, folder: Path, split: str | None, recurrences: bool, **options: Any) -> None:
    """Read a dataset of any kind and write it as a golden folder: documents.jsonl and questions.jsonl.

    Texts given as relevant chunks become evidence spans. The folder gives the same scores as the dataset that was read.
    """
    from workbench.data.checks import counts_text, notes
    from workbench.data.formats.golden import write_golden
    from workbench.data.sources import recognise

    source = recognise(path, split, recurrences=recurrences or None, **options)
    draft = source.read()
    imported = source.dataset(draft)
    write_golden(imported, folder)
    for note in notes(draft):
        say(f"note: {note}")
    spans = sum(len(need.alternatives) for need in imported.needs)
    say(f"{folder}: {counts_text(imported, len(imported.needs), spans)}")


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
    from workbench.components.embedding.embed import MemoryVectorCache
    from workbench.data.formats.golden import write_golden
    from workbench.data.sources import recognise
    from workbench.monitor.passes import open_log, read_evaluations
    from workbench.monitor.sampling import COLUMNS, outline, production_dataset, select
    from workbench.people.generation.passages import EMBEDDER

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


_SETTINGS = ("questions", "seed", "multi_hop", "unanswerable", "tries", "duplicate_cosine", "reference_documents")
_SHARE = click.FloatRange(0, 1)
# The failures that are listed.
_MOST = 5


_QUESTIONS = joined_options(
    click.option("--answers", is_flag=True, help="Write expected answers of the questions that PATH has, in place of new questions."),
    click.option("--questions", type=click.IntRange(1, 100_000), default=50, show_default=True, help="How many questions to generate."),
    click.option("--multi-hop", type=_SHARE, default=0.1, show_default=True, help="The share of questions that need two passages."),
    click.option("--unanswerable", type=_SHARE, default=0.1, show_default=True, help="The share that the documents do not answer."),
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Determines the passages that are asked about."),
    click.option("--tries", type=click.IntRange(1, 20), default=3, show_default=True, help="The most candidates for each question."),
    click.option(
        "--duplicate-cosine",
        type=click.FloatRange(0, 1, min_open=True),
        default=0.9,
        show_default=True,
        help="The cosine from which two questions are near-duplicates.",
    ),
    click.option(
        "--reference-documents",
        type=click.IntRange(3, 5),
        default=4,
        show_default=True,
        help="How many documents a reference answer is from.",
    ),
)
_output = click.option(
    "--output", "folder", type=click.Path(path_type=Path), required=True, help="The folder to write: new, empty or generated before."
)


@dataset.command()
@_place
@joined_options(_output, _QUESTIONS, model_options, limit_options, outputs_option("The folder with the cache of calls and vectors."))
def generate(path: str, folder: Path, outputs: Path, answers: bool, **options: Any) -> None:
    """Generate questions with evidence and reference answers from the documents at PATH: a dataset of any kind, or a folder of documents.

    A model writes each question. Its evidence is found in the documents, and it must be answerable from the evidence and not from other passages.
    FOLDER is a golden folder; references.jsonl, dropped.jsonl and generation.json are beside the questions. Every question is marked as synthetic
    until a person accepts it. The same command again makes only the calls that are missing. Exit 1 if no question was accepted, 3 if calls failed.
    """
    from workbench.data.sources import read_sources
    from workbench.llm.registry import provider_of
    from workbench.llm.session import CallBudget, CallResources
    from workbench.people.generation.candidates import GenerationSettings
    from workbench.people.generation.generate import answer_questions
    from workbench.people.generation.generate import generate as generate_questions
    from workbench.people.generation.model import CachedModel
    from workbench.people.generation.output import answered_dataset, check_folder, generated_dataset, write_generated
    from workbench.people.generation.passages import PassageIndex
    from workbench.runner.pipeline.context import Workspace

    check_folder(folder)
    settings = GenerationSettings(**{name: options.pop(name) for name in _SETTINGS})
    if not options["local"] and provider_of(options) is None:
        what = "no model is named to write them"
        raise InputError(
            what, "give --provider or --local, or set RAG_EVAL_PROVIDER; or write questions in the labeller: workbench init FOLDER"
        )
    client = client_from(options)
    limits = limits_from(options, client)
    source = read_sources(path, **options)
    if answers and not any(query.answerable and not query.answer for query in source.queries):
        raise InputError(f"{path} has no answerable question without an answer", "leave --answers out to generate questions")
    workspace = Workspace.at(outputs)
    model = CachedModel(client, CallResources(workspace.calls, CallBudget(limits)), settings.max_tokens)
    index = PassageIndex.of(source.documents, settings.passage_tokens, workspace.vectors)
    if answers:
        generated = answer_questions(source.queries, settings, model, index)
        dataset = answered_dataset(generated, source, model)
    else:
        generated = generate_questions(source.documents, settings, model, index, [query.text for query in source.queries])
        dataset = generated_dataset(generated, source, model)
    write_generated(generated, dataset, model, folder)
    _report(generated, model, folder)


def _report(generated: "Generated", model: "CachedModel", folder: Path) -> None:
    """Print the counts. Exits with 3 if calls failed, and with 1 if no question was accepted."""
    from workbench.people.generation.candidates import REASONS

    accepted, candidates = len(generated.accepted), len(generated.accepted) + len(generated.dropped)
    for reason, text in REASONS.items():
        if number := generated.reasons[reason]:
            say(f"dropped: {number:,} {reason} ({text})")
    for failure, number in model.failures.most_common(_MOST):
        say_aside(f"workbench: {plural(number, 'call')} failed: {failure}")
    disagreeing = sum(not question.reference.agrees for question in generated.accepted if question.reference)
    if disagreeing:
        say(f"read first: the reference answer of {plural(disagreeing, 'question')} does not agree with the answer (references.jsonl)")
    spent = model.resources.budget.spent
    say(f"calls: {spent.calls:,} made, {model.cached:,} from the cache; {spent.tokens:,} tokens")
    say(f"{folder}: {accepted:,} of {plural(generated.wanted, 'question')} from {plural(candidates, 'candidate')}, all synthetic")
    if generated.failed:
        say_aside("workbench: candidates whose calls failed are missing; run the same command again to make only these calls")
        sys.exit(3)
    if not accepted:
        say_aside(f"workbench: no question was accepted; see {folder / 'dropped.jsonl'}, and use another model")
        sys.exit(1)


@dataset.command()
@_place
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
    from workbench.data.sources import recognise
    from workbench.llm.session import CallBudget, CallLimits, CallResources
    from workbench.people.generation.labelled_answers import ANSWER_TOKENS, labelled_answers, write_labelled_answers
    from workbench.people.generation.model import CachedModel
    from workbench.runner.pipeline.context import Workspace

    client = client_from(options)
    limits = CallLimits(options.pop("calls"), usd=options.pop("usd"))
    dataset = recognise(path, options.pop("split"), **options).load()
    wanted = [name.strip() for name in questions.split(",") if name.strip()] if questions else None
    chosen = dataset.subset(wanted) if wanted else dataset
    positions = {query_id: position for position, query_id in enumerate(wanted or ())}
    queries = sorted((query for query in chosen.queries if query.answerable), key=lambda query: positions.get(query.query_id, 0))
    if not queries:
        raise InputError(f"{path} has no answerable question", "name a dataset with questions and judgements")
    model = CachedModel(client, CallResources(Workspace.at(outputs).calls, CallBudget(limits)), ANSWER_TOKENS)
    written = labelled_answers(chosen, queries, model, read, grade)
    write_labelled_answers(written, file)
    for row in written:
        if "missing" in row:
            say_aside(f"workbench: {row['query_id']} has no answer: {row['missing']}")
    answered = sum("missing" not in row for row in written)
    say(f"{file}: {answered:,} of {plural(len(written), 'reference answer')}, all synthetic; read them, and write your name to accepted_by")
    sys.exit(3 if model.failures else 0 if answered else 1)


@dataset.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True))
@click.option("--questions", metavar="IDS", help="The query_id of the questions to accept, separated by commas.")
@click.option("--all", "every", is_flag=True, help="Accept every synthetic question of the file.")
@click.option("--by", required=True, metavar="NAME", help="The person who has read the questions.")
def accept(file: Path, questions: str | None, every: bool, by: str) -> None:
    """Write NAME to synthetic questions in FILE (questions.jsonl, or its folder), so that they count as accepted by a person."""
    from workbench.people.generation.output import accept_questions

    if every == (questions is not None):
        raise InputError("accept needs either --questions or --all", "name the questions, or give --all")
    query_ids = None if questions is None else [name.strip() for name in questions.split(",") if name.strip()]
    if query_ids == []:
        raise InputError("--questions is empty", "name the questions by their query_id, separated by commas")
    accepted, waiting = accept_questions(file, query_ids, by)
    say(f"{file}: {plural(accepted, 'question')} accepted by {by.strip()}; {waiting:,} synthetic still accepted by nobody")
