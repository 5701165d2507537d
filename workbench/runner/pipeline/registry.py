"""The stages of the pipeline. To add one, write its file and add a line here, or declare an entry point in another package."""

from collections.abc import Mapping

from workbench.core.registry import Registry
from workbench.runner.pipeline.stage import Stage
from workbench.runner.pipeline.stages.answer_causes import AnswerCausesStage
from workbench.runner.pipeline.stages.answering import AnswersStage, ContextsStage
from workbench.runner.pipeline.stages.explanations import ChunkFaultsStage, ExplanationsStage
from workbench.runner.pipeline.stages.hits import HitsStage, NeighboursStage, RerankedStage
from workbench.runner.pipeline.stages.indexing import ChunksStage, IndexStage, QueriesStage, VectorsStage
from workbench.runner.pipeline.stages.judging import ClaimsStage, JudgementsStage, JudgeTestsStage, VerdictsStage
from workbench.runner.pipeline.stages.responses import ResponsesStage
from workbench.runner.pipeline.stages.rewritten import FeedbackStage, RewrittenStage, RewrittenVectorsStage
from workbench.runner.pipeline.stages.scores import ScoresStage

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
