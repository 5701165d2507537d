"""How a Python object is called, and what its results mean: functions, and objects of LangChain, LlamaIndex and Haystack."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from workbench.core.errors import InputError
from workbench.core.records import Answer, TargetHit
from workbench.core.schemas import pandas_frame
from workbench.llm.replies.rejections import DECLARING, error_in_text, error_text, reported_error
from workbench.systems.base import TargetError
from workbench.systems.callable.haystack import haystack_function, haystack_roles
from workbench.systems.contents import (
    ANSWERS,
    BESIDE,
    CHUNK_IDS,
    DOC_IDS,
    ENDS,
    FINISHES,
    HITS,
    PASSAGES,
    SCORES,
    SOURCES,
    STARTS,
    TEXTS,
    attributes,
    check_answer,
    described,
    has,
    identifier,
    is_content,
    number,
    plain,
    read,
    score_of,
    text_of_parts,
    whole,
)

Role = Literal["search", "answer", "ingest", "remove"]

# The methods that serve a role, the first that an object has. LangChain's are `invoke` and `similarity_search`, LlamaIndex's are `retrieve` and
# `query`. Not imported: a method of the name is enough.
_METHODS: Mapping[Role, tuple[str, ...]] = {
    "search": ("retrieve", "similarity_search", "search", "invoke", "query"),
    "answer": ("answer", "query", "invoke"),
    "ingest": ("ingest",),
    "remove": ("remove",),
}
_K = ("k", "top_k", "limit", "n_results", "num_results", "max_results", "n")
_CONTEXT = ("context", "contexts", "passages")
_WHERE = "where"
_QUESTION = ("query", "question", "q", "text", "input", "prompt")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class CallableInterface:
    """The function that serves a role, and its asynchronous twin for objects that implement only that one."""

    label: str
    function: Callable[..., Any]
    twin: Callable[..., Any] | None = None

    @property
    def takes_mapping(self) -> bool:
        """True if the function is a runnable's, whose single argument contains a context too."""
        return getattr(self.function, "__name__", "") == "invoke"

    @property
    def takes_number(self) -> bool:
        """True if the function is given the number of hits, by whatever name."""
        parameters = parameters_of(self.function)
        question = _question(parameters)
        return not parameters or bool(_named(parameters, _K, question) or _second(parameters, question))

    def takes(self, role: Literal["k", "context"]) -> bool:
        """Return True if the function has a parameter for the number of hits, or for a context."""
        return any(name in parameters_of(self.function) for name in (_K if role == "k" else _CONTEXT))

    def arguments(
        self, first: object, k: int | None = None, context: object = None, where: Mapping[str, Any] | None = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of one call. `where` is the question's filter. Raises InputError if the function needs others."""
        parameters = parameters_of(self.function)
        if not parameters:  # some functions written in C have no signature
            return (first, *([] if k is None else [k])), {}
        question = _question(parameters)
        given: dict[str, Any] = {question: first} if question else {}
        if k is not None and (name := _named(parameters, _K, question) or _second(parameters, question)):
            given[name] = k
        if context is not None and (name := _named(parameters, _CONTEXT, question)):
            given[name] = context
        if _WHERE in parameters and (where or parameters[_WHERE].default is inspect.Parameter.empty):
            given[_WHERE] = where
        missing = [name for name, each in parameters.items() if name not in given and is_needed(each)]
        if not question or missing:
            fault = f"needs {', '.join(missing)}" if question else "takes no question"
            fix = "it is called with the question, and with k and context if it has parameters of these names"
            if any(_is_self(each) for each in parameters.values()):
                fix = "name the class or an object of it, not its method"
            elif any(name in _CONTEXT for name in missing):
                fix = "give it the default None, for what the function retrieves, and set context: true for conditions such as gold"
            raise InputError(f"{self.label}({', '.join(parameters)}) {fault}", fix)
        # By name what can be, so that parameters with defaults are left out.
        by_position = {
            name
            for name, each in parameters.items()
            if each.kind in (each.POSITIONAL_ONLY, each.VAR_POSITIONAL) or (name == next(iter(parameters)) and each.kind in _POSITIONAL)
        }
        args = tuple(value for name, value in given.items() if name in by_position)
        return args, {name: value for name, value in given.items() if name not in by_position}


def parameters_of(function: object) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function, none if it does not have a signature."""
    try:
        return inspect.signature(function).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return {}


def is_needed(parameter: inspect.Parameter) -> bool:
    """Return True if a call must give a parameter."""
    return parameter.default is parameter.empty and parameter.kind not in _VARIABLE


def is_factory(value: object) -> bool:
    """Return True if a value is a class, or a function without parameters, which returns the object to call."""
    if inspect.isclass(value):
        return True
    try:
        return inspect.isroutine(value) and not inspect.signature(value).parameters
    except ValueError:
        return False


def interface_of(label: str, value: object, role: Role) -> CallableInterface:
    """Return how an object or a class serves a role. Raises InputError if it does not."""
    if (function := haystack_function(label, value, role)) is not None:
        return CallableInterface(f"{label}.run", function)
    if not inspect.isroutine(value):
        for name in _METHODS[role]:
            method = getattr(value, name, None)
            if callable(method) and not takes_query_bundle(method):
                twin = getattr(value, f"a{name}", None)
                return CallableInterface(f"{label}.{name}", method, twin if callable(twin) else None)
    # The objects of a class are functions if it has `__call__` itself: every class has that of its metaclass.
    if not callable(value) or (inspect.isclass(value) and not any("__call__" in vars(base) for base in value.__mro__)):
        kind = value.__name__ if inspect.isclass(value) else type(value).__name__
        raise InputError(
            f"{label} is a {kind}, which cannot {role}",
            f"name a function, or an object with a method {' or '.join(_METHODS[role])}",
        )
    return CallableInterface(label, value)


def methods_of(value: object) -> set[str]:
    """Return the recognized methods that an object has."""
    if roles := haystack_roles(value):
        return roles
    names = {name for names in _METHODS.values() for name in names}
    return {name for name in names if callable(method := getattr(value, name, None)) and not takes_query_bundle(method)}


def takes_query_bundle(method: object) -> bool:
    """Return True if a method is the `retrieve` of a query engine of LlamaIndex, which takes no text."""
    return "query_bundle" in list(parameters_of(method))[:2]


def _question(parameters: Mapping[str, inspect.Parameter]) -> str:
    for name, each in parameters.items():
        if each.kind in _POSITIONAL or each.kind is inspect.Parameter.VAR_POSITIONAL:
            return "" if _is_self(each) else name
    return next((name for name in _QUESTION if name in parameters), "")


def _is_self(parameter: inspect.Parameter) -> bool:
    """Return True if a parameter is the object of a method that is named by its class. Methods written in C can be named so."""
    return parameter.name == "self" and parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD


def _named(parameters: Mapping[str, inspect.Parameter], names: tuple[str, ...], question: str) -> str:
    return next((name for name in names if name in parameters and name != question), "")


def _second(parameters: Mapping[str, inspect.Parameter], question: str) -> str:
    """Return the second parameter if it must be given by position: in a search it is the number of hits, whatever its name."""
    others = [name for name, each in parameters.items() if name != question and each.kind in _POSITIONAL]
    return others[0] if others and parameters[others[0]].default is inspect.Parameter.empty and others[0] not in _CONTEXT else ""


# What a hit that is a text stands for.
Strings = Literal["ids", "texts"]

HIT_FORMS = (
    "return a list, best first, of document ids, mappings or objects with an id or a text, or pairs of one of these and a score, "
    "or a mapping of ids to scores"
)
_IF_ANSWER = "if it is an answer, ask for metrics of answers, such as answer_recall"
_LONGEST_ERROR = 300
_READ = {*DOC_IDS, *CHUNK_IDS, *TEXTS, *SCORES, *STARTS, *ENDS, "metadata"}


def hits_of(value: object, strings: Strings, most: int | None = None) -> tuple[TargetHit, ...]:
    """Convert a result to hits, at most `most`. None is no hit. Raises TargetError with its type for another shape."""
    if value is None:
        return ()
    if isinstance(value, Mapping) and (not value or all(number(score) is not None for score in value.values())):
        ranked = sorted(value.items(), key=lambda pair: -(number(pair[1]) or 0))
        return tuple(_hit(pair, "ids") for pair in ranked[:most])
    for name in HITS:
        if not isinstance(value, str | bytes | list | tuple) and isinstance(found := read(value, name), list | tuple):
            if not found:
                raise_reported(value)
            return hits_of(found, "texts" if name in PASSAGES else strings, most)
    table = pandas_frame(value)
    if hasattr(table, "columns") and hasattr(table, "to_dict"):
        value = (table if most is None else table.head(most)).to_dict("records")
    # A pydantic model is iterable too: over its fields.
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping | Set) or hasattr(value, "model_fields"):
        raise_reported(value, nothing=False)
        raise TargetError(f"the result is no list of hits but {described(value)}; {_IF_ANSWER if isinstance(value, str) else HIT_FORMS}")
    return tuple(_hit(item, strings) for item in islice(value, most))


def raise_reported(value: object, nothing: bool = True) -> None:
    """Raise TargetError if a result declares an error. `nothing` says that it has no hits, or no answer."""
    if isinstance(value, str):
        error = error_in_text(value)
    elif isinstance(value, Mapping):
        error = reported_error(value, nothing)
    else:
        named = {name: found for name in DECLARING if isinstance(found := read(value, name), str | int | dict | list | Exception)}
        error = reported_error(named, nothing)
    if error:
        raise TargetError(f"the result is an error: {error_text(error[1])}"[:_LONGEST_ERROR])


def _hit(item: Any, strings: Strings) -> TargetHit:
    if isinstance(item, tuple | list) and not hasattr(item, "_fields") and len(item) == 2 and number(item[1]) is not None:
        return replace(_hit(item[0], strings), score=number(item[1]))
    if isinstance(item, str) and strings == "texts":
        return TargetHit(text=str(item))
    if (doc_id := identifier(item)) is not None:
        return TargetHit(doc_id)
    node = read(item, "node") if not isinstance(item, str) else None
    if node is not None:  # NodeWithScore of LlamaIndex
        return replace(_fields(node), score=score_of(item))
    return _fields(item)


def _fields(item: Any) -> TargetHit:
    metadata = read(item, "metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    text = next((str(found) for name in TEXTS if isinstance(found := read(item, name), str)), None)
    ids = [read(item, *DOC_IDS), read(metadata, *DOC_IDS), read(item, *CHUNK_IDS)]
    doc_id = next(filter(None, map(identifier, ids)), None)
    if doc_id is None and text is None and not metadata:
        wrong = next((found for found in ids if found is not None and not isinstance(found, str)), None)
        fault = "without an id or a text" if wrong is None else f"whose id is {described(wrong)}, not a text or a whole number"
        raise TargetError(f"a hit is {described(item)}, {fault}; {HIT_FORMS}")
    start, end = (whole(found if (found := read(item, *names)) is not None else read(metadata, *names)) for names in (STARTS, ENDS))
    if start is not None and end is None and text is not None:  # LangChain's splitters write only the start, into the metadata
        end = start + len(text)
    start, end = (start, end) if start is not None and end is not None else (None, None)
    # All other fields of a mapping are metadata, and those of an object without any.
    others = attributes(item) if isinstance(item, Mapping) or read(item, "metadata") is None else {}
    others = {name: value for name, value in others.items() if name not in _READ and not str(name).startswith("_")}
    return TargetHit(doc_id, text, score_of(item), start, end, plain({**others, **metadata}))


FORMS = "return a text, a pair of a text and its sources, or a mapping or an object with an answer, and sources if it names any"


def answer_of(value: object, strings: Strings, most: int | None = None) -> Answer:
    """Convert a result to an answer with at most `most` sources. Raises TargetError with its type for another shape."""
    if isinstance(value, tuple) and not hasattr(value, "_fields") and len(value) == 2:
        text, sources = value
        if isinstance(sources, str):
            raise TargetError(f"the second of the pair is no list of sources but {described(sources)}; {FORMS}")
        if (found := text_of(text)) is None:
            raise TargetError(f"the first of the pair is no answer but {described(text)}; {FORMS}")
        raise_reported(text, nothing=not found.strip())
        return Answer(text=found, sources=None if sources is None else hits_of(sources, strings, most), **_use(text, found))
    text = None if isinstance(value, list) else text_of(value)
    refused = read(value, "refused") if not isinstance(value, str) else None
    if refused is not True:
        raise_reported(value, nothing=not (text or "").strip())
    if text is None and refused is not True:
        _cut(value, "")
        raise TargetError(f"the result is no answer but {described(value)}; {FORMS}")
    if isinstance(value, str):
        return Answer(text=str(value))
    return Answer(
        text=text or "",
        sources=_sources(value, strings, most),
        refused=refused if isinstance(refused, bool) else None,
        confidence=number(read(value, "confidence")),
        **_use(value, text if refused is not True else None),
    )


def text_of(value: object) -> str | None:
    """Return the text of an answer or of a part of one, or None if it has none."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list):
        texts = bool(value) and all(isinstance(each, str) for each in value)
        return text_of_parts(value) if texts or is_content(value) else None
    for name in ANSWERS:
        if (found := read(value, name)) is not None and not callable(found):
            return text_of(found)
    return None


def _sources(value: object, strings: Strings, most: int | None) -> tuple[TargetHit, ...] | None:
    """Return the sources of an answer, None if it has no field for them. A single text is a prompt's context, not a list of sources."""
    for name in SOURCES:
        if has(value, name) and not isinstance(found := read(value, name), str | None) and not callable(found):
            return hits_of({name: found} if isinstance(found, list | tuple) else found, strings, most)
    return None


def _use(answer: object, text: str | None) -> Mapping[str, Any]:
    """Return the cost of a model and whether its text was cut off, as the answer or a chat message of LangChain reports it.

    Raises TargetError if the text is no answer. A text that is None is not checked.
    """
    if isinstance(answer, str):
        return {}
    # A chat message in the answer has the usage of the model.
    inner = read(answer, *ANSWERS)
    value = inner if has(inner, "usage_metadata") else answer
    usage, metadata = read(value, "usage_metadata") or value, read(value, "response_metadata") or {}
    model = read(value, "model") or read(metadata, "model_name", "model")
    cut = read(value, "truncated")
    ended = None if text is None else _cut(value, text)
    return {
        "input_tokens": whole(read(usage, "input_tokens")),
        "output_tokens": whole(read(usage, "output_tokens")),
        "cost": number(read(value, "cost")),
        "model": model if isinstance(model, str) else "",
        "truncated": cut if isinstance(cut, bool) else ended,
    }


def _cut(value: object, text: str) -> bool | None:
    """Return True if an answer was cut off, None if it does not say. Raises TargetError with the reason why it is no answer."""
    metadata, further = read(value, "response_metadata") or {}, read(value, "additional_kwargs") or {}
    finish = read(value, *FINISHES) or read(metadata, *FINISHES)
    content = read(value, *ANSWERS)
    fields = {name: found for name in BESIDE if (found := read(value, name) or read(further, name)) and not callable(found)}
    return check_answer(text, finish if isinstance(finish, str) else None, {**fields, "content": content})
