"""Short names of configurations for people, made of the settings that vary in a run."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from workbench.core.memo import memoised
from workbench.core.text.formatting import setting
from workbench.report.results.run_tables import RunTables

Settings = Mapping[str, Any]
NONE = "none"
_SEPARATOR = " · "
_LONGEST = 40
# The stages in the order of their columns. Stages of other packages follow under their own names.
_TITLES = {
    "chunking": "chunking",
    "embedding": "embedding",
    "retrieval": "search",
    "rewrite": "rewriting",
    "rerank": "reranking",
    "context": "context",
    "answering": "answers",
    "prompt": "prompt",
}
# The parts of the name of a configuration when nothing varies.
_ALONE = ("chunking", "retrieval")
# The vocabulary that a chunker counts in is that of the embedder.
_FOLLOWS = {"chunking": ("model",)}
_KINDS = {"dense": "vectors", "bm25": "BM25", "mmr": "MMR", "rm3": "RM3", "openai": "OpenAI", "sentence-transformers": "", "packed": ""}
# Settings whose values are usual, and need no words.
_USUAL = (None, False, "", "auto", "standard", "exact", "rank", "model")
_PHRASES = {
    "max_tokens": "window {}",
    "dimensions": "{}d",
    "pooling": "{} pooling",
    "search": "approximate",
    "neighbours": "+ {} on each side",
    "budget": "{} tokens",
    "drop_duplicates": "duplicates dropped at {}",
    "order": "order {}",
    "fusion": "{}",
    "backend": "{}",
    "provider": "{}",
    "model": "{}",
    "path": "{}",
    "percentile": "percentile {}",
}
_PHRASES_OF = {("chunking", "window"): "{} sentences on each side", ("answering", "max_tokens"): "{} tokens"}
# The kinds that are named by their model.
_MODELLED = ("sentence-transformers", "openai", "ollama", "chat", "local")


@dataclass(frozen=True)
class SettingColumn:
    """A stage whose settings vary, with the text of each configuration. A target has no text, a stage that is left out the text `none`."""

    title: str
    texts: Mapping[str, str]
    stage: str

    @property
    def values(self) -> tuple[str, ...]:
        """The distinct texts in the order of the run, without empty ones."""
        return tuple(dict.fromkeys(filter(None, self.texts.values())))


@memoised(1)
def setting_columns(run: RunTables) -> tuple[SettingColumn, ...]:
    """Return a column for each stage whose settings vary between the configurations that are not targets."""
    return tuple(_column(stage, chosen) for stage, chosen in _stages(run).items() if _varies(stage, chosen))


@memoised(1)
def short_names(run: RunTables) -> Mapping[str, str]:
    """Map each configuration, failed ones included, to a short name that is unique in the run.

    It joins the texts of the settings that vary: `markdown 256 + titles · vectors`. A target has its own name.
    """
    stages = _stages(run)
    columns = setting_columns(run) or tuple(_column(stage, stages[stage]) for stage in _ALONE if stage in stages)
    names = {}
    for name in run.configurations_settings:
        texts = [column.texts.get(name, "") for column in columns]
        names[name] = _SEPARATOR.join(text for text in texts if text not in ("", NONE)) or name
    times = Counter(names.values())
    return {name: short if times[short] == 1 else name for name, short in names.items()}


def short_name(run: RunTables, configuration: str) -> str:
    """The name of a configuration for people, unique in the run."""
    return short_names(run).get(configuration, configuration)


def _stages(run: RunTables) -> dict[str, dict[str, Settings | None]]:
    """The settings of each configuration by stage, None where it is left out. Prompts are a stage of their own, targets have none."""
    piped = {name: stages for name, stages in run.configurations_settings.items() if not stages.get("target")}
    names = dict.fromkeys([*_TITLES, *(stage for stages in piped.values() for stage in stages if stage != "target")])
    settings: dict[str, dict[str, Settings | None]] = {stage: {} for stage in names}
    for name, stages in piped.items():
        parts = dict(stages)
        if (answering := parts.get("answering")) and answering.get("prompt"):
            parts["prompt"] = {"kind": "prompt", "text": answering["prompt"]}
            parts["answering"] = {field: value for field, value in answering.items() if field != "prompt"}
        for stage in names:
            settings[stage][name] = parts.get(stage)
    return {stage: chosen for stage, chosen in settings.items() if any(chosen.values())}


def _varies(stage: str, chosen: Mapping[str, Settings | None]) -> bool:
    # A configuration without vectors has no embedder, which is not a choice.
    values = [settings for settings in chosen.values() if settings or stage != "embedding"]
    return len({_identity(stage, settings) for settings in values}) > 1


def _column(stage: str, chosen: Mapping[str, Settings | None]) -> SettingColumn:
    left_out = "" if stage in ("embedding", "prompt") else NONE
    distinct = {_identity(stage, settings): settings for settings in chosen.values() if settings}
    labels = dict(zip(distinct, _labels(stage, list(distinct.values())), strict=True))
    title = _TITLES.get(stage, stage)
    if stage == "answering" and all(settings.get("model") for settings in distinct.values()):
        title = "model"
    return SettingColumn(title, {name: labels[_identity(stage, each)] if each else left_out for name, each in chosen.items()}, stage)


def _identity(stage: str, settings: Settings | None) -> str:
    own = {field: value for field, value in (settings or {}).items() if field not in _FOLLOWS.get(stage, ())}
    return json.dumps(own, sort_keys=True)


def _labels(stage: str, values: Sequence[Settings]) -> list[str]:
    """Name the settings of a stage: the kind with its sizes or its model, then what differs among those of the same kind."""
    models = _model_names(sorted({str(value["model"]) for value in values if value.get("model")}))
    fields = [_fields(stage, value) for value in values]
    texts: dict[tuple[str, tuple[str, ...]], set[str]] = defaultdict(set)
    sizes = Counter(str(value.get("kind")) for value in values)
    present: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for value, own in zip(values, fields, strict=True):
        for path, leaf in own.items():
            texts[str(value.get("kind")), path].add(json.dumps(leaf))
            present[str(value.get("kind")), path] += 1
    labels = []
    for value, own in zip(values, fields, strict=True):
        kind = str(value.get("kind"))
        head, told = _chunking(value) if stage == "chunking" else _head(value, models)
        differ = [path for path in own if len(texts[kind, path]) > 1 or present[kind, path] < sizes[kind]]
        phrases = [_phrase(stage, path, own[path], models) for path in differ if path[0] not in told]
        labels.append(", ".join(filter(None, [head, *dict.fromkeys(phrases)])))
    repeated = Counter(labels)
    return [label if repeated[label] == 1 else f"{label} ({number})" for number, label in enumerate(labels, 1)]


def _head(settings: Settings, models: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Name the kind, with the model and the dimensions that identify it, and return the fields that this tells."""
    kind = str(settings.get("kind", ""))
    words, told = [_KINDS.get(kind, kind.replace("-", " ").replace("_", " "))], ["kind"]
    if settings.get("model") and kind in _MODELLED:
        words, told = [models[str(settings["model"])]], ["kind", "model"]
    if settings.get("dimensions"):
        words.append(f"{settings['dimensions']}d")
        told.append("dimensions")
    if kind == "prompt":
        words, told = [_tail(settings["text"])], ["kind", "text"]
    if kind == "packed":
        words, told = [f"{settings['budget']:,} tokens"], ["kind", "budget"]
    return " ".join(filter(None, words)), tuple(told)


def _chunking(settings: Settings) -> tuple[str, tuple[str, ...]]:
    """Name a chunker as people do: `fixed 128 + 64`, `hierarchical 64 in 256`, `markdown 256 + titles`."""
    kind = str(settings.get("kind", ""))
    if kind == "callable":
        words = [str(settings["callable"]).replace(":", ".")]
    else:
        chosen = _splitter(str(settings.get("splitter") or settings.get("chunker") or ""))
        words = [" ".join(filter(None, (kind, chosen)))]
    if settings.get("child") and settings.get("parent"):
        words.append(f"{settings['child']} in {settings['parent']}")
    elif settings.get("size"):
        words.append(f"{settings['size']}{f' + {overlap}' if (overlap := settings.get('overlap')) else ''}")
    if (unit := settings.get("tokens", "model")) != "model":
        words.append("characters" if unit == "characters" else f"{unit} tokens")
    titled = " + titles" if settings.get("enrich") else ""
    told = ("kind", "callable", "splitter", "chunker", "child", "parent", "size", "overlap", "tokens", "enrich")
    return " ".join(words) + titled, told


def _splitter(class_name: str) -> str:
    """The words of the class of a library's splitter: `recursive` of RecursiveCharacterTextSplitter."""
    short = re.sub(r"(TextSplitter|Splitter|Chunker)$", "", class_name)
    short = re.sub(r"(?<=.)Character$", "", short)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", short).lower()


def _fields(stage: str, settings: Settings) -> dict[tuple[str, ...], Any]:
    return {path: value for path, value in _leaves(settings) if path[0] not in _FOLLOWS.get(stage, ())}


def _leaves(settings: Settings, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the values of nested settings with their paths."""
    for field, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*above, str(field)))
        else:
            yield (*above, str(field)), value


def _phrase(stage: str, path: tuple[str, ...], value: Any, models: Mapping[str, str]) -> str:
    """A setting in words, empty for a usual value. A setting of a nested component follows the component's name."""
    field = path[-1]
    if value in _USUAL or value in ({}, []):
        return ""
    if field == "kind":
        return f"with {_KINDS.get(str(value)) or value}"
    owner = "" if len(path) < 3 else f"{_KINDS.get(path[-2]) or path[-2]} "
    shown = models.get(str(value), _tail(value)) if isinstance(value, str) else f"{value:,}" if type(value) is int else setting(value)
    pattern = _PHRASES_OF.get((stage, field)) or _PHRASES.get(field) or f"{field.replace('_', ' ')} {{}}"
    if path[0] == "deliver":
        pattern = "{} tokens"
    return owner + pattern.format(shown if value is not True else "").strip()


def _tail(value: object) -> str:
    """The file's name of a path, the last part of a model's name, and long texts without their middle."""
    text = " ".join(str(value).split())
    text = PurePath(text).stem if re.search(r"\.\w{1,6}$", text) and "/" in text else text.rsplit("/", 1)[-1] if " " not in text else text
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}…{text[-_LONGEST // 2 :]}"


def _model_names(models: Sequence[str]) -> dict[str, str]:
    """Map models to names as short as they can be told apart: `MiniLM` of all-MiniLM-L6-v2."""
    names: dict[str, str] = {}
    for shorten in (lambda model: re.sub(r"^all-(\w+?)-L\d+-v\d+$", r"\1", _tail(model)), _tail, str):
        names = {model: shorten(model) for model in models}
        if len(set(names.values())) == len(names):
            break
    return names
