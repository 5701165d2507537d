"""Each law of generators is broken by a generator made for it."""

from dataclasses import replace
from typing import ClassVar, Literal

import pytest

from tests.testing.breaking import assert_all_are_broken, assert_broken
from workbench.components.answering.base import Generator
from workbench.core.records import Answer
from workbench.testing import GENERATOR_LAWS, check_generator


class First(Generator):
    """A good generator: the first words of the first passage."""

    verbatim: ClassVar[bool] = True

    kind: Literal["first"] = "first"
    words: int = 5

    def answer(self, requests, resources):
        for place, request in enumerate(requests):
            yield place, self.one(request)

    def one(self, request):
        if not request.passages:
            return Answer("There is no passage.", refused=True, confidence=0.0)
        return Answer(" ".join(request.passages[0].text.split()[: self.words]), (0,), 0.5, refused=False)


class Sampled(First):
    """A good generator that is not the same twice."""

    verbatim: ClassVar[bool] = False
    calls_model: ClassVar[bool] = True
    calls: ClassVar[list] = []

    def one(self, request):
        self.calls.append(1)
        return Answer(f"The answer is {len(self.calls)}.", input_tokens=3, seconds=0.1)


class Skips(First):
    def answer(self, requests, resources):
        return iter(list(super().answer(requests, resources))[1:])


class Texts(First):
    def answer(self, requests, resources):
        for place, answer in super().answer(requests, resources):
            yield place, answer.text


class NeverNothing(First):
    def answer(self, requests, resources):
        yield from super().answer(requests, resources) if requests else [(0, Answer("a"))]


class Blank(First):
    def one(self, request):
        return super().one(request) if request.passages else Answer()


class Failing(First):
    def one(self, request):
        return replace(super().one(request), error="but it failed")


class Traced(First):
    def one(self, request):
        return Answer(error="it failed:\n  at line 3")


class CitesFrom1(First):
    def one(self, request):
        return replace(super().one(request), citations=(len(request.passages),))


class Percent(First):
    def one(self, request):
        return replace(super().one(request), confidence=50)


class Refunded(First):
    def one(self, request):
        return replace(super().one(request), cost=-1.0)


class Embellished(First):
    def one(self, request):
        answer = super().one(request)
        return replace(answer, text=f"Surely {answer.text}")


class Numbered(First):
    def answer(self, requests, resources):
        for place, answer in super().answer(requests, resources):
            yield place, replace(answer, confidence=place / 100)


class Peeking(First):
    def one(self, request):
        return replace(super().one(request), refused=not request.query.answerable)


class Detector(First):
    def one(self, request):
        return replace(
            super().one(request), citations=() if any(passage.planted for passage in request.passages) else (0,) * bool(request.passages)
        )


class Fractional(First):
    def overhead(self, question):
        return len(question) / 4


class Inverse(First):
    def overhead(self, question):
        return 1000 - len(question)


class Forgetful(First):
    def identity(self):
        return {name: value for name, value in super().identity().items() if name != "words"}


class Unversioned(First):
    def identity(self):
        return super().identity() | {"version": 1}


class Changing(First):
    calls: ClassVar[list] = []

    def identity(self):
        self.calls.append(1)
        return super().identity() | {"calls": len(self.calls)}


class Unreadable(First):
    def model_dump_json(self, **_):
        return '{"words": 2}'


class Lenient(First):
    model_config: ClassVar = {"extra": "ignore", "frozen": True}


BREAKERS = {
    "every_request_has_one_answer": (Skips(), Texts(), NeverNothing()),
    "an_answer_has_a_text_or_an_error": (Blank(), Failing(), Traced()),
    "citations_and_numbers_are_in_range": (CitesFrom1(), Percent(), Refunded()),
    "a_verbatim_answer_is_copied_from_the_passages": (Embellished(),),
    "the_same_request_is_answered_equally": (Numbered(),),
    "labels_are_not_read": (Peeking(), Detector()),
    "overheads_are_numbers_of_tokens": (Fractional(), Inverse()),
    "a_setting_that_changes_answers_changes_the_identity": (Forgetful(),),
    "settings_survive_json": (Unreadable(),),
    "unknown_settings_are_refused": (Lenient(),),
    "equal_settings_have_equal_identities": (Changing(),),
    "the_version_is_part_of_the_identity": (Unversioned(),),
}


def test_every_law_has_a_generator_that_breaks_it() -> None:
    assert_all_are_broken(GENERATOR_LAWS, BREAKERS)


@pytest.mark.parametrize(("name", "generator"), [(name, one) for name, every in BREAKERS.items() for one in every])
def test_a_broken_law_is_found_and_named(name: str, generator: Generator) -> None:
    assert_broken(GENERATOR_LAWS, name, generator, check_generator)


@pytest.mark.parametrize("generator", [First(), First(words=2), Sampled()])
def test_a_good_generator_passes(generator: Generator) -> None:
    assert check_generator(generator) is None
