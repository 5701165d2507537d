"""Name configurations by the kind and sizes of their chunking, then by any other setting that differs between them."""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from workbench.core.fingerprint import fingerprint
from workbench.pipeline.configuration import PipelineConfiguration

# Values that names omit.
_USUAL = (
    ("kind", "dense"),
    ("kind", "sentence-transformers"),
    ("search", "exact"),
    ("backend", "auto"),
    ("pooling", "standard"),
    ("fusion", "rrf"),
    ("neighbours", 0),
    ("kind", "packed"),
    ("kind", "extractive"),
    ("order", "rank"),
)
# Fields whose values appear without the field's name.
_PLAIN = ("kind", "model", "search", "backend", "pooling", "fusion", "order", "provider", "prompt")
# Fields that are named in another way, or set by the experiment.
_OF_CHUNKERS = {"model", "enrich", "tokens"}
_LONGEST = 100
# Files are named after configurations, the longest `.NAME.failed.ipynb.PROCESS.tmp`, and file systems allow 255 bytes.
_BYTES = 255 - len("..failed.ipynb.4194304.tmp")
# Characters that no file name can have.
_NOT_IN_FILES = re.compile(r"[\x00-\x1f\x7f/\\]")


def named(configurations: Sequence[PipelineConfiguration], faults: list[str], own: Sequence[str] = ()) -> tuple[PipelineConfiguration, ...]:
    """Give configurations unique names that can be names of files. A repeated configuration is a fault.

    `own` are names that a person gave, empty for those that are named by their settings.
    """
    own = own or [""] * len(configurations)
    made = iter(_made_names([configuration for configuration, name in zip(configurations, own, strict=True) if not name]))
    names = [name or next(made) for name in own]
    # Some file systems do not distinguish capitals.
    for name, times in Counter(name.casefold() for name in names).items():
        if times > 1 and name in own:
            faults.append(f"{times} configurations have the name {name!r}; give another one")
        elif times > 1:
            faults.append(f"configuration {name!r} occurs {times} times; remove the repetitions")
    if any(own):
        seen: dict[str, str] = {}
        for name, configuration in zip(names, configurations, strict=True):
            settings = {stage: component.model_dump(mode="json") for stage, component in configuration.components.items()}
            if (first := seen.setdefault(fingerprint(settings), name)) != name:
                faults.append(f"configurations {first!r} and {name!r} have the same settings; remove one of them")
    return tuple(replace(configuration, name=name) for configuration, name in zip(configurations, names, strict=True))


def _made_names(configurations: Sequence[PipelineConfiguration]) -> list[str]:
    """Return a name for each configuration, of its chunking and of the settings in which it differs from others."""
    fields = [_fields(configuration) for configuration in configurations]
    stages = list(dict.fromkeys(owner for values in fields for owner, _ in values))
    keys = sorted(dict.fromkeys(itertools.chain(*fields)), key=lambda key: stages.index(key[0]))
    texts = {key: _texts(key, [values[key] for values in fields if key in values]) for key in keys}
    names = []
    for configuration, values in zip(configurations, fields, strict=True):
        parts = [spelling[fingerprint(values[key])] for key, spelling in texts.items() if len(spelling) > 1 and key in values]
        names.append("-".join([configuration.name, *filter(None, parts)]))
    same_file = Counter(name.casefold() for name in set(names))
    return [_file_name(name, same_file[name.casefold()] > 1) for name in names]


def _file_name(name: str, ambiguous: bool) -> str:
    """Return a name if it can name files. Otherwise replace invalid characters, cut it, and append a hash of the full name."""
    plain = _NOT_IN_FILES.sub("_", name)
    if plain == name and not ambiguous and len(name.encode()) <= _BYTES:
        return name
    ending = f"-{fingerprint(name)[:8]}"
    return plain.encode()[: _BYTES - len(ending)].decode("utf-8", "ignore") + ending


def _fields(configuration: PipelineConfiguration) -> dict[tuple[str, str], JsonValue]:
    """Return every value that a name can include, by owner and field. A chunker's fields count only among chunkings of the same name."""
    chunking = configuration.chunking
    fields: dict[tuple[str, str], JsonValue] = {("", "enrich"): chunking.enrich, ("", "tokens"): chunking.tokens}
    own = chunking.model_dump(mode="json", exclude=_OF_CHUNKERS)
    fields |= {(f"chunking {configuration.name}", field): value for field, value in own.items()}
    for stage, part in configuration.components.items():
        if stage != "chunking":
            fields |= {(stage, field): value for field, value in part.model_dump(mode="json").items()}
    # A stage that a configuration leaves out differs from any kind.
    for stage in ("rewrite", "rerank", "answering"):
        fields.setdefault((stage, "kind"), None)
    return fields


def _texts(key: tuple[str, str], values: Iterable[JsonValue]) -> Mapping[str, str]:
    """Return the text of each value of a field by its fingerprint, in the shortest spelling that distinguishes the values."""
    distinct = {fingerprint(value): value for value in values}
    ways: tuple[Callable[[JsonValue], str], ...] = (_tail, str, lambda value: f"{_tail(value)[: _LONGEST // 2]}_{fingerprint(value)[:6]}")
    for way in ways:
        texts = {identity: _text(key, value, way) for identity, value in distinct.items()}
        if len(set(texts.values())) == len(texts) and max(map(len, texts.values())) <= _LONGEST:
            break
    return texts


def _tail(value: JsonValue) -> str:
    """Format a value as text, keeping only the last part of a path or of a model's name, and the names of components by name."""
    if isinstance(value, Mapping) and all(isinstance(part, Mapping) for part in value.values()):
        return " ".join(value)
    return str(value).rsplit("/", 1)[-1]


def _text(key: tuple[str, str], value: JsonValue, way: Callable[[JsonValue], str]) -> str:
    owner, field = key
    if not owner:
        return {"enrich": "enriched" if value else "", "tokens": "" if value == "model" else str(value)}[field]
    if value in (None, {}) or (field, value) in _USUAL:
        return ""
    text = re.sub(r"[^a-z0-9.]+", "_", way(value).lower()).strip("_")
    return text if field in _PLAIN else f"{field}{text}"
