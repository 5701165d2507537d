"""Answer a wrong name with the right one: attributes that a value lacks, keys, and arguments that a function does not take."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, ParamSpec, TypeVar

from workbench.core.errors import InputError
from workbench.core.text.formatting import nearest_word

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)
# The least similarity of a suggested name.
_NEAR = 0.75
# What other tools call our arguments, each used where a function has the argument.
_ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("metric", "measures", "scorers"), "metrics"),
    **dict.fromkeys(("top_k", "topk", "limit", "n", "n_results", "num_results", "max_results"), "k"),
    **dict.fromkeys(("data", "corpus", "testset", "benchmark"), "dataset"),
    **dict.fromkeys(("slice", "subset", "where"), "within"),
    **dict.fromkeys(("chunker", "splitter", "chunks"), "chunking"),
    **dict.fromkeys(("embedder", "embeddings", "embedding_model"), "embedding"),
    **dict.fromkeys(("retriever", "search"), "retrieval"),
    **dict.fromkeys(("reranker", "reranking"), "rerank"),
    **dict.fromkeys(("rewriter", "rewriting", "query_rewriting"), "rewrite"),
    **dict.fromkeys(("generator", "generation", "llm", "answer"), "answering"),
    **dict.fromkeys(("question", "text", "q"), "query"),
    **dict.fromkeys(("config", "name"), "configuration"),
    **dict.fromkeys(("overwrite", "exist_ok", "force"), "replace"),
    **dict.fromkeys(("output", "output_dir", "out", "folder"), "outputs"),
    **dict.fromkeys(("workers", "n_jobs", "processes"), "jobs"),
    **dict.fromkeys(("judge", "judges"), "judging"),
    **dict.fromkeys(("run", "result"), "results"),
    **dict.fromkeys(("user", "author", "person"), "annotator"),
    **dict.fromkeys(("filters", "filter"), "where"),
}


class UnknownNameError(AttributeError):
    """An attribute that a value lacks. Its text, which names the right one, is made only when it is read: programs ask for many attributes in vain."""

    def __init__(self, owner: type, wrong: str) -> None:
        super().__init__(owner, wrong)
        self._owner, self._wrong = owner, wrong

    def __str__(self) -> str:
        guesses: Mapping[str, str] = getattr(self._owner, "guesses", {})
        public = sorted(name for name in {*dir(self._owner), *getattr(self._owner, "__dataclass_fields__", ())} if name[0] != "_")
        public = [name for name in public if name not in ("guesses", "unlisted", *getattr(self._owner, "unlisted", ()))]
        missing = f"{self._owner.__name__} has no {self._wrong!r}"
        if self._wrong in guesses:
            return f"{missing}; use {guesses[self._wrong]}"
        close = nearest_word(self._wrong, [*public, *guesses], _NEAR)
        if close and close in guesses:
            return f"{missing}; use {guesses[close]}"
        return f"{missing}{_meant(close)}; it has {', '.join(public)}"


class _AdvisedClass(type):
    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> NoReturn:
            raise UnknownNameError(cls, name)


class AdvisedNames(metaclass=_AdvisedClass):
    """A public value whose errors for a missing attribute or key suggest the right one.

    `guesses` maps names that people try to their replacements. `unlisted` are public names for Workbench itself.
    """

    __slots__ = ()
    guesses: ClassVar[Mapping[str, str]] = {}
    unlisted: ClassVar[frozenset[str]] = frozenset()

    # Hidden from type checkers, for which a wrong name stays an error.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name[0] != "_" and name in dir(type(self)):
                # A property that raised an AttributeError itself, which is raised again.
                return object.__getattribute__(self, name)
            raise UnknownNameError(type(self), name)

        def __getitem__(self, key: object) -> NoReturn:
            raise TypeError(
                f"{type(self).__name__} has no keys; write .{key}" if isinstance(key, str) else f"{type(self).__name__} is no list"
            )


def _meant(close: str | None) -> str:
    return f" (did you mean {close!r}?)" if close else ""


_PUBLIC_GUESSES: Mapping[str, str] = {
    **dict.fromkeys(("load_results", "open", "read", "read_results", "open_results"), "wb.load(path)"),
    **dict.fromkeys(("run", "run_experiment", "execute", "benchmark", "optimize", "tune", "experiment"), "wb.sweep(experiment)"),
    **dict.fromkeys(("load_experiment", "read_experiment", "from_yaml"), "wb.Experiment.from_yaml(path)"),
    **dict.fromkeys(("load_data", "read_dataset", "read_csv", "from_pandas"), "wb.load_dataset(path)"),
    **dict.fromkeys(
        ("compare_runs", "diff", "compare_results"), "results.compare_runs(other) for two runs, wb.compare(systems, dataset) for systems"
    ),
    **dict.fromkeys(("leaderboard", "report", "best"), "wb.load(path).leaderboard(), .summary() or .to_html(path)"),
    **dict.fromkeys(("CallableMetric", "Kind", "register_metric", "custom_metric"), "@wb.metric above a function"),
    **dict.fromkeys(
        ("CallableRetriever", "System", "RAG", "FunctionTarget"), "the function itself: wb.evaluate(search, dataset); or wb.CallableTarget"
    ),
    **dict.fromkeys(("CallableEmbedder", "Embedding"), "a class derived from wb.Embedder: docs/extending.md, An embedder"),
    **dict.fromkeys(("CallableReranker",), "a class derived from wb.Reranker: docs/extending.md"),
    **dict.fromkeys(
        ("CallableGenerator",), "the function itself: wb.evaluate(answer, dataset, metrics); or a class derived from wb.Generator"
    ),
    **dict.fromkeys(("CallableJudge",), "a class derived from wb.Judge: docs/extending.md, A judge"),
    **dict.fromkeys(("OpenAI", "OpenAIGenerator", "LLM", "ChatModel", "Anthropic"), "wb.ChatGenerator"),
    **dict.fromkeys(
        ("RecursiveCharacterTextSplitter", "TextSplitter"), "wb.RecursiveChunker, or wb.LangChainChunker for a splitter of LangChain"
    ),
    **dict.fromkeys(("hit_rate", "hits", "hit"), "wb.success, such as wb.success @ 5"),
    **dict.fromkeys(("search", "retrieve", "index", "Retrieval"), "wb.Pipeline(...).index(dataset).search(query)"),
    **dict.fromkeys(("chunk", "split", "chunks"), "wb.chunk_table(dataset, chunker), or chunker.split(document)"),
    **dict.fromkeys(("judge", "judging"), "judging= of wb.Experiment or wb.compare, with judges such as wb.OverlapJudge()"),
    **dict.fromkeys(("plan", "gate"), "experiment.plan() or results.gate(rule)"),
    **dict.fromkeys(
        ("faithfulness", "answer_correctness", "answer_relevance", "context_relevance", "exact_match", "token_f1", "f1", "answer_recall"),
        "the name of a metric of answers as a text, such as metrics=['faithfulness']",
    ),
}


def unknown_public_name(name: str, known: Sequence[str]) -> AttributeError:
    """Return the error of a name that the package does not have, with the one that is meant."""
    if name in _PUBLIC_GUESSES:
        return AttributeError(f"workbench has no {name!r}; use {_PUBLIC_GUESSES[name]}")
    return AttributeError(f"workbench has no {name!r}{_meant(nearest_word(name, known, _NEAR))}; docs/reference/api.md lists its names")


def checked_names(function: Callable[P, R]) -> Callable[P, R]:
    """Raise InputError with the right name for arguments that a function does not take, and for missing ones."""
    return advised_names()(function)


def advised_names(**advice: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return `checked_names` for a function with its own advice for some arguments that it does not take. `more` is that for too many."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*args: P.args, **named: P.kwargs) -> R:
            try:
                signature.bind(*args, **named)
            except TypeError as error:
                raise _fault(function, [name for name in signature.parameters if name != "self"], named, advice, error) from None
            return function(*args, **named)

        return checked

    return decorate


def checked_init(kind: C) -> C:
    """Check the names of the arguments with which a class is made."""
    kind.__init__ = checked_names(kind.__init__)  # type: ignore[misc]  # replaced on purpose
    return kind


def _fault(
    function: Callable[..., Any], known: Sequence[str], named: Mapping[str, Any], advice: Mapping[str, str], error: TypeError
) -> InputError:
    called = function.__qualname__.removesuffix(".__init__")
    its = _arguments(known)
    wrong = next((name for name in named if name not in known), None)
    if wrong is None:
        return InputError(f"{called}: {error}", advice.get("more", its))
    return InputError(f"{called} has no argument {wrong!r}", advice[wrong]) if wrong in advice else unknown_argument(called, wrong, known)


def unknown_argument(called: str, wrong: str, known: Sequence[str]) -> InputError:
    """Return the error of an argument that a function does not take, with the one that is meant: by what other tools call it, or near it."""
    usual = _ELSEWHERE.get(wrong)
    close = usual if usual in known else nearest_word(wrong, known, _NEAR)
    return InputError(f"{called} has no argument {wrong!r}{_meant(close)}", _arguments(known))


def _arguments(known: Sequence[str]) -> str:
    return f"its arguments are {', '.join(known)}" if known else "it takes no arguments"
