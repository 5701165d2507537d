"""Every rewriter of the registry keeps the laws of `workbench.testing`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.components.registry import REWRITERS
from workbench.components.rewriting.base import Rewriter
from workbench.testing import REWRITER_LAWS
from workbench.testing.small_corpus import QUERIES


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reply to each query of the laws, by its text."""
    path = tmp_path_factory.mktemp("replies") / "replies.jsonl"
    lines = [json.dumps({"query": text, "rewrites": [f"{text} again", text]}) for text in dict.fromkeys(QUERIES)]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("law", REWRITER_LAWS)
@pytest.mark.parametrize("kind", REWRITERS)
def test_it_keeps_the_law(law: Callable[[Rewriter], None], kind: str, replies: Path) -> None:
    law(REWRITERS[kind].model_validate({"path": str(replies)} if kind == "recorded" else {}))
