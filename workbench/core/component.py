"""The base of components: frozen values whose fields are their whole configuration."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from workbench.core.errors import InputError
from workbench.core.text.display import table_html
from workbench.core.text.formatting import meant

C = TypeVar("C", bound="Component")
M = TypeVar("M", bound=BaseModel)
# Plain words for pydantic's most frequent messages, by type of error. `{…}` are its details.
_MESSAGES = {
    "int_parsing": "not a whole number",
    "int_type": "not a whole number",
    "int_from_float": "not a whole number",
    "float_parsing": "not a number",
    "bool_parsing": "neither true nor false",
    "bool_type": "neither true nor false",
    "string_type": "not a text",
    "string_too_short": "too short (at least {min_length})",
    "string_too_long": "too long (at most {max_length})",
    "too_short": "too short (at least {min_length})",
    "too_long": "too long (at most {max_length})",
    "greater_than_equal": "smaller than {ge}",
    "greater_than": "not greater than {gt}",
    "less_than_equal": "larger than {le}",
    "less_than": "not smaller than {lt}",
    "finite_number": "not finite",
    "literal_error": "not {expected}",
    "model_type": "not a mapping of settings",
    "dict_type": "not a mapping of settings",
    "datetime_from_date_parsing": "not a time such as 2026-11-01T08:00:00Z",
    "datetime_parsing": "not a time such as 2026-11-01T08:00:00Z",
    "dataclass_type": "not a mapping such as {{tokens: 2000}}",
    "unexpected_keyword_argument": "an unknown key",
}


class Component(BaseModel):
    """A frozen value that rejects unknown fields. In a notebook it shows its settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    # Increased when the same settings begin to give other results.
    version: ClassVar[int] = 1
    # The fields that contain other components, with the base class of these.
    nested: ClassVar[Mapping[str, "type[Component]"]] = {}
    kind: str

    def __init__(self, *values: Any, **settings: Any) -> None:
        """Raise InputError with every fault on one line, where pydantic raises ValidationError."""
        if values:
            raise InputError(f"{type(self).__name__} takes its settings by name", f"they are {', '.join(type(self).model_fields)}")
        try:
            super().__init__(**settings)
        except ValidationError as error:
            faults = [field_fault(type(self).__name__, dict(detail), type(self).model_fields) for detail in error.errors()]
            raise InputError("; ".join(faults)) from None

    # Tells pydantic that `model_validate` need not call it, so that an experiment still gets each fault separately.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def of_kind(cls, settings: Mapping[str, Any]) -> Self:
        """Make a component of this class from settings with their `kind`, one of the imported subclasses. Raises ValueError for another."""
        kinds: dict[str, type[Self]] = {}
        for subclass in _subclasses(cls):
            # A subclass that keeps the kind of its base does not replace it.
            kinds.setdefault(str(subclass.model_fields["kind"].default), subclass)
        kind = str(settings.get("kind"))
        if kind not in kinds:
            raise ValueError(f"no kind {kind!r}{meant(kind, kinds)}; kinds are {', '.join(sorted(kinds))}")
        return kinds[kind].model_validate(settings)

    def check(self) -> None:
        """Raise an error if a file, package, model or key that the settings need is missing or does not fit.

        Loads no model, makes no request and runs no code.
        """

    @property
    def named_code(self) -> tuple[str, ...]:
        """Return the functions that the settings name as `package.module:function`. An experiment with any runs with permission only."""
        return code_named_by(inner_components(self))

    def load_code(self) -> None:
        """Import the functions in `named_code`. Raises InputError if one is missing or does not fit the settings."""
        for inner in inner_components(self):
            inner.load_code()

    def settings(self) -> dict[str, Any]:
        """Return the kind and the fields that differ from their defaults, as in an experiment file."""
        fields = self.model_dump(mode="json", exclude_defaults=True)
        return {"kind": self.kind} | {name: _settings(getattr(self, name), value) for name, value in fields.items()}

    def recorded_settings(self) -> dict[str, Any]:
        """Return every field as a run records it, with values that the environment gives."""
        return self.model_dump(mode="json")

    def _repr_html_(self) -> str:
        rows = [{"setting": name, "value": str(value)} for name, value in self.model_dump(mode="json").items() if name != "kind"]
        return table_html(type(self).__name__, rows)


def code_named_by(components: Iterable[Component]) -> tuple[str, ...]:
    """Return the functions that the settings of components name, each once."""
    return tuple(dict.fromkeys(name for component in components for name in component.named_code))


def inner_components(component: Component) -> Iterator[Component]:
    """Yield the components that the fields of a component contain, also in lists and mappings."""
    for _, value in component:
        yield from _components(value)


def _components(value: Any) -> Iterator[Component]:
    if isinstance(value, Component):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _components(part)


def _subclasses(kind: type[C]) -> Iterator[type[C]]:
    """Yield the subclasses that declare a kind."""
    for subclass in kind.__subclasses__():
        if "kind" in subclass.model_fields and isinstance(subclass.model_fields["kind"].default, str):
            yield subclass
        yield from _subclasses(subclass)


def _settings(value: Any, dumped: Any) -> Any:
    """Return the settings of components in a field, or the field's dumped value."""
    if isinstance(value, Mapping):
        return {name: _settings(part, dumped[name]) for name, part in value.items()}
    return value.settings() if isinstance(value, Component) else dumped


def _fields_at(known: Mapping[str, FieldInfo], path: Sequence[str | int]) -> Mapping[str, FieldInfo]:
    """Return the fields of the model at a path of names, none if a field there is not one model."""
    for name in path:
        kind = known[str(name)].annotation if str(name) in known else None
        known = kind.model_fields if isinstance(kind, type) and issubclass(kind, BaseModel) else {}
    return known


def field_fault(owner: str, detail: Mapping[str, Any], known: Mapping[str, FieldInfo] | None = None) -> str:
    """Return a fault of pydantic as one line: the owner, the field, its value and the reason. `known` are the fields of the owner."""
    field, value, kind = ".".join(str(part) for part in detail["loc"]), detail["input"], detail["type"]
    if kind == "missing":
        return f"{owner} needs {field!r}"
    if kind == "extra_forbidden":
        names = _fields_at(known or {}, detail["loc"][:-1])
        return f"{owner} has no parameter {field!r}" + (
            f"{meant(str(detail['loc'][-1]), names)}; it has {', '.join(names)}" if names else ""
        )
    # The message of a component's own check contains values, whose braces are no fields.
    known_message, own = _MESSAGES.get(kind), str(detail["msg"]).removeprefix("Value error, ")
    message = known_message.format(**detail.get("ctx", {})) if known_message else own
    if kind == "string_type" and callable(value):
        return f"{owner} {field} is the function {getattr(value, '__name__', value)}, not its name; write {field}='package.module:function'"
    quotes = f"; write it in quotes: '{value}'" if kind == "string_type" and isinstance(value, int | float) else ""
    # A check of the owner or of a whole mapping names the fault itself.
    if not field or (kind == "value_error" and isinstance(value, Mapping)):
        return f"{' '.join(filter(None, (owner, field)))}: {message}"
    return f"{owner} {field} is {value!r}{',' if kind in _MESSAGES else ':'} {message}{quotes}"


def read_keys(model: type[M], key: str, value: Any, example: str, faults: list[str]) -> M | None:
    """Read the mapping under a key by a model, or add its faults and return None."""
    if not is_mapping(value):
        faults.append(f"{key} is {value!r}, not a mapping; write for example {example}")
        return None
    try:
        return model.model_validate(value)
    except ValidationError as error:
        faults += [field_fault(key, dict(detail), model.model_fields) for detail in error.errors()]
        return None


def is_mapping(value: Any) -> bool:
    """Return True if a value is a mapping with text keys."""
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
