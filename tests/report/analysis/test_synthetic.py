import json
from dataclasses import replace
from typing import Any

import pandas as pd

from workbench.report.analysis.values import SyntheticQuestions, models_by_role, shared_families, synthetic_questions
from workbench.report.results.run_tables import RunTables


def written(run: RunTables, answering: dict[str, Any], judging: dict[str, Any] | None = None, **models: str) -> RunTables:
    """The run with its first questions written by models; those whose name begins with `accepted` are accepted."""
    marks: list[dict[str, Any]] = [
        {"synthetic": True, "accepted_by": "Ada" if name.startswith("accepted") else " ", "provenance": {"model": model}}
        for name, model in models.items()
    ]
    rows = [*map(json.dumps, marks), *["{}"] * (len(run.questions) - len(marks))]
    questions = run.questions.assign(metadata=pd.Series(rows, dtype="str"))
    settings = {name: {**each, "answering": answering} for name, each in run.configurations_settings.items()}
    manifest = {**run.manifest, "configurations": settings, "judging": judging}
    return replace(run, manifest=manifest, sources={**run.sources, "questions": lambda _: questions})


def test_a_run_without_models_has_no_synthetic_questions_and_no_family(unanswered: RunTables) -> None:
    assert synthetic_questions(unanswered) is None
    assert shared_families(unanswered) == ()
    assert set(models_by_role(unanswered).values()) == {()}


def test_synthetic_and_accepted_questions_are_counted_with_their_models(unanswered: RunTables) -> None:
    run = written(unanswered, {}, a="qwen3:4b", b="gpt-5", accepted="qwen3:4b")
    assert synthetic_questions(run) == SyntheticQuestions(3, 1, 120, ("gpt-5", "qwen3:4b"))
    assert synthetic_questions(run).waiting == 2


def test_a_family_with_several_roles_is_named_with_its_models(unanswered: RunTables) -> None:
    judging = {
        "support": {"kind": "cascade", "cheap": {"kind": "local", "path": "/llama/Qwen2.5-1.5B.gguf"}},
        "claims": {"kind": "sentences"},
    }
    run = written(unanswered, {"kind": "chat", "model": "claude-sonnet-4-5"}, judging, a="qwen3:4b", b="my-model")
    (shared,) = shared_families(run)
    assert shared.family == "qwen"
    assert shared.models == {"questions": ("qwen3:4b",), "judgements": ("Qwen2.5-1.5B.gguf",)}


def test_one_family_may_have_all_roles(unanswered: RunTables) -> None:
    run = written(unanswered, {"kind": "chat", "model": "gpt-5-mini"}, {"rubric": {"kind": "chat", "model": "gpt-5"}}, a="gpt-4.1")
    assert [list(shared.models) for shared in shared_families(run)] == [["questions", "answers", "judgements"]]


def test_the_models_of_answers_are_those_that_servers_name(answered_run: RunTables) -> None:
    assert models_by_role(answered_run)["answers"] == ("made",)


def test_models_that_are_not_known_share_no_family(unanswered: RunTables) -> None:
    assert shared_families(written(unanswered, {"kind": "chat", "model": "words"}, a="words")) == ()
