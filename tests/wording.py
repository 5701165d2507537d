"""Compare the words of errors with a snapshot: one test for all wrong inputs of a function, one line for each (docs/testing.md)."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from workbench.core.errors import FaultsError, InputError


@pytest.fixture
def wording(snapshot: SnapshotAssertion, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., None]:
    """Call a function with each wrong input, which must raise an error of `kind`, and compare all texts with the snapshot of the test.

    A mapping names the inputs; otherwise they name themselves. The class of an error is part of its text if it is another than `kind`.
    If `kind` is None, the function returns the text. In the snapshot, temporary folders are FOLDER, this checkout is ROOT, ports are PORT, and
    words of pydantic PYDANTIC.
    """
    own = tmp_path_factory.getbasetemp()
    # A worker's folder has its name. Its environment does not tell it: pytest that a test starts inherits that.
    session = re.escape(str(own.parent if own.name.startswith("popen-") else own))
    folders = rf"{session}(/popen-gw\d+)?/[\w-]+(/tmp\w{{8}})?|{re.escape(tmp_path.name)}"
    pydantic = r"\b([A-Z][a-z]+ should|Input tag|Field required|Extra inputs)[^;\n]*"
    root = re.escape(str(Path(__file__).parents[1]))
    replaced = {folders: "FOLDER", root: "ROOT", r"(?<=127\.0\.0\.1:)\d+": "PORT", pydantic: "PYDANTIC"}

    def check(call: Callable[[Any], Any], cases: Mapping[str, Any] | Iterable[Any], kind: type[Exception] | None = InputError) -> None:
        pairs = list(cases.items() if isinstance(cases, Mapping) else ((_name(case), case) for case in cases))
        named = dict(pairs)
        assert len(named) == len(pairs), "two cases have one name"
        texts = {name: call(case) for name, case in named.items()} if kind is None else _errors(call, named, kind)
        lines = "\n".join(f"{name} → {text}".rstrip() for name, text in texts.items())
        for pattern, word in replaced.items():
            lines = re.sub(pattern, word, lines)
        assert lines == snapshot

    return check


def _name(case: object) -> str:
    name = case if isinstance(case, str) and case.isprintable() and case == case.strip() != "" else repr(case)
    return name if len(name) <= 200 else f"{name[:80]}… ({len(name):,} characters)"


def _errors(call: Callable[[Any], object], named: Mapping[str, Any], kind: type[Exception]) -> dict[str, str]:
    """Return the texts of the errors by name; fail with the names of inputs that raise no error, or one of another kind."""
    raised = {name: _raised(call, case) for name, case in named.items()}
    assert {name: error for name, error in raised.items() if not isinstance(error, kind)} == {}
    return {name: ("" if type(error) is kind else f"{type(error).__name__}: ") + _text(error) for name, error in raised.items()}


def _raised(call: Callable[[Any], object], case: object) -> Exception | None:
    try:
        call(case)
    except Exception as error:
        return error
    return None


def _text(error: Exception | None) -> str:
    text = "\n".join(error.lines) if isinstance(error, FaultsError) else str(error)
    return text.replace("\n", "\n    ")
