"""The command `dataset answers`."""

import sys
from pathlib import Path
from typing import Any

import click

from workbench.cli.dataset_generate import client_from, limit_options, model_options
from workbench.cli.options import outputs_option
from workbench.core.formatting import plural
from workbench.core.terminal import say, say_aside
from workbench.errors import InputError


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
    from workbench.generation.asking import Asker
    from workbench.generation.labelled_answers import ANSWER_TOKENS, labelled_answers, write_labelled_answers
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
    asker = Asker(client, CallResources(Workspace.at(outputs).calls, CallBudget(limits)), ANSWER_TOKENS)
    written = labelled_answers(chosen, queries, asker, read, grade)
    write_labelled_answers(written, asker, file)
    for answer in written:
        if answer.missing:
            say_aside(f"workbench: {answer.query.query_id} has no answer: {answer.missing}")
    found = sum(not answer.missing for answer in written)
    say(f"{file}: {found:,} of {plural(len(written), 'reference answer')}, all synthetic; read them, and write your name to accepted_by")
    sys.exit(3 if any(answer.failed for answer in written) else 0 if found else 1)
