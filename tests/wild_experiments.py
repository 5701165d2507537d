"""Experiment files that nobody would write on purpose: valid ones, changed at any place in any way."""

import copy
import json
import math
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from workbench.core.errors import WorkbenchError
from workbench.core.text.printable import printable_line
from workbench.runner.experiment.read import ExperimentSpec, experiment_of, read_experiment

BASES = [
    {
        "name": "x",
        "dataset": {"kind": "golden", "path": "experiments/handbook", "split": "dev"},
        "pipeline": {
            "chunking": {"kind": "fixed", "size": 64, "overlap": 8, "tokens": "characters", "enrich": True},
            "retrieval": {"kind": "bm25", "k": 10, "k1": 1.2, "deliver": {"tokens": 500}},
        },
        "sweep": {"chunking": [{"kind": "fixed", "size": [128, 256], "overlap": [0, 64]}, {"kind": "sentence", "size": 256}]},
        "metrics": ["span_recall@2000t", "recall@5"],
        "primary": "recall@5",
        "baseline": "fixed-128-0-bm25-deliver_500t-k1_1.2",
        "average": "documents",
        "smallest_difference": 0.05,
        "spans": "chroma",
    },
    {
        "name": "y",
        "dataset": {"kind": "beir", "path": "data", "split": "test"},
        "pipeline": {
            "chunking": {"kind": "hierarchical", "child": 64, "parent": 256},
            "embedding": {
                "kind": "openai",
                "model": "words",
                "base_url": "http://localhost:9/v1",
                "max_tokens": 64,
                "tokenizer": "cl100k",
                "timeout": 9,
                "dimensions": 8,
            },
        },
        "sweep": {"retrieval": {"kind": "dense", "k": [5, 10], "search": "exact"}},
    },
    {
        "name": "z",
        "dataset": {"kind": "table", "path": "a.csv", "documents": "b.csv"},
        "pipeline": {
            "chunking": {"kind": "recursive", "size": 400, "overlap": 200},
            "embedding": {"kind": "sentence-transformers", "model": "all-MiniLM-L6-v2", "max_tokens": 128, "pooling": "standard"},
        },
        "sweep": {
            "embedding": [
                {"max_tokens": [64, 128]},
                {"kind": "static"},
                {"kind": "ollama", "model": "m", "max_tokens": 9, "tokenizer": "cl100k"},
            ]
        },
    },
]
WORDS = [
    *("", " ", "~nosuchuser", "~", "$HOME", "$", "${", "a\0b", "\ud800", "\x1b]0;x\x07", "\u202e", "\u2028", "a\nb", "../..", "/dev/zero"),
    *("x" * 300, "recall@5", "recall@0", "ndcg@10", "span_recall@5t", "@", "@5", "fixed", "whole", "semantic", "markdown", "bm25", "dense"),
    *(
        "callable",
        "chonkie",
        "langchain",
        "no:such",
        "late",
        "model",
        "characters",
        "cl100k",
        "http://[",
        "http://a:b@c?d=e",
        "NaN",
        "1e999",
    ),
    *("kind", "size", "path", "name", "__class__", "model_config", "<<", "!", "&a", "*a", "١", "²", "9" * 5000),
]
NUMBERS = [0, -1, 1, 2, 10**4, 2**31, 2**63, 2**64, 10**400, 0.5, -0.0, 5e-324, 1e308, math.nan, math.inf, -math.inf]
LEAVES = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(NUMBERS),
    st.sampled_from([None, True, False, date(2026, 1, 2), b"x", frozenset({1}), (1, 2)]),
    st.text(max_size=8),
    st.integers(),
    st.floats(),
)
KEYS = st.one_of(st.sampled_from(WORDS), st.text(max_size=4), st.integers(-2, 2), st.sampled_from([None, True, date(2026, 1, 2), 1.5]))
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6)


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield (*above, key)
        yield from places(part, (*above, key))


@st.composite
def wild_settings(draw: st.DrawFn, bases: Sequence[dict[str, Any]] = BASES) -> dict[str, Any]:
    """A valid experiment, one of the bases, with one to three values replaced, added, removed or nested."""
    settings = copy.deepcopy(draw(st.sampled_from(bases)))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(places(settings)) or [("name",)]))
        place: Any = settings
        for key in path[:-1]:
            place = place[key]
        change = draw(st.sampled_from(["replace", "replace", "add", "remove", "nest"]))
        if change == "remove":
            del place[path[-1]]
        elif change == "add" and isinstance(place, dict):
            place[draw(KEYS)] = draw(VALUES)
        else:
            place[path[-1]] = [place[path[-1]]] if (change == "nest" and path[-1] in range(9)) or change == "nest" else draw(VALUES)
    return settings


FRAGMENTS = st.one_of(
    st.sampled_from(
        [
            *(
                "- ",
                ": ",
                "{",
                "}",
                "[",
                "]",
                "\n",
                "\n  ",
                "\t",
                "'",
                '"',
                "#",
                "|\n",
                ">\n",
                "&a ",
                "*a",
                "<<: ",
                "!!python/name:os.system ",
                "---\n",
            ),
            *(
                "!!binary ",
                "!!int ",
                "!!set ",
                "!!timestamp x",
                "!!omap ",
                "? ",
                "%YAML 9.9\n",
                "\ufeff",
                "\0",
                "\x85",
                "\u2028",
                "\r",
                "\xa0",
                "é",
            ),
            *(
                "[" * 60,
                "{a: " * 60,
                "9" * 5000,
                "0x",
                "0o",
                "1_0",
                "12:30:45",
                "2026-13-45",
                "2026-01-02",
                ".nan",
                ".inf",
                "~",
                "@",
                "`",
                "\\ud800",
            ),
        ]
    ),
    st.text(max_size=6),
)


@st.composite
def wild_text(draw: st.DrawFn) -> str:
    """The text of a valid experiment with pieces inserted, removed and moved."""
    text = yaml.safe_dump(draw(st.sampled_from(BASES)), default_flow_style=draw(st.sampled_from([None, True, False])), sort_keys=False)
    for _ in range(draw(st.integers(1, 4))):
        start, length = draw(st.integers(0, len(text))), draw(st.integers(0, 12))
        piece = draw(FRAGMENTS) if draw(st.booleans()) else text[draw(st.integers(0, len(text))) :][: draw(st.integers(0, 40))]
        text = text[:start] + piece + text[start + length :]
    return text


@st.composite
def wild_override(draw: st.DrawFn) -> str:
    """A `--set` with a path that may exist and any value."""
    path = [str(key) for key in draw(st.sampled_from([path for base in BASES for path in places(base)]))]
    if draw(st.booleans()):
        path[draw(st.integers(0, len(path) - 1)) :] = draw(
            st.lists(st.sampled_from(["0", "7", "x", "", "kind", "9" * 5000, "²"]), max_size=3)
        )
    value = draw(st.one_of(FRAGMENTS, st.sampled_from(["5", "[1, 2]", "{}", "[]", "{kind: whole}", "{kind: [a]}", "[{kind: {}}]", "null"])))
    return f"{'.'.join(path)}{draw(st.sampled_from(['=', '=', '=', '']))}{value}"


def check_settings(settings: dict[str, Any]) -> None:
    """Nothing but a WorkbenchError of single lines leaves the reader, and what is accepted can be written down and identified."""
    _check(lambda: experiment_of(settings, "x.yaml"))


def check_file(path: Path, text: str, *overrides: str) -> None:
    """The same for a file."""
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    _check(lambda: read_experiment(path, overrides))


def _check(read: Callable[[], ExperimentSpec]) -> None:
    spec, error = _read(read)
    if spec is None:
        assert (error.exit_code, bool(error.lines)) == (2, True)
        assert all(line == printable_line(line) for line in error.lines), error.lines
        return
    assert not spec.allow_code
    json.dumps(spec.settings, allow_nan=False).encode()
    assert len({configuration.name for configuration in spec.configurations}) == len(spec.configurations) > 0


def _read(read: Callable[[], ExperimentSpec]) -> tuple[ExperimentSpec | None, Any]:
    try:
        return read(), None
    except WorkbenchError as error:
        return None, error
