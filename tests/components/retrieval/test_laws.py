"""Every retriever of the registry, those of other packages included, keeps the laws of `workbench.testing`."""

from collections.abc import Callable

import pytest

from workbench.components.registry import RETRIEVERS
from workbench.components.retrieval.base import Retriever
from workbench.testing import RETRIEVER_LAWS

SETTINGS = [*((kind, {"k": 5}) for kind in RETRIEVERS), ("dense", {"k": 5, "search": "ann"})]


@pytest.mark.parametrize("law", RETRIEVER_LAWS)
@pytest.mark.parametrize(
    ("kind", "settings"), SETTINGS, ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values()))
)
def test_it_keeps_the_law(law: Callable[[Retriever], None], kind: str, settings: dict[str, object]) -> None:
    law(RETRIEVERS[kind].model_validate(settings))
