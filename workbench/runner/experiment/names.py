"""Names of configurations, which follow from their settings alone: the chunking, then every other setting that is not at its default."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.components.chunking.base import Chunker
from workbench.core.component import Component
from workbench.llm.models.files import MINILM
from workbench.runner.pipeline.configuration import PipelineConfiguration

# The kinds that a configuration has by default, and of which names say nothing.
USUAL_KINDS = {"embedding": "sentence-transformers", "retrieval": "dense", "context": "packed", "answering": "extractive"}
# Settings of which names say nothing: where and how a model is asked, at which price, and what a machine may load.
OMITTED = frozenset(
    "base_url timeout retries concurrency api_key_env price_input price_output price_per_million batch_texts allow_pickle threads".split()
)
# Fields whose value says enough, without the field.
PLAIN = frozenset(
    "kind model provider path tokens pooling backend search fusion order retrievers splitter chunker callable arguments".split()
)
# Other words for fields, by stage. `{}` is the value.
WORDS = {
    "chunking": {"enrich": "enriched"},
    "embedding": {"max_tokens": "window{}", "dimensions": "{}d"},
    "retrieval": {},
    "rerank": {"max_tokens": "window{}"},
    "rewrite": {"recorded": "recorded_questions"},
    "context": {"budget": "context{}"},
    "answering": {"recorded": "recorded_answers"},
}
UNANSWERED = "unanswered"
# The first part of models whose maker everybody knows, for which names omit the maker.
_MAKERS = {
    "sentence-transformers": ("all-", "multi-qa-", "paraphrase-", "msmarco-"),
    "baai": ("bge-",),
    "intfloat": ("e5-", "multilingual-e5-"),
    "thenlper": ("gte-",),
    "nomic-ai": ("nomic-",),
    "mixedbread-ai": ("mxbai-",),
    "jinaai": ("jina-",),
    "qwen": ("qwen",),
    "cross-encoder": ("ms-marco-",),
}
# The longest text, what is kept of a longer one beside its length, and the longest text of a list or a mapping.
LONGEST, _KEPT = 40, 32
_LONGEST_OF_MANY = 72
# Files are named after configurations, the longest `.NAME.failed.ipynb.PROCESS.tmp`, and file systems allow 255 bytes.
MOST_BYTES = 255 - len("..failed.ipynb.4194304.tmp")
# Characters that no file name can have on some system, but the name of a chunker of another package.
_NOT_IN_FILES = re.compile(r'[\x00-\x1f\x7f/\\<>:"|?*]')
_DRIVE = re.compile(r"[a-z]:[\\/]")
_SUFFIX = re.compile(r"\.(md|txt|gguf|jsonl?|ya?ml|csv|parquet)$")
_CHARACTERS = {"\n": "newline", "\t": "tab", "\r": "return", " ": "space"}


def name_of(configuration: PipelineConfiguration, answers: bool = True) -> str:
    """Return the name of a configuration. `answers`: whether its experiment asks for answers, which a configuration can leave out."""
    chunking = configuration.chunking
    parts = [_NOT_IN_FILES.sub("_", chunking.name.lower()), *_fields("chunking", chunking, _said(chunking))]
    # With an embedder, sizes count in its vocabulary.
    if configuration.embedding is None and chunking.tokens == "model" and chunking.model != MINILM and chunking.sizes[0] is not None:
        parts.append(f"{_text(chunking.model)}_tokens")
    for stage, component in configuration.components.items():
        parts += _component(stage, component) if stage != "chunking" else []
    if answers and configuration.answering is None:
        parts.append(UNANSWERED)
    return _cut(parts)


def setting_fields(component: Component) -> Mapping[str, Any]:
    """Return the settings of a component that its name says: those that are not at their default."""
    settings = component.settings()
    return {name: value for name, value in settings.items() if name not in OMITTED and name != "kind"}


def _component(stage: str, component: Component) -> list[str]:
    kind = [] if component.kind == USUAL_KINDS.get(stage) else [WORDS.get(stage, {}).get(component.kind, _text(component.kind))]
    return [*kind, *_fields(stage, component, set())]


def _fields(stage: str, component: Component, said: set[str]) -> Iterator[str]:
    for field, value in setting_fields(component).items():
        if field not in said:
            yield _field(WORDS.get(stage, {}).get(field, ""), field, value)


def _said(chunker: Chunker) -> set[str]:
    """Return the fields that the name of a chunker says: it would be another one without their values. The experiment sets `model`."""
    said = {"model"}
    for field in setting_fields(chunker):
        info, value = type(chunker).model_fields[field], getattr(chunker, field)
        other = type(value)() if info.is_required() else info.default
        if chunker.model_copy(update={field: other}).name != chunker.name:
            said.add(field)
    return said


def _field(word: str, field: str, value: Any) -> str:
    if value is True:
        return word or field
    if value is False:
        return f"no_{field}"
    text = _value(value)
    if len(text) > _LONGEST_OF_MANY:
        text = f"{text[:_LONGEST_OF_MANY].rstrip('_.')}_{len(text)}"
    if word:
        return word.format(text)
    if field in PLAIN:
        return text
    glued = isinstance(value, int | float) and not field[-1].isdigit()
    return f"{field}{text}" if glued else f"{field}_{text}"


def _value(value: Any) -> str:
    """Spell a value with the letters of names."""
    match value:
        case None | bool():
            return str(value).lower()
        case int() | float():
            return str(value).replace("-", "minus").replace("+", "")
        case str():
            return _text(value)
        case {"tokens": int(tokens), **others} if not others:
            return f"{tokens}t"
        case Mapping():
            return "_".join(_member(str(name), part) for name, part in value.items()) or "empty"
    return "_".join(map(_value, value)) or "empty"


def _member(name: str, value: Any) -> str:
    """Spell a value under its name, a component by its kind and its settings."""
    if not (isinstance(value, Mapping) and "kind" in value):
        return f"{_text(name)}_{_value(value)}"
    kind = [] if value["kind"] == name else [_text(str(value["kind"]))]
    fields = [_field("", field, part) for field, part in value.items() if field != "kind" and field not in OMITTED]
    return "_".join([_text(name), *kind, *fields])


def _text(text: str) -> str:
    """Spell a text in lower case with `_` between its words: of a model without a maker that everybody knows, of a file without its suffix.

    A long text is cut, and its length takes the place of the rest: a path keeps its end, other texts their beginning.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    if _DRIVE.match(folded):
        folded = folded[len("c:") :].replace("\\", "/")
    path = "/" in folded and " " not in folded
    if path:
        maker, _, model = folded.partition("/")
        folded = model if model.startswith(_MAKERS.get(maker, ())) else folded.removeprefix("./")
        folded = folded.rsplit("/", 1)[-1] if folded.startswith("/") else folded
        folded = _SUFFIX.sub("", folded)
    words = re.sub(r"[^\w.]+|_+", "_", folded).strip("_")
    if not re.search(r"\w", words):
        return ".".join(_CHARACTERS.get(each) or unicodedata.name(each, "sign").lower().replace(" ", "_") for each in text) or "empty"
    if re.fullmatch(r"-?[\d.]+|true|false", folded):
        return f"text_{words}"
    if len(words) <= LONGEST:
        return words
    if path:
        end = words[-_KEPT:]
        return f"{len(text)}_{end.partition('_')[2] or end}"
    start = words[:_KEPT]
    return f"{start.rpartition('_')[0] or start}_{len(text)}"


def _cut(parts: list[str]) -> str:
    """Join the parts of a name. One that is too long for a file ends with how many of them it lacks."""
    name = "-".join(parts)
    kept = len(parts)
    while len(name.encode()) > MOST_BYTES and kept > 1:
        kept -= 1
        name = "-".join([*parts[:kept], f"and_{len(parts) - kept}_more"])
    return name if len(name.encode()) <= MOST_BYTES else name.encode()[:MOST_BYTES].decode("utf-8", "ignore")
