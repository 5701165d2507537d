"""The rerankers that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from collections.abc import Mapping

from workbench.core.registry import Registry
from workbench.reranking.base import Reranker
from workbench.reranking.cross_encoder import CrossEncoderReranker
from workbench.reranking.endpoint import EndpointReranker
from workbench.reranking.late_interaction import LateInteractionReranker
from workbench.reranking.mmr import MMRReranker

_BUILTIN: dict[str, type[Reranker]] = {
    "late-interaction": LateInteractionReranker,
    "cross-encoder": CrossEncoderReranker,
    "endpoint": EndpointReranker,
    "mmr": MMRReranker,
}
RERANKERS: Mapping[str, type[Reranker]] = Registry(_BUILTIN, "workbench.rerankers", Reranker)
