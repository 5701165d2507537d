"""Settings to components, with the faults of each in words."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from workbench.embedding.base import Embedder
from workbench.errors import InputError
from workbench.experiment.expand import is_mapping


def usable(component: BaseModel, faults: list[str]) -> bool:
    """Whether an embedder's model can be had, with the window and backend asked for: found out before anything runs."""
    try:
        if isinstance(component, Embedder):
            component.window()
            component.encoder()
    except InputError as error:
        faults.append(f"embedding: {error}")
        return False
    return True


def component(stage: str, settings: Any, table: Mapping[str, type[BaseModel]], faults: list[str]) -> BaseModel | None:
    """A component from its settings by the `kind` in its table; None, with its faults, if they do not make one."""
    if not is_mapping(settings):
        faults.append(f"{stage} is missing or not a mapping with a 'kind' ({', '.join(table)})")
        return None
    kind = settings.get("kind")
    if kind not in table:
        faults.append(f"{stage} has no kind {kind!r}{meant(str(kind), table)}; kinds are {', '.join(table)}")
        return None
    known = [field for field in table[kind].model_fields if (stage, field) != ("chunking", "model")]
    strange = [key for key in settings if key not in known]
    faults += [unknown(f"{stage} {kind!r}", key, known) for key in strange]
    try:
        made = table[kind].model_validate({key: value for key, value in settings.items() if key in known})
    except ValidationError as error:
        faults += [_fault(f"{stage} {kind!r}", dict(detail)) for detail in error.errors()]
        return None
    return None if strange else made


def _fault(owner: str, detail: dict[str, Any]) -> str:
    field = ".".join(str(part) for part in detail["loc"])
    message = str(detail["msg"]).removeprefix("Value error, ")
    if detail["type"] == "missing":
        return f"{owner} needs {field!r}"
    return f"{owner} {field} is {detail['input']!r}: {message}" if field else f"{owner}: {message}"


def unknown(owner: str, key: Any, known: Sequence[str]) -> str:
    """The fault of a key that nobody knows, with what was probably meant."""
    return f"{owner} has no parameter {key!r}{meant(str(key), known)}; it has {', '.join(known)}"


def meant(word: str, known: Iterable[str]) -> str:
    """The known word nearest to one that is not, in brackets; nothing where none is near."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""
