"""The rerankers that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from workbench.components.reranking.base import Reranker
from workbench.components.reranking.cross_encoder import CrossEncoderReranker
from workbench.components.reranking.endpoint import EndpointReranker
from workbench.components.reranking.late_interaction import LateInteractionReranker
from workbench.components.reranking.mmr import MMRReranker
from workbench.core.registry import Registry, components

RERANKERS: Registry[type[Reranker]] = components(
    Reranker, "workbench.rerankers", LateInteractionReranker, CrossEncoderReranker, EndpointReranker, MMRReranker
)
