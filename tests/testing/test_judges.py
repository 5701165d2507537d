"""Each law of judges and of claim splitters is broken by one made for it."""

from dataclasses import replace
from typing import ClassVar, Literal

import pytest

from tests.testing.breaking import assert_all_are_broken, assert_broken
from workbench.components.judging.base import AnswerClaims, ClaimSplitter, Judge, Judgement
from workbench.core.records import Claim
from workbench.testing import JUDGE_LAWS, SPLITTER_LAWS, check_judge, check_splitter


class Shared(Judge):
    """A good judge: whether the first passage, or the answer, has the first word."""

    kind: Literal["shared"] = "shared"
    letters: int = 3

    def judge(self, requests, resources):
        for place, request in enumerate(requests):
            yield place, self.one(request)

    def one(self, request):
        start = (request.claim or request.question)[: self.letters]
        number, text = next(((n, p.text) for n, p in enumerate(request.passages) if start in p.text), (-1, ""))
        verdict = "" if request.task != "support" else "supported" if text else "absent"
        if not text:
            return Judgement(0.0, verdict)
        return Judgement(1.0, verdict, 0.5, number, text.index(start), text.index(start) + len(start))


class Skips(Shared):
    def judge(self, requests, resources):
        return iter(list(super().judge(requests, resources))[1:])


class Scores(Shared):
    def judge(self, requests, resources):
        for place, judgement in super().judge(requests, resources):
            yield place, judgement.score


class Silent(Shared):
    def one(self, request):
        return Judgement()


class Percent(Shared):
    def one(self, request):
        return replace(super().one(request), score=50.0)


class Refunded(Shared):
    def one(self, request):
        return replace(super().one(request), cost=-1.0)


class Undecided(Shared):
    def one(self, request):
        return replace(super().one(request), verdict="")


class Everywhere(Shared):
    def one(self, request):
        return replace(super().one(request), verdict="supported")


class Beyond(Shared):
    def one(self, request):
        return replace(super().one(request), passage=len(request.passages), start=0, end=1)


class Numbered(Shared):
    def judge(self, requests, resources):
        for place, judgement in super().judge(requests, resources):
            yield place, replace(judgement, score=place / 100)


class Detector(Shared):
    def one(self, request):
        planted = any(passage.planted for passage in request.passages)
        return replace(super().one(request), score=0.3 if planted else 0.6)


class Unversioned(Shared):
    def identity(self, task):
        return super().identity(task) | {"version": 1}


class Changing(Shared):
    calls: ClassVar[list] = []

    def identity(self, task):
        self.calls.append(1)
        return super().identity(task) | {"calls": len(self.calls)}


class Unreadable(Shared):
    def model_dump_json(self, **_):
        return '{"letters": 2}'


class Lenient(Shared):
    model_config: ClassVar = {"extra": "ignore", "frozen": True}


class Whole(ClaimSplitter):
    """A good splitter: each answer is a claim."""

    kind: Literal["whole"] = "whole"
    most: int = 100

    def split(self, requests, resources):
        for place, request in enumerate(requests):
            yield place, AnswerClaims(self.claims(request))

    def claims(self, request):
        text = request.answer.strip()[: self.most]
        start = request.answer.find(text)
        return (Claim(text, start, start + len(text)),) if text else ()


class SplitsLess(Whole):
    def split(self, requests, resources):
        return iter(list(super().split(requests, resources))[1:])


class Shifted(Whole):
    def claims(self, request):
        return tuple(replace(claim, end=claim.end + 1) for claim in super().claims(request))


class Backwards(Whole):
    def claims(self, request):
        return tuple(Claim(word, request.answer.index(word), request.answer.index(word) + 1) for word in request.answer.split()[:2])[::-1]


class Talkative(Whole):
    def claims(self, request):
        return super().claims(request) or (Claim("Nothing.", 0, 0),)


class Asking(Whole):
    def claims(self, request):
        return super().claims(request) if request.question == "Who?" else ()


class SplitterUnversioned(Whole):
    def identity(self):
        return super().identity() | {"version": 1}


class SplitterChanging(Whole):
    calls: ClassVar[list] = []

    def identity(self):
        self.calls.append(1)
        return super().identity() | {"calls": len(self.calls)}


class SplitterUnreadable(Whole):
    def model_dump_json(self, **_):
        return '{"most": 2}'


class SplitterLenient(Whole):
    model_config: ClassVar = {"extra": "ignore", "frozen": True}


JUDGES = {
    "every_request_has_one_judgement": (Skips(), Scores()),
    "a_judgement_has_a_score_or_an_error": (Silent(), Percent(), Refunded()),
    "verdicts_are_of_claims": (Undecided(), Everywhere()),
    "a_deciding_span_is_in_its_passage": (Beyond(),),
    "the_same_request_is_judged_equally": (Numbered(),),
    "what_is_planted_is_not_read": (Detector(),),
    "settings_survive_json": (Unreadable(),),
    "unknown_settings_are_refused": (Lenient(),),
    "equal_settings_have_equal_identities": (Changing(),),
    "the_version_is_part_of_the_identity": (Unversioned(),),
}
SPLITTERS = {
    "every_answer_is_split_once": (SplitsLess(),),
    "claims_are_in_their_answer": (Shifted(), Backwards()),
    "a_blank_answer_has_no_claims": (Talkative(),),
    "the_same_answer_is_split_equally": (Asking(),),
    "settings_survive_json": (SplitterUnreadable(),),
    "unknown_settings_are_refused": (SplitterLenient(),),
    "equal_settings_have_equal_identities": (SplitterChanging(),),
    "the_version_is_part_of_the_identity": (SplitterUnversioned(),),
}


def test_every_law_is_broken_by_one() -> None:
    assert_all_are_broken(JUDGE_LAWS, JUDGES)
    assert_all_are_broken(SPLITTER_LAWS, SPLITTERS)


@pytest.mark.parametrize(("name", "judge"), [(name, one) for name, every in JUDGES.items() for one in every])
def test_a_broken_law_of_judges_is_found_and_named(name: str, judge: Judge) -> None:
    assert_broken(JUDGE_LAWS, name, judge, check_judge)


@pytest.mark.parametrize(("name", "splitter"), [(name, one) for name, every in SPLITTERS.items() for one in every])
def test_a_broken_law_of_splitters_is_found_and_named(name: str, splitter: ClaimSplitter) -> None:
    assert_broken(SPLITTER_LAWS, name, splitter, check_splitter)


def test_good_ones_pass() -> None:
    check_judge(Shared())
    check_judge(Shared(letters=5))
    check_splitter(Whole())
