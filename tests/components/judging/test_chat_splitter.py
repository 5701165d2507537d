"""Claims from chat models: only what the answer states, at its place, or the reason why there are none."""

import json
from pathlib import Path

import pytest

from tests.chat_provider import ChatProvider
from tests.components.judging.conftest import resources, settings_of
from workbench.components.judging.base import AnswerClaims, SplitRequest
from workbench.components.judging.chat_splitter import ChatSplitter
from workbench.components.registry import SPLITTERS
from workbench.core.errors import InputError
from workbench.core.records import Claim

ANSWER = "It opens in May, and closes in October [1]. A visit costs 3,000 crowns."
REQUEST = SplitRequest("When does the office open?", ANSWER)


def splitter_of(provider: ChatProvider, kind: str = "openai", **settings: object) -> ChatSplitter:
    return ChatSplitter(**(settings_of(provider, kind) | settings))


def split(splitter: ChatSplitter, *requests: SplitRequest) -> list[AnswerClaims]:
    found = dict(splitter.split(requests, resources()))
    return [found[place] for place in range(len(requests))]


def reply(*claims: tuple[object, object]) -> str:
    return json.dumps({"claims": [{"claim": claim, "sentences": numbers} for claim, numbers in claims]})


def test_a_claim_with_half_of_a_surrogate_pair_is_dropped(provider: ChatProvider) -> None:
    provider.faults = [{"text": reply(("The office \ud800 opens in May.", [1]), ("A visit costs 3,000 crowns.", [2])), "tokens": (600, 40)}]
    (found,) = split(splitter_of(provider), REQUEST)
    assert [claim.text for claim in found.claims] == ["A visit costs 3,000 crowns."]


@pytest.mark.parametrize("kind", ["openai", "anthropic", "ollama"])
def test_claims_have_the_place_of_their_sentences(kind: str, provider: ChatProvider) -> None:
    text = reply(("A visit costs 3,000 crowns.", [2]), ("The office opens in May.", [1]), ("The office closes in October.", [1]))
    provider.faults = [{"text": text, "tokens": (600, 40)}]
    (found,) = split(splitter_of(provider, kind), REQUEST)
    assert found.claims == (
        Claim("The office opens in May.", 0, 43),
        Claim("The office closes in October.", 0, 43),
        Claim("A visit costs 3,000 crowns.", 44, 71),
    )
    assert (found.error, found.input_tokens, found.model) == ("", 600, "words")
    assert "[1] It opens in May, and closes in October [1].\n[2] A visit costs" in provider.prompts()[0]


def test_a_claim_that_the_answer_does_not_state_is_dropped(provider: ChatProvider) -> None:
    provider.faults = [
        {
            "text": reply(
                ("A visit costs 3,000 crowns.", ["2"]),
                ("A visit costs 4,000 crowns.", [2]),
                ("A visit costs 3,000 euros.", [2]),
                ("The office opens in May.", []),
                ("The office opens in May.", "1"),
                ("The office opens in May.", [2]),
                (17, [1]),
            )
        }
    ]
    (found,) = split(splitter_of(provider), REQUEST)
    assert [claim.text for claim in found.claims] == ["A visit costs 3,000 crowns."]


def test_an_answer_of_which_no_claim_is_left_is_unscored_and_one_that_claims_nothing_is_not(provider: ChatProvider) -> None:
    provider.faults = [{"text": reply(("The museum is closed.", [1]))}, {"text": '{"claims": []}'}]
    invented, nothing = split(splitter_of(provider), REQUEST, SplitRequest("Who are you?", "I do not know."))
    assert invented.error == "no claim in the reply is stated by the answer"
    assert (nothing.claims, nothing.error) == ((), "")


def test_every_failure_is_an_error_and_no_silence(provider: ChatProvider, wording) -> None:
    def error_of(fault: dict[str, object]) -> str:
        provider.faults = [fault]
        (found,) = split(splitter_of(provider), REQUEST)
        assert found.claims == ()
        return found.error

    wording(
        error_of,
        [
            {"text": "Claims: it opens in May."},
            {"text": '{"claims": [{"claim": "It opens'},
            {"text": '{"claims": ["It opens in May."]}'},
            {"text": reply(("It opens in May.", [1])), "finish": "length"},
            {"text": reply(("It opens in May.", [0]), ("A visit costs 3,000 crowns.", [1]))},
            {"text": reply(("A visit costs 3,000 crowns.", [2, 3]))},
            {"text": reply(("It opens in May.", [1.5]))},
            {"text": "<think>It opens in May.", "finish": "length"},
            {"text": "", "refusal": "I cannot."},
            {"status": 500, "message": "out of order"},
        ],
        None,
    )


def test_a_blank_answer_claims_nothing_and_is_not_sent(provider: ChatProvider) -> None:
    assert split(splitter_of(provider), SplitRequest("q?", " \n")) == [AnswerClaims()]
    assert provider.asked == []


def test_the_identity_has_the_contents_of_the_prompt(tmp_path: Path, provider: ChatProvider) -> None:
    prompt = tmp_path / "mine.txt"
    prompt.write_text("{answer}")
    usual = splitter_of(provider)
    assert splitter_of(provider, concurrency=3).identity() == usual.identity()
    assert splitter_of(provider, prompt=str(prompt)).identity() != usual.identity()
    prompt.write_text("{answers}")
    with pytest.raises(InputError, match=r"contains \{answers\}"):
        splitter_of(provider, prompt=str(prompt)).check()
    assert SPLITTERS["chat"] is ChatSplitter
