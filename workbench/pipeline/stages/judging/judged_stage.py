"""The base of the stages that judge the answers of a variant."""

from typing import Any, ClassVar

from workbench.errors import RunError
from workbench.judging.settings import Judging
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Node, Stage
from workbench.records import Variant


class JudgedStage(Stage):
    """A stage with a result for each judged variant of a configuration that answers.

    The judges are those of the run, so what identifies them is in `Identity.run`.
    """

    setting: ClassVar[str] = "judging"
    # Judges write the caches of calls and vectors, which only the process that runs the sweep has.
    uses_cache: ClassVar[bool] = True

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        """Return whether the configuration answers and the run has judges."""
        return configuration.answering is not None and run.judging is not None

    def includes(self, variant: Variant, run: RunContext) -> bool:
        """Return whether the answers of the variant's condition are judged."""
        return variant.condition in run.judged_conditions

    def variant(self, variant: Variant) -> Variant:
        """Return the whole variant."""
        return variant

    def recorded(self, configuration: Configuration, run: RunContext) -> Any:
        """Return what identifies the judges."""
        return [self.identity(Node(self.name, configuration, part=part), run).run for part in self.parts(configuration, run)]

    @staticmethod
    def judging(run: RunContext) -> Judging:
        """Return the judges of the run. Raises RunError if it has none."""
        if run.judging is None:
            raise RunError("the run has no judges", "run the sweep again")
        return run.judging
