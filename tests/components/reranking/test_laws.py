"""Every reranker of the registry, those of other packages included, keeps the laws of `workbench.testing`."""

import sys
from collections.abc import Callable

import pytest

from workbench.components.registry import RERANKERS
from workbench.components.reranking.base import Reranker
from workbench.testing import RERANKER_LAWS

from .conftest import RerankServer


@pytest.fixture(params=list(RERANKERS))
def reranker(request: pytest.FixtureRequest, cross_encoder: str, new_server: Callable[[], RerankServer]) -> Reranker:
    kind = request.param
    settings: dict[str, object] = {}
    if "base_url" in RERANKERS[kind].model_fields:
        settings = {"model": "any", "base_url": new_server().address}
    elif kind == "cross-encoder":
        settings = {"model": cross_encoder}
    return RERANKERS[kind].model_validate(settings)


@pytest.mark.parametrize("law", RERANKER_LAWS)
def test_it_keeps_the_law(law: Callable[[Reranker], None], reranker: Reranker) -> None:
    law(reranker)


def test_building_a_reranker_and_its_identity_loads_no_model(run_python: Callable[..., str], cross_encoder: str) -> None:
    script = """
import sys
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.registry import RERANKERS
for kind in RERANKERS.builtin:
    settings = {"cross-encoder": {"model": sys.argv[1]}, "endpoint": {"model": "m", "base_url": "http://localhost:9/v1"}}
    reranker = RERANKERS[kind].model_validate(settings.get(kind, {})).beside(SentenceTransformerEmbedder(backend="torch"))
    reranker.check()
    reranker.identity()
    print(kind, reranker.fault, *(name for name in ("torch", "openvino", "sentence_transformers", "openai") if name in sys.modules))
"""
    assert [line.split() for line in run_python(script, cross_encoder).splitlines()] == [[kind] for kind in RERANKERS.builtin]
    assert "torch" in sys.modules
