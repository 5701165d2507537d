"""The stages of the pipeline. To add one, write its file and add a line here, or declare an entry point in another package."""

from collections.abc import Mapping

from workbench.core.registry import Registry
from workbench.runner.pipeline.stage import Stage
from workbench.runner.pipeline.stages.answering.answers import AnswersStage
from workbench.runner.pipeline.stages.answering.contexts import ContextsStage
from workbench.runner.pipeline.stages.chunks import ChunksStage
from workbench.runner.pipeline.stages.explanations import ChunkFaultsStage, ExplanationsStage
from workbench.runner.pipeline.stages.hits import HitsStage
from workbench.runner.pipeline.stages.judging.answer_causes import AnswerCausesStage
from workbench.runner.pipeline.stages.judging.claims import ClaimsStage
from workbench.runner.pipeline.stages.judging.judge_tests import JudgeTestsStage
from workbench.runner.pipeline.stages.judging.judgements import JudgementsStage
from workbench.runner.pipeline.stages.judging.verdicts import VerdictsStage
from workbench.runner.pipeline.stages.reranked import NeighboursStage, RerankedStage
from workbench.runner.pipeline.stages.responses import ResponsesStage
from workbench.runner.pipeline.stages.rewritten import FeedbackStage, RewrittenStage, RewrittenVectorsStage
from workbench.runner.pipeline.stages.scores import ScoresStage
from workbench.runner.pipeline.stages.vectors import IndexStage, QueriesStage, VectorsStage

_BUILTIN: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        ResponsesStage(),
        ChunksStage(),
        VectorsStage(),
        QueriesStage(),
        IndexStage(),
        RewrittenStage(),
        RewrittenVectorsStage(),
        FeedbackStage(),
        HitsStage(),
        RerankedStage(),
        NeighboursStage(),
        ScoresStage(),
        ExplanationsStage(),
        ChunkFaultsStage(),
        ContextsStage(),
        AnswersStage(),
        JudgeTestsStage(),
        ClaimsStage(),
        VerdictsStage(),
        JudgementsStage(),
        AnswerCausesStage(),
    )
}
STAGES: Mapping[str, Stage] = Registry(_BUILTIN, "workbench.stages", Stage)
