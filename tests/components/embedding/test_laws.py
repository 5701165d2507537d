"""Every embedder of the registry keeps the laws of `workbench.testing`; a new one is tested by its entry and its `examples`."""

from collections.abc import Callable

import pytest

from workbench.components.embedding.base import Embedder
from workbench.components.embedding.registry import EMBEDDERS
from workbench.testing import EMBEDDER_LAWS

ENTRIES = [(kind, dict(example)) for kind in EMBEDDERS for example in EMBEDDERS[kind].examples]


@pytest.fixture(params=ENTRIES, ids=lambda entry: "-".join([entry[0], *map(str, entry[1].values())]))
def embedder(request: pytest.FixtureRequest, new_provider: Callable, tiny_model: str) -> Embedder:
    kind, settings = request.param
    fields = EMBEDDERS[kind].model_fields
    if "base_url" in fields:
        settings = settings | {"base_url": new_provider().host + ("/v1" if kind == "openai" else "")}
    elif kind == "static":  # the whole vocabulary takes a minute to distil
        settings = settings | {"model": tiny_model}
    return EMBEDDERS[kind].model_validate(settings)


@pytest.mark.parametrize("law", EMBEDDER_LAWS)
def test_it_keeps_the_law(law: Callable[[Embedder], None], embedder: Embedder) -> None:
    law(embedder)
