"""Read the JSON files that Workbench wrote, which people can edit: a fault is one line that names the file and the fix."""

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from workbench.core.files import read_regular
from workbench.errors import InputError

Model = TypeVar("Model", bound=BaseModel)


def parsed_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raises ValueError for any other text, and for a repeated key, NaN and values that are nested too deeply."""
    try:
        # Half of a surrogate pair is JSON, and no text that can be written.
        text = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_constant)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def read_json(path: Path, what: str, fix: str) -> Any:
    """Return the value of a JSON file. `what` names it, such as `the baseline`. Raises InputError with the `fix` if it cannot be read."""
    try:
        return parsed_json(read_regular(path))
    except OSError as error:
        raise InputError(f"{what} {path} cannot be read ({error.strerror})", fix) from None
    except ValueError as error:
        raise InputError(f"{what} {path} is not JSON ({error})", fix) from None


def checked(model: type[Model], content: object, path: Path, fix: str) -> Model:
    """Return a value of a JSON file in its form. Raises InputError with the place of the first fault and the `fix`."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        where = ".".join(map(str, detail["loc"]))
        raise InputError(f"{path} is damaged: {f'{where!r:.120}: ' if where else ''}{detail['msg']}", fix) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r:.80} is repeated")
    return found


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no number")
