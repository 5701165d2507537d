"""Judgements of chat models: what is sent to each provider, what a reply becomes, and the reason of each failure."""

import json
import math
from pathlib import Path

import pytest

from tests.chat_provider import ChatProvider
from tests.components.judging.conftest import PASSAGES, judge_of, judged, settings_of, support
from workbench.components.judging.base import TASKS, JudgeRequest
from workbench.components.judging.prompt_file import PROMPTS
from workbench.components.judging.prompted import ChatJudge
from workbench.components.judging.replies import yes_no_judgement
from workbench.core.errors import InputError
from workbench.core.records import Passage
from workbench.llm.session import CallLimits

PROVIDERS = ("openai", "anthropic", "ollama")
MAY = {"claim": 1, "passage": 1, "quote": "opens in May, and closes", "verdict": "supported", "confidence": 0.9}
RELEVANCE = JudgeRequest("context_relevance", "When does the office open?", passages=PASSAGES[:1])
CORRECT = JudgeRequest("correctness", "When does it open?", "In May.", expected=("May", "in spring"))


def verdicts(*entries: dict[str, object]) -> str:
    return json.dumps({"verdicts": list(entries)})


def logprobs(**values: float) -> list[dict[str, object]]:
    return [{"token": "Yes", "logprob": -0.1, "top_logprobs": [{"token": token, "logprob": value} for token, value in values.items()]}]


@pytest.mark.parametrize("kind", PROVIDERS)
def test_a_verdict_names_the_words_that_decide_with_every_provider(kind: str, provider: ChatProvider) -> None:
    provider.faults = [{"text": verdicts(MAY), "tokens": (600, 30)}]
    (judgement,) = judged(judge_of(provider, kind, price_input=2, price_output=10), [support("It opens in May.")])
    assert (judgement.score, judgement.verdict, judgement.confidence, judgement.error) == (1.0, "supported", 0.9, "")
    assert PASSAGES[judgement.passage].text[judgement.start : judgement.end] == "opens in May,\nand closes"
    assert (judgement.input_tokens, judgement.output_tokens, judgement.model, judgement.cached) == (600, 30, "words", False)
    assert judgement.cost == pytest.approx(0.0015)
    (body,) = provider.asked
    schema = {
        "openai": lambda: body["response_format"]["json_schema"]["schema"],
        "anthropic": lambda: body["output_config"]["format"]["schema"],
        "ollama": lambda: body["format"],
    }[kind]()
    assert schema["properties"]["verdicts"]["items"]["properties"]["verdict"]["enum"] == ["supported", "contradicted", "absent"]


def test_more_than_nine_claims_of_one_call_keep_their_numbers(provider: ChatProvider) -> None:
    entries = [{"claim": number, "verdict": "absent"} for number in range(11, 1, -1)]
    provider.faults = [{"text": verdicts(*entries, MAY)}]
    claims = ["It opens in May.", *(f"It has {number} rooms." for number in range(2, 12))]
    found = judged(judge_of(provider, claims_per_call=11), [support(claim) for claim in claims])
    assert [judgement.verdict for judgement in found] == ["supported", *["absent"] * 10]


def test_the_passages_come_first_and_the_claims_last_between_marks(provider: ChatProvider) -> None:
    judged(judge_of(provider), [support("It opens in May.")])
    system, user = provider.asked[0]["messages"]
    assert "supported" in system["content"]
    text = user["content"]
    marks = ["<passage 1 ", "<passage 2 ", "<question ", "<answer ", "<claims "]
    assert [text.index(mark) for mark in marks] == sorted(text.index(mark) for mark in marks)
    assert text.startswith("Texts between <… ")
    assert "1. It opens in May.\n</claims " in text


def test_calls_about_one_context_begin_equally(provider: ChatProvider) -> None:
    judged(judge_of(provider), [support("It opens in May."), support("It is free.", answer="Another answer.")])
    first, second = provider.prompts()
    assert first.partition("<answer")[0] == second.partition("<answer")[0]


def test_claims_share_a_call_only_within_an_answer_and_a_context(provider: ChatProvider) -> None:
    provider.reply_to = lambda body: {
        "text": verdicts(
            *({"claim": number, "verdict": "absent"} for number in (1, 2) if f"\n{number}. " in body["messages"][-1]["content"])
        )
    }
    claims = ["first claim", "second claim", "third claim", "fourth claim"]
    requests = [support(claim) for claim in claims[:2]]
    requests += [support(claims[0], answer="Other."), support(claims[2]), support(claims[3], passages=PASSAGES[:1])]
    found = judged(judge_of(provider, claims_per_call=2), requests)
    assert [judgement.verdict for judgement in found] == ["absent"] * 5
    shared = [[number for number, claim in enumerate(claims) if claim in text] for text in provider.prompts()]
    assert sorted(shared) == [[0], [0, 1], [2], [3]]


def test_tokens_and_cost_of_a_call_are_shared_by_its_claims(provider: ChatProvider) -> None:
    provider.faults = [{"text": verdicts(*({"claim": number, "verdict": "absent"} for number in (1, 2, 3))), "tokens": (100, 10)}]
    found = judged(judge_of(provider, claims_per_call=3, price_input=1, price_output=1), [support(text) for text in "abc"])
    assert [judgement.input_tokens for judgement in found] == [34, 33, 33]
    assert sum(judgement.output_tokens or 0 for judgement in found) == 10
    assert sum(judgement.cost or 0 for judgement in found) == pytest.approx(0.00011)


def test_verdicts_with_other_numbers_than_the_claims_have_are_of_no_claim(provider: ChatProvider, wording) -> None:
    def error_of(numbers: list[object]) -> str:
        # The number None is left out.
        provider.faults = [{"text": verdicts(*({"verdict": "absent"} | ({"claim": each} if each is not None else {}) for each in numbers))}]
        found = judged(judge_of(provider, claims_per_call=3), [support(text) for text in "abc"])
        assert [judgement.score for judgement in found] == [None] * 3
        (error,) = {judgement.error for judgement in found}
        return error

    numberings = {
        "from 0": [0, 1, 2], "from 2": [2, 3, 4], "one missing": [1, 3], "one repeated": [1, 2, 2], "repeated, and one too many": [1, 2, 3, 3],
        "no whole number": [1, 2, 2.5], "true": [True, 2, 3], "letters": ["a", "b", "c"], "without numbers": [None, None, None], "none": [],
        "one without": [1, 2, None], "negative": [-1, -2, -3],
    }  # fmt: skip
    wording(error_of, numberings, None)


def test_a_lone_claim_needs_no_number_and_has_no_other_than_1(provider: ChatProvider) -> None:
    provider.faults = [{"text": verdicts({"verdict": "absent"})}, {"text": '{"verdict": "absent"}'}]
    provider.faults += [{"text": verdicts({"verdict": "absent", "claim": number})} for number in (0, 2)]
    found = judged(judge_of(provider), [support(claim) for claim in "abcd"])
    assert [judgement.verdict for judgement in found] == ["absent", "absent", "", ""]
    assert found[2].error == "the reply numbers its verdicts 0, and the claim is number 1"


def test_numbers_in_other_forms_are_those_of_the_claims_in_any_order(provider: ChatProvider) -> None:
    entries = [
        MAY | {"claim": "3", "passage": "1"},
        {"claim": 1.0, "verdict": "absent"},
        MAY | {"claim": " 2.", "verdict": "contradicted", "confidence": "0.75"},
    ]
    provider.faults = [{"text": verdicts(*entries)}]
    found = judged(judge_of(provider, claims_per_call=3), [support(text) for text in "abc"])
    assert [judgement.verdict for judgement in found] == ["absent", "contradicted", "supported"]
    assert [judgement.confidence for judgement in found] == [None, 0.75, 0.9]


def test_a_quote_in_other_typography_decides_as_well_as_no_quote(provider: ChatProvider) -> None:
    text = "The \u201cnight desk\u201d \u2013 on Cafe\u0301 Street \u2013 isn\u2019t staffed."
    passages = (Passage("d", 0, len(text), text),)
    for verdict, score in (("supported", 1.0), ("contradicted", 0.0)):
        quote = "The 'night desk' - on Caf\u00e9 Street - isn't staffed"
        provider.faults = [{"text": verdicts(MAY | {"verdict": verdict, "quote": quote})}]
        (judgement,) = judged(judge_of(provider), [support("It is staffed.", passages=passages)])
        assert (judgement.score, judgement.verdict, judgement.error) == (score, verdict, "")
        assert text[judgement.start : judgement.end] == text[:-1]


def test_reasoning_is_no_verdict_and_may_hide_none(provider: ChatProvider) -> None:
    right = verdicts({"claim": 1, "verdict": "absent"})
    wrong = f"<think>{verdicts(MAY)}"
    provider.faults = [{"text": f"{wrong}</think>\n```JSON\n{right}\n```"}, {"text": wrong, "finish": "length"}]
    absent, cut = judged(judge_of(provider), [support("a"), support("b")])
    assert absent.verdict == "absent"
    assert (cut.score, cut.error) == (None, "the reply is reasoning without an answer because it used all of its tokens")


def test_every_failure_is_unscored_with_its_reason(provider: ChatProvider, wording) -> None:
    def error_of(fault: dict[str, object]) -> str:
        provider.faults = [fault]
        (judgement,) = judged(judge_of(provider), [support("It opens in May.")])
        assert (judgement.score, judgement.verdict) == (None, "")
        return judgement.error

    wording(
        error_of,
        {
            "prose": {"text": "The claim is supported by passage 1."},
            "an object without its end": {"text": '{"verdicts": [{"claim": 1, "verd'},
            "no list": {"text": '{"verdicts": "supported"}'},
            "another verdict": {"text": verdicts(MAY | {"verdict": "partly"})},
            "a confidence above 1": {"text": verdicts(MAY | {"confidence": 7})},
            "a confidence in words": {"text": verdicts(MAY | {"confidence": "high"})},
            "a confidence of true": {"text": verdicts(MAY | {"confidence": True})},
            "another quote": {"text": verdicts(MAY | {"quote": "opens in June"})},
            "no quote": {"text": verdicts(MAY | {"quote": ""})},
            "another quote of a contradiction": {"text": verdicts(MAY | {"verdict": "contradicted", "quote": "?"})},
            "a reply without its end": {"text": verdicts(MAY), "finish": "length"},
            "a refusal": {"text": "no", "refusal": "I cannot."},
            "a failure": {"status": 500, "message": "out of order"},
            "HTML": {"raw": b"<html>"},
            "a blank": {"text": " "},
        },
        None,
    )


def test_a_quote_of_another_passage_corrects_the_number(provider: ChatProvider) -> None:
    provider.faults = [{"text": verdicts(MAY | {"passage": 2})}]
    assert judged(judge_of(provider), [support("It opens in May.")])[0].passage == 0


def test_a_server_without_schemas_is_read_strictly(provider: ChatProvider) -> None:
    provider.faults = [{"status": 400, "message": "response_format json_schema is not supported"}, {"text": "**Absent.**"}]
    provider.faults += [{"text": f"```json\n{verdicts(MAY)}\n```"}]
    absent, supported = judged(judge_of(provider), [support("It is free."), support("It opens in May.")])
    assert (absent.verdict, supported.verdict) == ("absent", "supported")
    assert ["response_format" in body for body in provider.asked] == [True, False, False]


@pytest.mark.parametrize(
    ("text", "score"), [('{"correct": true}', 1), ("TRUE.", 1), ('"false"', 0), ("UNTRUE", None), ("It is true.", None)]
)
def test_correctness_is_a_truth_value_and_never_a_word_in_prose(text: str, score: float | None, provider: ChatProvider) -> None:
    provider.faults = [{"text": text}]
    (judgement,) = judged(judge_of(provider), [CORRECT])
    assert judgement.score == score
    assert bool(judgement.error) == (score is None)
    assert "- May\n- in spring" in provider.prompts()[0]


@pytest.mark.parametrize(
    ("text", "score"), [('{"rating": 8}', 0.8), ("7/10", 0.7), ('{"rating": 0.8}', None), ('{"rating": true}', None), ("8 of 10", None)]
)
def test_a_rating_is_between_0_and_10(text: str, score: float | None, provider: ChatProvider) -> None:
    provider.faults = [{"text": text}]
    (judgement,) = judged(judge_of(provider), [RELEVANCE])
    assert judgement.score == score
    assert judgement.verdict == ""


def test_all_tasks_have_a_prompt_and_a_schema(provider: ChatProvider) -> None:
    provider.faults, provider.lasting = [{"text": '{"rating": 5, "correct": true, "verdicts": [{"claim": 1, "verdict": "absent"}]}'}], True
    requests = [JudgeRequest(task, "q?", "an answer", "a claim", PASSAGES[:1], ("expected",)) for task in TASKS]
    assert [judgement.error for judgement in judged(judge_of(provider), requests)] == [""] * 5


def test_nothing_is_asked_where_there_is_nothing_to_judge_by(provider: ChatProvider) -> None:
    absent, unscored = judged(judge_of(provider), [support("It opens.", passages=()), JudgeRequest("correctness", "q?", "a")])
    assert (absent.verdict, absent.score) == ("absent", 0.0)
    assert (unscored.score, unscored.error) == (None, "the question has no expected answer")
    assert provider.asked == []
    assert list(judge_of(provider).judge([], None)) == []  # type: ignore[arg-type]  # nothing is read


def test_a_spent_budget_is_the_reason_of_the_other_claims(provider: ChatProvider) -> None:
    provider.faults, provider.lasting = [{"text": verdicts(MAY)}], True
    found = judged(judge_of(provider), [support("a"), support("b")], CallLimits(calls=1))
    assert sorted(judgement.error for judgement in found) == ["", "the budget of 1 call is spent"]


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_yes_and_no_are_read_from_probabilities(kind: str, provider: ChatProvider) -> None:
    provider.faults = [{"logprobs": logprobs(**{"Yes": -0.7, " yes": -2.3, "No": -1.6, "Maybe": -4.0}), "tokens": (200, 1)}]
    (judgement,) = judged(judge_of(provider, kind, replies="yes_no"), [support("It opens in May.")])
    assert judgement.score == pytest.approx((0.4966 + 0.1003) / (0.4966 + 0.1003 + 0.2019), abs=1e-3)
    assert (judgement.verdict, judgement.passage, judgement.error) == ("supported", -1, "")
    assert judgement.confidence == judgement.score
    (body,) = provider.asked
    assert "Statement:" in body["messages"][-1]["content"]
    assert body.get("max_tokens", body.get("options", {}).get("num_predict")) == 1


@pytest.mark.parametrize(("yes", "verdict", "confidence"), [(0.9, "supported", 0.9), (0.5, "supported", 0.5), (0.4, "absent", 0.6)])
def test_a_claim_is_supported_from_a_half_on_and_the_confidence_is_that_of_the_verdict(yes: float, verdict: str, confidence: float) -> None:
    judgement = yes_no_judgement("support", {"Yes": math.log(yes), "no": math.log(1 - yes)})
    assert (judgement.verdict, judgement.error) == (verdict, "")
    assert (judgement.score, judgement.confidence) == pytest.approx((yes, confidence))


@pytest.mark.parametrize(
    ("kind", "fault", "reason"),
    [
        ("openai", {"text": "Yes"}, "the reply has no log-probabilities"),
        ("anthropic", {"text": "Yes"}, "the reply has no log-probabilities"),
        ("openai", {"logprobs": logprobs(The=-0.2, Yes=-2.0)}, "neither yes nor no"),
    ],
)
def test_a_reply_without_a_yes_or_a_no_is_unscored(kind: str, fault: dict[str, object], reason: str, provider: ChatProvider) -> None:
    provider.faults = [fault]
    (judgement,) = judged(judge_of(provider, kind, replies="yes_no"), [support("It opens in May.")])
    assert judgement.score is None
    assert reason in judgement.error


def test_a_word_is_about_one_claim_and_finds_no_contradictions(provider: ChatProvider) -> None:
    assert judge_of(provider).finds_contradictions
    assert not judge_of(provider, replies="yes_no").finds_contradictions
    with pytest.raises(InputError, match="claims_per_call is above 1, and a reply of one word is about one claim"):
        judge_of(provider, replies="yes_no", claims_per_call=3)


def test_the_identity_is_that_of_a_task_and_has_the_contents_of_its_prompt(tmp_path: Path) -> None:
    def identity(task: str = "support", **settings: object) -> object:
        return ChatJudge(**{"provider": "openai", "model": "tiny", "base_url": "http://localhost:1/v1", **settings}).identity(task)  # type: ignore[arg-type]

    copy = tmp_path / "mine.txt"
    copy.write_bytes((PROMPTS / "support-1.txt").read_bytes())
    assert identity(support_prompt=str(copy)) == identity() == identity(concurrency=1, timeout=3)
    copy.write_text("{passages} {claims}")
    changes = ({"support_prompt": str(copy)}, {"model": "x"}, {"fenced": False}, {"claims_per_call": 2}, {"replies": "yes_no"}, {"seed": 1})
    assert all(identity(**change) != identity() for change in changes)
    assert identity("correctness", support_prompt=str(copy), claims_per_call=2) == identity("correctness")


def test_a_bad_prompt_is_found_before_anything_is_asked(tmp_path: Path, provider: ChatProvider) -> None:
    judge_of(provider).check()
    (tmp_path / "mine.txt").write_text("{passages} {claim}")
    with pytest.raises(InputError, match=r"\[user\] contains \{claim\}"):
        judge_of(provider, support_prompt=str(tmp_path / "mine.txt")).check()
    with pytest.raises(InputError, match=r"the prompt .correctness-1. is neither a file .* nor one of the package"):
        judge_of(provider, rubric_prompt="correctness-1").check()


def test_the_label_names_the_model(provider: ChatProvider) -> None:
    assert judge_of(provider).label == "chat: words"
    assert settings_of(provider, "openai")["model"] == "words"
