"""Read the key `targets` of an experiment: the systems under test, each a configuration."""

from collections.abc import Sequence
from typing import Any, cast

from workbench.experiment.validate import Settings, component, is_mapping, usable
from workbench.metrics.names import Metric
from workbench.pipeline.configuration import Configuration, TargetConfiguration
from workbench.targets.base import Target
from workbench.targets.registry import TARGETS


def only_targets(settings: Settings) -> bool:
    """Return whether an experiment has targets and no configuration of Workbench's own pipeline."""
    return bool(settings.get("targets")) and not any(key in settings for key in ("pipeline", "sweep", "configurations"))


def targets_in(settings: Settings, faults: list[str]) -> tuple[Configuration, ...]:
    """Return the configuration of each target in the order of the file, or add faults."""
    given: Any = settings.get("targets", [])
    if not (isinstance(given, list) and all(map(is_mapping, given))):
        faults.append(f"targets is {given!r}, not a list of targets; write for example targets: [{{kind: http, name: my-service, …}}]")
        return ()
    configurations = []
    for number, each in enumerate(given):
        place = f"targets.{number}"
        if (made := component(place, each, TARGETS, faults)) and usable(place, made, faults):
            configurations.append(TargetConfiguration.of(cast(Target, made)))
    return tuple(configurations)


def name_faults(configurations: Sequence[Configuration]) -> list[str]:
    """Return the faults of targets with the name of another configuration. Some file systems do not distinguish capitals."""
    seen, faults = set[str](), []
    for configuration in configurations:
        if configuration.targets and configuration.name.casefold() in seen:
            faults.append(f"the name {configuration.name!r} is that of two configurations; give the target another name")
        seen.add(configuration.name.casefold())
    return faults


def beyond_target(metrics: Sequence[Metric], configurations: Sequence[Configuration]) -> list[str]:
    """Return the faults of metrics that read more hits than a target is asked for."""
    return [
        f"metric {metric} reads {metric.k} hits, and the target {target.name} is asked for {target.k}; raise its k"
        for configuration in configurations
        for target in configuration.targets
        for metric in metrics
        if metric.k is not None and not metric.of_answers and metric.k > target.k
    ]
