"""The rerankers that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from workbench.core.registry import Registry, components
from workbench.reranking.base import Reranker
from workbench.reranking.cross_encoder import CrossEncoderReranker
from workbench.reranking.endpoint import EndpointReranker
from workbench.reranking.late_interaction import LateInteractionReranker
from workbench.reranking.mmr import MMRReranker

RERANKERS: Registry[type[Reranker]] = components(
    Reranker, "workbench.rerankers", LateInteractionReranker, CrossEncoderReranker, EndpointReranker, MMRReranker
)
