"""The commands `init` and `schema`."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.cli.options import client_from, limit_options, limits_from, model_options, outputs_option
from workbench.core.environment import missing_package, of_extra
from workbench.core.text.formatting import listed, plural
from workbench.core.text.terminal import say, say_aside

if TYPE_CHECKING:
    from workbench.core.records import Document
    from workbench.people.new_experiment.start import StartedExperiment, Writer

# Lines of one kind that are printed. origins.json has all.
_MOST = 40
_MODEL = ("provider", "model", "base_url", "local")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--name", help="The experiment's name.  [default: that of the folder]")
@click.option(
    "--to", "parent", type=click.Path(path_type=Path), default="experiments", show_default=True, help="Where NAME.yaml and NAME/ are made."
)
@click.option("--questions", type=click.IntRange(0, 100_000), default=60, show_default=True, help="How many passages to ask about at most.")
@click.option("--seconds", type=click.IntRange(1, 3600), default=60, show_default=True, help="The longest time for converting a file.")
@click.option(
    "--max-file-mb", type=click.IntRange(1, 1024), default=200, show_default=True, help="The largest file that is read, in megabytes."
)
@model_options
@limit_options
@outputs_option("The folder with the cache of calls and vectors.")
def init(
    folder: Path, name: str | None, parent: Path, questions: int, seconds: int, max_file_mb: int, outputs: Path, **options: Any
) -> None:
    """Make an experiment from a FOLDER of Markdown, text, HTML, emails, PDF, DOCX, PPTX and notebooks.

    It converts the files to documents, proposes chunkings that fit them, and chooses passages to ask about: a person writes the questions in the
    labeller, and headings are placeholders until then. With --provider, --model, --base-url or --local, a model reads the documents and drafts
    the questions. The same command again adds new files. Documents, questions and the
    experiment file that exist are never changed. Exit 1 if there is no document, or the dataset has faults.
    """
    from workbench.data.conversion.process import ConverterProcess
    from workbench.people.new_experiment.start import Place, start_experiment

    place = Place.of(folder, name, parent)
    writer = _writer(questions, outputs, options) if questions and any(options[key] for key in _MODEL) else None
    started = start_experiment(place, questions, ConverterProcess(folder, seconds, max_file_mb), writer)
    _report(started, bool(writer))
    if not started.documents or started.faults:
        sys.exit(1)


def _writer(questions: int, outputs: Path, options: dict[str, Any]) -> "Writer":
    """Return the writer of questions that asks a model."""
    from workbench.llm.session import CallBudget, CallResources
    from workbench.people.generation.candidates import GenerationSettings
    from workbench.people.generation.model import CachedModel
    from workbench.runner.pipeline.context import Workspace

    client = client_from(options)
    limits = limits_from(options, client)
    settings, workspace = GenerationSettings(questions=questions), Workspace.at(outputs)
    model = CachedModel(client, CallResources(workspace.calls, CallBudget(limits)), settings.max_tokens)

    def write(documents: "Sequence[Document]", known: Sequence[str]) -> Sequence[Mapping[str, Any]]:
        from workbench.core.records import Dataset
        from workbench.data.formats.golden import question_rows
        from workbench.people.generation.generate import generate
        from workbench.people.generation.output import generated_dataset
        from workbench.people.generation.passages import PassageIndex

        index = PassageIndex.of(documents, settings.passage_tokens, workspace.vectors)
        generated = generate(documents, settings, model, index, known)
        for failure, number in model.failures.most_common(_MOST):
            say_aside(f"workbench: {plural(number, 'call')} failed: {failure}")
        return question_rows(generated_dataset(generated, Dataset("new", tuple(documents), (), ()), model))

    return write


def _report(started: "StartedExperiment", modelled: bool) -> None:
    """Print what was read, chosen and proposed, what is missing, and the next commands."""
    conversion, place = started.conversion, started.place
    _say_lines("skipped: ", [f"{file.file} {file.reason}" for file in conversion.skipped])
    _say_lines("note: ", [f"{origin.file} {note}" for origin in conversion.added for note in origin.notes])
    _say_lines("note: ", conversion.remarks)
    kept = f", {len(conversion.known):,} were there before" if conversion.known else ""
    say(
        f"{place.folder}: {plural(len(conversion.added), 'document')} from {plural(conversion.files, 'file')}{kept}, "
        f"{len(conversion.skipped):,} skipped (origins.json lists them)"
    )
    if not started.documents:
        say_aside("workbench: no file could be read; give a folder with Markdown, text, HTML, PDF, DOCX, PPTX or notebooks")
        return
    _say_questions(started, modelled)
    if started.proposal:
        say(f"{place.file}: {plural(len(started.spec.configurations), 'configuration')}" if started.spec else str(place.file))
        from workbench.people.new_experiment.start import proposed_name

        for component in (*started.proposal.chunkings, *started.proposal.retrievers, started.proposal.embedding):
            say(f"  {proposed_name(component, started.spec)}: {component.why}")
    else:
        say(f"{place.file}: kept as it is")
    _say_lines("fault: ", started.faults)
    _say_next(started)


def _say_questions(started: "StartedExperiment", modelled: bool) -> None:
    new = plural(started.written, "new draft" if modelled else "new placeholder")
    say(f"{started.place.folder / 'questions.jsonl'}: {new}, {plural(len(started.queries), 'question')} in all")
    if modelled and started.written:
        say("  written by a model; such questions use the words of their passage, so review them before you decide anything")
    elif started.written:
        say("  a placeholder is a passage with its heading in place of a question: a first report works, but its figures are not a result")
    elif not started.queries:
        say("  no passage is long enough to ask about; write questions in the labeller, or let a model draft them (--provider, --local)")
    if started.written and started.unasked:
        has = "has" if len(started.unasked) == 1 else "have"
        of = plural(len(started.conversion.added), "new document")
        say(f"  {len(started.unasked):,} of {of} {has} no question: {listed(sorted(started.unasked))}")


def _say_next(started: "StartedExperiment") -> None:
    from workbench.people.new_experiment.proposal import PROPOSED_DIFFERENCE
    from workbench.people.new_experiment.start import advice_lines

    comparisons = started.spec.comparisons if started.spec else 1
    smallest = started.spec.smallest_difference if started.spec else PROPOSED_DIFFERENCE
    _say_lines("to do: ", list(advice_lines(started.documents, started.queries, comparisons, smallest)))
    do = "write the questions" if any(query.is_placeholder for query in started.queries) else "review the drafts"
    file = shlex.quote(str(started.place.file))
    if not started.faults and (absent := missing_package(*of_extra("sweep"))):
        say()
        say(f"a sweep needs {absent[0]}: {absent[1]}")
    if started.spec or not started.faults:
        say()
        say(f"workbench plan {file}   # what a sweep costs")
        say(f"workbench sweep {file}   # the first report")
        say(f"workbench lab {file} --notebook label   # then {do}")


def _say_lines(start: str, lines: Sequence[str]) -> None:
    for line in lines[:_MOST]:
        say(f"{start}{line}")
    if len(lines) > _MOST:
        say(f"{start}and {len(lines) - _MOST:,} more")


@click.command()
@click.option("--to", "file", type=click.Path(path_type=Path), help="Write it to this file, such as experiments/experiment.schema.json.")
def schema(file: Path | None) -> None:
    """Print the JSON Schema of experiment files, for completion and checks in editors.

    It has the kinds of installed packages too. The experiments of `workbench init` name the file experiment.schema.json beside them.
    """
    from workbench.core.files import write_text
    from workbench.runner.experiment.json_schema import schema_text

    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, schema_text())
        say(f"wrote {file}")
        return
    for line in schema_text().splitlines():
        say(line)
