"""The settings of a monitor: the file monitor.yaml."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.components.context.conditions import RETRIEVED
from workbench.components.judging.settings import Judging
from workbench.core.component import field_fault
from workbench.core.errors import InputError
from workbench.core.records import Variant
from workbench.monitor.alerts.settings import AlertLimit, AlertSettings
from workbench.monitor.alerts.state import Webhook
from workbench.runner.experiment.judging_keys import judging_in, unjudged_by_default
from workbench.runner.experiment.yaml_file import read_yaml


class MonitorSettings(BaseModel):
    """The judges and the budget of a monitor, its alerts, and their webhook."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    budget: int = Field(default=100, ge=0, le=1_000_000, description="How many questions of a day are judged. 0 judges none.")
    judging: dict[str, Any] = Field(default={}, description="The judges, as in an experiment. Default: overlap, which needs no model.")
    calibration: str = Field(
        default="", description="The folder of a run whose judges were calibrated. Their errors are taken out of the estimates."
    )
    dataset: str = Field(default="", description="The dataset whose missing questions are counted. Default: none.")
    alerts: AlertSettings = Field(default=AlertSettings(), description="The limits of alerts and the rate of false ones.")
    webhook: Webhook | None = Field(default=None, description="A URL that gets each alert.")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read monitor.yaml. Raises InputError with all faults on one line."""
        return cls.of(read_yaml(path, tuple(cls.model_fields), "settings", "monitor.yaml"))

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """Return settings from a mapping. Raises InputError with all faults on one line."""
        try:
            made = cls.model_validate(settings)
        except ValidationError as error:
            raise InputError("; ".join(field_fault("monitor", dict(fault), cls.model_fields) for fault in error.errors())) from None
        made.judges()
        return made

    def judges(self) -> Judging:
        """Return the judges. Raises InputError with all faults of `judging`."""
        if not self.judging and (absent := unjudged_by_default()):
            raise InputError(f"the usual judges of a monitor need {absent[0]}", f"{absent[1]}, or name others in judging")
        faults: list[str] = []
        judging = judging_in(self.judging, [Variant(RETRIEVED)], faults)
        if judging is None:
            raise InputError("; ".join(faults) or "judging names no judges", "leave judging out for the default, or set budget: 0")
        return judging

    def limits(self) -> AlertSettings:
        """Return the settings of alerts. A score is no faithfulness, so that its limit is learned unless one is given."""
        if self.judges().support.gives_verdicts or "faithfulness" in self.alerts.model_fields_set:
            return self.alerts
        return self.alerts.model_copy(update={"faithfulness": AlertLimit()})
