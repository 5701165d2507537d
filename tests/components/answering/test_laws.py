"""Every generator of the registry keeps the laws of `workbench.testing`; test_chat.py checks those with a prompt."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.components.answering.base import Generator
from workbench.components.registry import GENERATORS
from workbench.testing import GENERATOR_LAWS
from workbench.testing.generators import QUESTIONS


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Answers to some questions of the laws: by id, by text, and none for the last."""
    path = tmp_path_factory.mktemp("answers") / "answers.jsonl"
    rows = [
        {"query_id": "q0", "condition": "gold", "answer": "The harbour master.", "citations": [0, 4], "confidence": 0.5},
        {"query": QUESTIONS[1], "condition": "gold", "answer": "The north crane.", "correct": True},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.mark.parametrize("law", GENERATOR_LAWS)
@pytest.mark.parametrize("kind", [kind for kind in GENERATORS if kind not in ("chat", "local")])
def test_it_keeps_the_law(law: Callable[[Generator], None], kind: str, answers: Path) -> None:
    law(GENERATORS[kind].model_validate({"path": str(answers)} if kind == "recorded" else {}))
