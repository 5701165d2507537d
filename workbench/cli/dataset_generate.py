"""The commands `dataset generate` and `dataset accept`."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.cli.options import outputs_option
from workbench.core.formatting import plural
from workbench.core.terminal import say, say_aside
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.generation.generate import Generated
    from workbench.generation.model import CachedModel
    from workbench.llm.base import ChatClient

_CLIENT = (
    "provider",
    "model",
    "base_url",
    "api_key_env",
    "concurrency",
    "timeout",
    "retries",
    "context_window",
    "price_input",
    "price_output",
)
_SETTINGS = ("questions", "seed", "multi_hop", "unanswerable", "tries", "duplicate_cosine", "reference_documents")
_SHARE = click.FloatRange(0, 1)
# The failures that are listed.
_MOST = 5


def _options(*options: Callable[[Callable[..., None]], Callable[..., None]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Join options, in the order of the help."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


model_options = _options(
    click.option("--provider", help="openai, anthropic or ollama.  [default: RAG_EVAL_PROVIDER]"),
    click.option("--model", help="The model's name.  [default: RAG_EVAL_OPENAI_MODEL or that of another provider]"),
    click.option("--base-url", help="The server's address.  [default: RAG_EVAL_OPENAI_BASE_URL or that of another provider]"),
    click.option("--api-key-env", metavar="NAME", help="The environment variable that contains the key."),
    click.option("--local", metavar="PATH", help="A GGUF file to run in this process, in place of a server."),
    click.option("--threads", type=click.IntRange(1, 512), help="How many cores a GGUF file uses."),
    click.option("--context-window", type=click.IntRange(min=64), help="The tokens that prompt and reply may have together."),
    click.option("--concurrency", type=click.IntRange(1, 256), help="How many calls are made at once.  [default: 8]"),
    click.option("--timeout", type=click.FloatRange(0, 3600, min_open=True), help="The seconds of a try.  [default: 120]"),
    click.option("--retries", type=click.IntRange(0, 10), help="How often a failed call is tried again.  [default: 4]"),
)
limit_options = _options(
    click.option("--calls", type=click.IntRange(min=1), help="Stop before more calls are made. Replies from the cache do not count."),
    click.option("--usd", type=click.FloatRange(min=0, min_open=True), help="Stop before more is spent; needs both prices."),
    click.option("--price-input", type=click.FloatRange(min=0), help="The price of a million tokens of prompts, in USD."),
    click.option("--price-output", type=click.FloatRange(min=0), help="The price of a million tokens of replies, in USD."),
)
_QUESTIONS = _options(
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


@_options(_output, _QUESTIONS, model_options, limit_options, outputs_option("The folder with the cache of calls and vectors."))
def generate(path: str, folder: Path, outputs: Path, answers: bool, **options: Any) -> None:
    """Generate questions with evidence and reference answers from the documents at PATH: a dataset of any kind, or a folder of documents.

    A model writes each question. Its evidence is found in the documents, and it must be answerable from the evidence and not from other passages.
    FOLDER is a golden folder; references.jsonl, dropped.jsonl and generation.json are beside the questions. Every question is marked as synthetic
    until a person accepts it. The same command again makes only the calls that are missing. Exit 1 if no question was accepted, 3 if calls failed.
    """
    from workbench.datasets.sources import read_sources
    from workbench.generation.candidates import GenerationSettings
    from workbench.generation.generate import answer_questions
    from workbench.generation.generate import generate as generate_questions
    from workbench.generation.model import CachedModel
    from workbench.generation.output import answered_dataset, check_folder, generated_dataset, write_generated
    from workbench.generation.passages import PassageIndex
    from workbench.llm.session import CallBudget, CallLimits, CallResources
    from workbench.pipeline.context import Workspace

    check_folder(folder)
    settings = GenerationSettings(**{name: options.pop(name) for name in _SETTINGS})
    client = client_from(options)
    limits = CallLimits(options.pop("calls"), usd=options.pop("usd"))
    if limits.usd is not None and client.billed and client.cost(0, 0) is None:
        raise InputError(f"--usd {limits.usd:g} needs the prices of {client.label}", "give --price-input and --price-output")
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


def client_from(options: dict[str, Any]) -> "ChatClient":
    """Return the client of the options, which are removed. Raises InputError if something that it needs is missing."""
    from workbench.llm.providers.local import LocalClient
    from workbench.llm.registry import client_of

    given = {name: options.pop(name) for name in _CLIENT}
    path, threads = options.pop("local"), options.pop("threads")
    if path:
        if extra := next((name for name in given if given[name] is not None and name != "context_window"), None):
            raise InputError(f"--local has no use for --{extra.replace('_', '-')}", "leave one of them out")
        window = given["context_window"]
        client: ChatClient = LocalClient(path=path, threads=threads, context_window=8192 if window is None else window)
    else:
        client = client_of(given)
    client.check()
    return client


def _report(generated: "Generated", model: "CachedModel", folder: Path) -> None:
    """Print the counts. Exits with 3 if calls failed, and with 1 if no question was accepted."""
    from workbench.generation.candidates import REASONS

    accepted, candidates = len(generated.accepted), len(generated.accepted) + len(generated.dropped)
    for reason, text in REASONS.items():
        if number := generated.reasons[reason]:
            say(f"dropped: {number:,} {reason} ({text})")
    for failure, number in model.failures.most_common(_MOST):
        say_aside(f"workbench: {plural(number, 'call')} failed: {failure}")
    disagreeing = sum(not each.reference.agrees for each in generated.accepted if each.reference)
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


@click.argument("file", type=click.Path(path_type=Path, exists=True))
@click.option("--questions", metavar="IDS", help="The query_id of the questions to accept, separated by commas.")
@click.option("--all", "every", is_flag=True, help="Accept every synthetic question of the file.")
@click.option("--by", required=True, metavar="NAME", help="The person who has read the questions.")
def accept(file: Path, questions: str | None, every: bool, by: str) -> None:
    """Write NAME to synthetic questions in FILE (questions.jsonl, or its folder), so that they count as accepted by a person."""
    from workbench.generation.acceptance import accept_questions

    if every == (questions is not None):
        raise InputError("accept needs either --questions or --all", "name the questions, or give --all")
    query_ids = None if questions is None else [part.strip() for part in questions.split(",") if part.strip()]
    if query_ids == []:
        raise InputError("--questions is empty", "name the questions by their query_id, separated by commas")
    accepted, waiting = accept_questions(file, query_ids, by)
    say(f"{file}: {plural(accepted, 'question')} accepted by {by.strip()}; {waiting:,} synthetic still accepted by nobody")
