"""The stages of the pipeline; a new one is its file and its line here, or an entry point of another package."""

from collections.abc import Mapping

from workbench.core.registry import with_plugins
from workbench.pipeline.stage import Stage
from workbench.pipeline.stages.chunk_faults import ChunkFaultsStage
from workbench.pipeline.stages.chunks import ChunksStage
from workbench.pipeline.stages.explanations import ExplanationsStage
from workbench.pipeline.stages.hits import HitsStage
from workbench.pipeline.stages.index import IndexStage
from workbench.pipeline.stages.queries import QueriesStage
from workbench.pipeline.stages.scores import ScoresStage
from workbench.pipeline.stages.vectors import VectorsStage

_BUILTIN: tuple[Stage, ...] = (
    ChunksStage(),
    VectorsStage(),
    QueriesStage(),
    IndexStage(),
    HitsStage(),
    ScoresStage(),
    ExplanationsStage(),
    ChunkFaultsStage(),
)
STAGES: Mapping[str, Stage] = with_plugins({stage.name: stage for stage in _BUILTIN}, "workbench.stages", Stage)
