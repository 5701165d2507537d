"""The rerankers that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from collections.abc import Mapping

from workbench.core.registry import Registry
from workbench.reranking.base import Reranker
from workbench.reranking.mmr import MMRReranker

_BUILTIN: dict[str, type[Reranker]] = {"mmr": MMRReranker}
RERANKERS: Mapping[str, type[Reranker]] = Registry(_BUILTIN, "workbench.rerankers", Reranker)
