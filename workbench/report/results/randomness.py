"""The parts of a configuration whose values can differ when they are computed again."""

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.report.results.run_tables import RunTables

# Answers and judgements of these kinds are computed in this process, from the text alone.
_DETERMINISTIC = ("extractive", "recorded", "overlap", "sentences", "local", "cascade")
# Embedders and rerankers behind a server, whose numbers can differ from call to call.
_SERVED = ("openai", "ollama", "endpoint")
# Stages that retrieval does not depend on, and the one that is random unless it is recorded.
_LATER = ("answering", "target")


def random_parts(run: RunTables, configuration: str, metric: str) -> tuple[str, ...]:
    """Name the parts of a configuration that are not deterministic and that a metric depends on, such as `answering: chat`. Empty: none."""
    parts = random_retrieval(run, configuration)
    measure = run.measures.get(metric)
    if measure is not None and not measure.of_answers:
        return parts
    judges = _random_judges(run.judging) if measure is None or measure.judged else []
    return (*parts, *random_answers(run, configuration), *judges)


def random_retrieval(run: RunTables, configuration: str) -> tuple[str, ...]:
    """Name the parts before the answers that are not deterministic, which repeats of answers do not repeat."""
    settings = run.configurations_settings[configuration]
    target = settings.get("target")
    parts = [f"target: {target['kind']}"] if isinstance(target, Mapping) and target["kind"] != "recorded" else []
    stages = {
        stage: sorted(_kinds(part) & set(_SERVED)) for stage, part in settings.items() if isinstance(part, Mapping) and stage not in _LATER
    }
    return (*parts, *(f"{stage}: {kind}" for stage, kinds in stages.items() for kind in kinds))


def random_answers(run: RunTables, configuration: str) -> tuple[str, ...]:
    """Name the generator if its answers can differ from call to call. The answers of a target belong to the target."""
    settings = run.configurations_settings[configuration]
    kind = "" if settings.get("target") else _kind(settings.get("answering"))
    return (f"answering: {kind}",) if kind and kind not in _DETERMINISTIC else ()


def _random_judges(judging: Mapping[str, Any] | None) -> list[str]:
    tasks = {name: settings for name, settings in (judging or {}).items() if isinstance(settings, Mapping)}
    kinds = {name: _kinds(settings, inside=("embedding",)) - set(_DETERMINISTIC) for name, settings in tasks.items() if "kind" in settings}
    return [f"judging.{name}: {kind}" for name, found in kinds.items() for kind in sorted(found)]


def _kinds(settings: Mapping[str, Any], inside: Sequence[str] = ()) -> set[str]:
    """Return the kinds of a component and of those that it contains, but not of those in the fields `inside`."""
    values = [value for name, value in settings.items() if name not in inside]
    inner = [part for value in values for part in (value if isinstance(value, list) else [value]) if isinstance(part, Mapping)]
    return {_kind(settings)}.union(*(_kinds(part, inside) for part in inner)) - {""}


def _kind(settings: object) -> str:
    return str(settings["kind"]) if isinstance(settings, Mapping) and "kind" in settings else ""
