"""Read the key `gate` of an experiment: the rules that `workbench gate` and the pytest plugin check."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, Field

from workbench.core.component import read_keys
from workbench.core.errors import InputError
from workbench.gate.rules import Floor, GateSettings, RetrievalTest, Subject, Tolerance, number_in

Item = TypeVar("Item")
Parsed = TypeVar("Parsed")
_FloorKind = Literal["specification", "inference"]


class RetrievalTestKeys(BaseModel):
    """A retrieval unit test as an experiment file gives it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    k: int = Field(ge=1, le=1000, description="How many documents are looked at.")
    query: str = Field(default="", description="The id of a question; without it every question of `slice`.")
    document: str = Field(default="", description="The id of the expected document; without it any relevant one.")
    slice: str = Field(default="all", description="A slice of the questions, such as `type=factoid`.")
    absent: bool = Field(default=False, description="Whether the document must not be among the first k.")


class GateKeys(BaseModel):
    """The key `gate` as an experiment file gives it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    configuration: str | None = Field(
        default=None,
        min_length=1,
        description="The configuration that is checked; by default the baseline of the experiment, or its only one.",
    )
    rules: list[str | dict[str, str]] = Field(
        default=[],
        description="Limits of means, such as `recall@5 >= 0.7`; a slice or a condition in brackets, `recall@5[type=multi-hop] >= 0.6`.",
    )
    floors: _FloorKind | None = Field(
        default=None,
        description="What a limit is about: these questions (`specification`, the default for retrieval), or others like them (`inference`, the default for "
        "answers). `{rule: faithfulness >= 0.85, kind: inference}` decides for one rule.",
    )
    baseline: str | None = Field(default=None, min_length=1, description="The file of a baseline, or the folder of a run.")
    release: str | None = Field(default=None, min_length=1, description="A baseline that is frozen at a release, against slow drift.")
    compare: list[str] = Field(
        default=[],
        description="The metrics that are compared with the baselines; by default the primary metric, and with answers the first metric of their content.",
    )
    tolerance: str | float = Field(
        default="5%", description="The largest drop that is tolerated: `5%` of the baseline's mean, or `0.05` in units of the metric."
    )
    max_unscored: str | float = Field(default="2%", description="The largest share of questions that may lack a value.")
    retrieval_tests: list[RetrievalTestKeys] = Field(
        default=[],
        description="Retrieval unit tests: `{k: 5}` for every question, `{k: 5, slice: type=factoid}`, `{query: q7, k: 3, document: travel}`, and "
        "`{query: q9, k: 5, document: old, absent: true}`.",
    )
    stale: str | None = Field(
        default=None, min_length=1, description="A folder with `stale.jsonl` and earlier documents, for the test of stale data."
    )


def gate_in(gate: Any, faults: list[str]) -> GateSettings | None:
    """Read the key `gate` of an experiment, or add its faults."""
    keys = read_keys(GateKeys, "gate", gate, 'gate: {rules: ["recall@5 >= 0.7"]}', faults)
    if keys is None:
        return None
    before = len(faults)
    floors = _parsed(keys.rules, _floor, faults)
    compare = _parsed(keys.compare, Subject.parse, faults)
    (tolerance,) = _parsed([str(keys.tolerance)], Tolerance.parse, faults) or [Tolerance()]
    (unscored,) = _parsed([str(keys.max_unscored)], share_in, faults) or [0.0]
    faults[before:] = [f"gate: {fault}" for fault in faults[before:]]
    return GateSettings(
        configuration=keys.configuration,
        floors=tuple(floors),
        floor_kind=keys.floors,
        compare=tuple(compare),
        baseline=_path(keys.baseline),
        release=_path(keys.release),
        tolerance=tolerance,
        max_unscored=unscored,
        retrieval_tests=tuple(RetrievalTest(test.k, test.query, test.document, test.slice, test.absent) for test in keys.retrieval_tests),
        stale=_path(keys.stale),
    )


def gate_of(settings: Mapping[str, Any], where: str) -> GateSettings:
    """Read the key `gate` of the settings in a run's manifest. Raises InputError with all faults."""
    faults: list[str] = []
    found = gate_in(settings["gate"], faults) if "gate" in settings else None
    if faults:
        raise InputError(f"{where}: {'; '.join(faults)}")
    return found or GateSettings()


def _floor(rule: str | dict[str, str]) -> Floor:
    if isinstance(rule, str):
        return Floor.parse(rule)
    kind, text = rule.get("kind"), rule.get("rule")
    if text is None or set(rule) - {"rule", "kind"} or kind not in (None, *get_args(_FloorKind)):
        fix = "write for example {rule: faithfulness >= 0.85, kind: inference}; the other kind is specification"
        raise InputError(f"{rule!r} is not a rule", fix)
    return Floor.parse(text, cast("_FloorKind | None", kind))


def share_in(text: str) -> float:
    """Parse a share such as `2%` or `0.02`. Raises InputError for another form."""
    share = number_in(text, f"the share {text}")
    if not 0 <= share < 1:
        raise InputError(f"the share {text} is out of range", "write for example 2%")
    return share


def _parsed(items: Sequence[Item], parse: Callable[[Item], Parsed], faults: list[str]) -> list[Parsed]:
    found: list[Parsed] = []
    for item in items:
        try:
            found.append(parse(item))
        except InputError as error:
            faults.append("; ".join(error.lines))
    return found


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None
