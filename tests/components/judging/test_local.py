"""Judgements of a GGUF file in this process."""

import json
from pathlib import Path

import pytest

from tests.components.judging.conftest import judged, support
from workbench.components.judging.base import TASKS, JudgeRequest
from workbench.components.judging.prompted import LocalJudge
from workbench.core.errors import ModelError
from workbench.core.records import Passage

HARBOUR = (Passage("d", 0, 52, "The harbour master of Tallow is called Ines Moraga."),)


def test_a_score_is_the_probability_of_yes_and_equal_when_it_is_judged_again(gguf: Path, tmp_path: Path) -> None:
    prompt = tmp_path / "mine.txt"
    prompt.write_text("{passages}\n\nStatement: {claims}\n\nDoes the document support the statement? Answer Yes or No.\nAnswer:")
    judge = LocalJudge(path=str(gguf), context_window=1024, threads=1, fenced=False, support_prompt=str(prompt))
    request = support("The harbour master of Tallow is Ines Moraga.", passages=HARBOUR)
    (first,) = judged(judge, [request])
    assert first.error == ""
    assert 0 < (first.score or 0) < 1
    assert first.verdict == ("supported" if (first.score or 0) >= 0.5 else "absent")
    assert (first.output_tokens, first.model) == (1, gguf.name)
    assert judged(judge, [request])[0].score == first.score


def test_a_model_that_is_about_to_write_something_else_is_unscored(gguf: Path) -> None:
    judge = LocalJudge(path=str(gguf), context_window=1024, threads=1)
    (judgement,) = judged(judge, [support("The harbour master of Tallow is Ines Moraga.", passages=HARBOUR)])
    assert judgement.score is None
    assert judgement.error == "the model was about to reply neither yes nor no (less than 50% of its probability)"
    assert judgement.input_tokens is not None


@pytest.mark.slow
def test_a_small_model_writes_json_by_the_schema_and_its_quote_is_checked(gguf: Path) -> None:
    judge = LocalJudge(path=str(gguf), replies="json", context_window=1024, threads=1, max_tokens=120)
    (judgement,) = judged(judge, [support("The harbour master of Tallow is Ines Moraga.", passages=HARBOUR)])
    assert judgement.verdict in ("supported", "contradicted", "absent") or judgement.error
    if judgement.passage >= 0:
        assert HARBOUR[0].text[judgement.start : judgement.end]


def test_a_prompt_beyond_the_window_is_unscored(gguf: Path) -> None:
    judge = LocalJudge(path=str(gguf), context_window=128, threads=1)
    (judgement,) = judged(judge, [support("It opens.", passages=(Passage("d", 0, 1, "word " * 400),))])
    assert judgement.score is None
    assert "the prompt has" in judgement.error


def test_the_identity_has_the_content_of_the_file_and_every_task_has_a_prompt(gguf: Path, tmp_path: Path) -> None:
    link = tmp_path / "renamed.gguf"
    link.symlink_to(gguf)
    judge = LocalJudge(path=str(gguf))
    for task in TASKS:
        assert LocalJudge(path=str(link), threads=1).identity(task) == judge.identity(task)
        assert LocalJudge(path=str(gguf), replies="json").identity(task) != judge.identity(task)
        assert judge.call([JudgeRequest(task, "q?", "a", "c", HARBOUR, ("e",))]).top_logprobs == 20
    assert judge.label == f"local: {gguf.name}"
    assert json.dumps(judge.recorded_settings())
    judge.check()


def test_a_missing_file_is_found_before_anything_is_asked() -> None:
    with pytest.raises(ModelError, match=r"nowhere.gguf"):
        LocalJudge(path="nowhere.gguf").check()
