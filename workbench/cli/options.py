"""Options that several commands share, and the clients of models that they name."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.core.errors import InputError
from workbench.core.files import require_folder

if TYPE_CHECKING:
    from workbench.llm.base import ChatClient
    from workbench.llm.session import CallLimits

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
set_option = click.option(
    "--set", "overrides", multiple=True, metavar="PATH.TO.KEY=VALUE", help="Change a value of the experiment; can be repeated."
)
allow_code_option = click.option(
    "--allow-code", is_flag=True, help="Import and run the functions that the experiment names; trust it as you would a program."
)


def outputs_option(text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option `--outputs`, a folder that exists or can be made."""
    return click.option("--outputs", default="outputs", show_default=True, metavar="PATH", callback=_folder, help=text)


def _folder(_: click.Context, __: click.Parameter, value: str) -> Path:
    if not value:
        raise InputError("--outputs is empty", "name a folder; . is the working directory")
    return require_folder(Path(value), "--outputs")


class RunFolder(click.Path):
    """The folder of a run, or the name of a run in `outputs`."""

    def convert(self, value: str | PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Path:
        from workbench.report.results.run_tables import run_folder

        return run_folder(Path(value))


def run_argument(command: Callable[..., None]) -> Callable[..., None]:
    """Add the argument OUTPUT, the folder of a run or its name, which the command receives as `folder`."""
    return click.argument("folder", type=RunFolder(), metavar="OUTPUT")(command)


def joined_options(*options: Callable[[Callable[..., None]], Callable[..., None]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Join options, in the order of the help."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


model_options = joined_options(
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
limit_options = joined_options(
    click.option("--calls", type=click.IntRange(min=1), help="Stop before more calls are made. Replies from the cache do not count."),
    click.option("--usd", type=click.FloatRange(min=0, min_open=True), help="Stop before more is spent; needs both prices."),
    click.option("--price-input", type=click.FloatRange(min=0), help="The price of a million tokens of prompts, in USD."),
    click.option("--price-output", type=click.FloatRange(min=0), help="The price of a million tokens of replies, in USD."),
)


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


def limits_from(options: dict[str, Any], client: "ChatClient") -> "CallLimits":
    """Return the limits of the options, which are removed. Raises InputError for a limit in USD without prices."""
    from workbench.llm.session import CallLimits

    limits = CallLimits(options.pop("calls"), usd=options.pop("usd"))
    if limits.usd is not None and client.billed and client.cost(0, 0) is None:
        raise InputError(f"--usd {limits.usd:g} needs the prices of {client.label}", "give --price-input and --price-output")
    return limits
