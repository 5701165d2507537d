"""A cheap judge that decides where it agrees with an expensive one."""

import json
import math
from collections.abc import Mapping
from typing import Any

import pytest

from tests.chat_provider import ChatProvider
from tests.components.judging.conftest import judge_of, judged, settings_of, support
from workbench.components.judging.base import JudgeRequest
from workbench.components.judging.cascade import CascadeJudge, trusted_scores
from workbench.components.judging.overlap import OverlapJudge
from workbench.components.registry import JUDGES
from workbench.core.errors import InputError

RELEVANT, OTHER = "When does the office open?", "Who painted the portrait of the duke?"


def requests_of(number: int) -> list[JudgeRequest]:
    """Claims of which every second has a cheap score near 1, others near 0."""
    return [support(f"The office opens in May {place}." if place % 2 else f"Zebras sleep standing {place}.") for place in range(number)]


def cheap_reply(body: Mapping[str, Any]) -> dict[str, Any]:
    """The cheap model is sure of offices, and undecided about every fifth claim; the expensive one knows zebras."""
    claim = body["messages"][-1]["content"].partition("<claims")[2]
    opens = "office opens" in claim
    if body["model"] == "cheap":
        place = int("".join(character for character in claim.partition(".")[0] if character.isdigit())[-2:] or 0)
        yes = 0.5 + (0.02 if opens else -0.02) if place % 5 == 0 else 0.95 if opens else 0.05
        return {
            "logprobs": [{"token": "Yes", "logprob": 0, "top_logprobs": [_token("Yes", yes), _token("No", 1 - yes)]}],
            "tokens": (50, 1),
        }
    verdict = {"claim": 1, "passage": 1, "quote": "opens in May", "verdict": "supported" if opens else "absent", "confidence": 1}
    return {"text": json.dumps({"verdicts": [verdict]}), "tokens": (200, 30)}


def _token(text: str, share: float) -> dict[str, Any]:
    return {"token": text, "logprob": math.log(share)}


def cascade_of(provider: ChatProvider, **settings: Any) -> CascadeJudge:
    cheap = judge_of(provider, model="cheap", replies="yes_no")
    return CascadeJudge(**({"cheap": cheap, "expensive": judge_of(provider, model="large"), "least": 20} | settings))


def test_the_expensive_judge_is_asked_for_a_sample_and_for_what_the_cheap_one_does_not_know(provider: ChatProvider) -> None:
    provider.reply_to = lambda body: cheap_reply(body)
    requests = requests_of(100)
    found = judged(cascade_of(provider), requests)
    assert [judgement.verdict for judgement in found] == ["absent", "supported"] * 50
    asked = [body["model"] for body in provider.asked]
    assert asked.count("cheap") == 100
    assert 20 <= asked.count("large") < 50
    decided = [judgement.flags[0] for judgement in found]
    assert decided.count("cascade decided by expensive") == asked.count("large")
    assert {flag for judgement in found for flag in judgement.flags[1:]} == {
        f"cascade expensive {asked.count('large')} of 100",
        *(flag for flag in found[0].flags if flag.startswith("cascade agreement 1.00 of ")),
    }
    cheap = next(judgement for judgement in found if judgement.flags[0] == "cascade decided by cheap" and judgement.verdict == "supported")
    assert cheap.score == cheap.confidence
    assert 0.8 < (cheap.score or 0) < 1
    large = next(judgement for judgement in found if judgement.model == "large")
    assert (large.input_tokens, large.output_tokens) == (250, 31)


def test_the_sample_does_not_depend_on_the_order_or_the_passages(provider: ChatProvider) -> None:
    provider.reply_to = lambda body: cheap_reply(body)
    judged(cascade_of(provider), requests_of(60))
    first = {body["messages"][-1]["content"].partition("<claims")[2][10:] for body in provider.asked if body["model"] == "large"}
    provider.asked.clear()
    judged(cascade_of(provider), requests_of(60)[::-1])
    assert {body["messages"][-1]["content"].partition("<claims")[2][10:] for body in provider.asked if body["model"] == "large"} == first


def test_judges_that_disagree_leave_everything_to_the_expensive_one(provider: ChatProvider) -> None:
    provider.reply_to = lambda body: cheap_reply(body) if body["model"] == "cheap" else {"text": '{"verdicts": [{"verdict": "absent"}]}'}
    requests = [request for request in requests_of(80) if "office" in request.claim]
    found = judged(cascade_of(provider), requests)
    assert {judgement.verdict for judgement in found} == {"absent"}
    # All are rejected, so that every score is trusted to be a no.
    assert sum(body["model"] == "large" for body in provider.asked) == 20


def test_a_score_without_verdicts_is_a_cheap_judge_too(provider: ChatProvider) -> None:
    provider.reply_to = lambda body: cheap_reply(body)
    cascade = cascade_of(provider, cheap=OverlapJudge())
    found = judged(cascade, requests_of(60))
    assert [judgement.verdict for judgement in found] == ["absent", "supported"] * 30
    assert 20 <= sum(body["model"] == "large" for body in provider.asked) < 30
    assert any("cascade decided by cheap" in judgement.flags for judgement in found)
    assert (cascade.gives_verdicts, cascade.finds_contradictions) == (True, False)


def test_a_failure_of_the_cheap_judge_goes_to_the_expensive_one_and_one_of_that_is_unscored(provider: ChatProvider) -> None:
    provider.faults_of = {"standing 4.": {"status": 500, "message": "out of order"}}
    provider.reply_to = lambda body: cheap_reply(body) if body["model"] == "large" else {"text": "Yes"}
    found = judged(cascade_of(provider), requests_of(30))
    assert [place for place, judgement in enumerate(found) if judgement.error] == [4]
    assert "out of order" in found[4].error
    assert {judgement.model for place, judgement in enumerate(found) if place != 4} == {"large"}


def test_every_task_has_a_sample_of_its_own(provider: ChatProvider) -> None:
    provider.faults, provider.lasting = [{"text": '{"rating": 9}'}], True
    requests = [
        JudgeRequest(task, RELEVANT, "In May.", passages=support("").passages[:1]) for task in ("context_relevance", "answer_relevance")
    ]
    found = judged(CascadeJudge(cheap=OverlapJudge(), expensive=judge_of(provider)), requests)
    assert [judgement.score for judgement in found] == [0.9, 0.9]
    assert found[0].verdict == ""


def test_nothing_is_judged_without_requests(provider: ChatProvider) -> None:
    assert judged(cascade_of(provider), []) == []


@pytest.mark.parametrize(
    ("pairs", "low", "high"),
    [
        ([(0.1, 0.0)] * 10 + [(0.9, 1.0)] * 10, 0.1, 0.9),
        ([(0.1, 0.0)] * 10 + [(0.5, 1.0), (0.5, 0.0)] * 4 + [(0.9, 1.0)] * 10, 0.1, 0.9),
        ([(0.1, 0.0)] * 3 + [(0.9, 1.0)] * 3, None, None),
        ([(0.1, 1.0)] * 10 + [(0.9, 0.0)] * 10, None, None),
        ([(0.1, 0.0), (None, 1.0), (0.2, None)], None, None),
        ([], None, None),
    ],
)
def test_scores_are_trusted_where_enough_sampled_items_agree(pairs: list[Any], low: float | None, high: float | None) -> None:
    trusted = trusted_scores(pairs, 0.9)
    assert (trusted.low, trusted.high) == (low if low is not None else float("-inf"), high if high is not None else float("inf"))
    if low is None:
        assert trusted.decision(0.0) is None
        assert trusted.decision(1.0) is None
        assert (trusted.agreement, trusted.sampled) == (None, 0)


def test_settings_name_both_judges_and_the_identity_has_both(provider: ChatProvider) -> None:
    settings = {"cheap": {"kind": "overlap"}, "expensive": {"kind": "chat", **settings_of(provider, "openai")}}
    cascade = JUDGES["cascade"].model_validate(settings)
    assert isinstance(cascade, CascadeJudge)
    assert cascade.settings()["cheap"] == {"kind": "overlap"}
    assert cascade.recorded_settings()["expensive"]["model"] == "words"
    assert cascade.label == "cascade: overlap, then chat: words"
    cascade.check()
    other = cascade.model_copy(update={"expensive": judge_of(provider, model="other")})
    assert other.identity("support") != cascade.identity("support")
    with pytest.raises(InputError, match="no kind 'overlp'"):
        CascadeJudge(cheap={"kind": "overlp"}, expensive={"kind": "overlap"})  # type: ignore[arg-type]  # as an experiment file has it
