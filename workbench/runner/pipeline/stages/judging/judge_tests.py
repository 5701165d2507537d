"""Qualify each judge of the run by a self-test on known answers: it is called a judge if it passes, else a score."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import ClassVar

import pandas as pd

from workbench.components.judging.trust import known_answers, trust
from workbench.core.schemas import SCHEMAS
from workbench.core.storage.result_store import ResultWriter
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage import Identity, Inputs, Node, TableMakers
from workbench.runner.pipeline.stage_results import StageResults
from workbench.runner.pipeline.stages.judging.judged_stage import JudgingStage
from workbench.runner.pipeline.stored_answers import FAILED, trust_in


def _judges_table(results: StageResults) -> pd.DataFrame:
    """Tabulate the result of the self-test of each task's judge."""
    return pd.DataFrame([asdict(trust_in(entry)) for entry in results.parts("judge_tests")])


class JudgeTestsStage(JudgingStage):
    """A result for each task of the run: values `trust`, the fields of `Trust`. All configurations and all runs with equal judges share it."""

    name = "judge_tests"
    setting: ClassVar[str] = "judging"
    tables: ClassVar[TableMakers] = {SCHEMAS["judges"]: _judges_table}

    def parts(self, configuration: Configuration, run: RunContext) -> Sequence[str]:
        return tuple(run.judges)

    def identity(self, node: Node, run: RunContext) -> Identity:
        task, judge = run.judge_of(node.part)
        return Identity(run=[[judge.identity(task), judge.label, [asdict(case) for case in known_answers(task)]]])

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Test the judge. If a call of a model failed, the next run asks again."""
        run = inputs.run
        task, judge = run.judge_of(inputs.node.part)
        found = trust(judge, task, run.answer_resources, run.workspace.store)
        writer.values("trust", asdict(found))
        writer.values(
            "missing", {"failed": [FAILED] * found.failed_calls, "unread": [], "of": len(known_answers(task)) if judge.calls_model else 0}
        )
        if found.failed_calls:
            writer.mark_incomplete()
