"""The laws of targets."""

import asyncio
import json
import pickle
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from workbench.core.records import Answer, Passage, Query, TargetHit
from workbench.llm.session import CallResources
from workbench.systems.base import System, Target, TargetError, TargetResources
from workbench.testing.law import Laws, shown

QUESTIONS = ("who pilots the ferry at high tide?", "???")
_CONTEXT = (Passage("d0", 0, 43, "The harbour master pilots the ferry at high tide"),)

T = TypeVar("T")


TARGET_LAWS = Laws(Target)


@TARGET_LAWS
def a_target_says_what_it_serves(target: Target) -> Iterator[str]:
    """A target searches, answers or both, one that takes a context answers, and all of this is known without a request."""
    if not (target.searches or target.answers):
        yield "it neither searches nor answers"
    if target.takes_context and not target.answers:
        yield "it takes a context and does not answer"


@TARGET_LAWS
def the_identity_is_json_without_the_name(target: Target) -> Iterator[str]:
    """`identity` is canonical JSON, equal for equal settings, does not contain the name, and changes with `revision`."""
    json.dumps(target.identity(), allow_nan=False)
    if target.model_copy(update={"name": "another"}).identity() != target.identity():
        yield "another name changes the identity, so that everything is asked again"
    if target.model_copy(update={"revision": "another"}).identity() == target.identity():
        yield "another revision does not change the identity"
    if pickle.loads(pickle.dumps(target)).identity() != target.identity():
        yield "a copy has another identity"


@TARGET_LAWS
def a_search_returns_hits_best_first(target: Target) -> Iterator[str]:
    """`search` returns TargetHit values with an id, a text or both, or raises TargetError."""
    for question in QUESTIONS if target.searches else ():
        hits = _asked(target, partial(_search, question))
        if isinstance(hits, TargetError):
            continue
        if wrong := next((hit for hit in hits if not isinstance(hit, TargetHit)), None):
            yield f"the question {question!r} gets {shown(wrong)}"
        if empty := next((hit for hit in hits if hit.doc_id is None and not hit.text and not hit.metadata), None):
            yield f"the question {question!r} gets {shown(empty)}, which nothing can be matched with"


@TARGET_LAWS
def an_answer_is_a_text_with_its_sources(target: Target) -> Iterator[str]:
    """`answer` returns a Answer whose sources are TargetHit values or None, or raises TargetError."""
    contexts: Sequence[Sequence[Passage] | None] = (None, _CONTEXT) if target.takes_context else (None,)
    for context in contexts if target.answers else ():
        answer = _asked(target, partial(_answer, context))
        if isinstance(answer, TargetError):
            continue
        if not isinstance(answer, Answer) or not isinstance(answer.text, str):
            yield f"the question {QUESTIONS[0]!r} gets {shown(answer)}"
        elif any(not isinstance(source, TargetHit) for source in answer.sources or ()):
            yield f"the question {QUESTIONS[0]!r} gets the sources {shown(answer.sources)}"


def check_target(target: Target) -> None:
    """Check that a target keeps all of TARGET_LAWS. It is asked about five questions. Raises LawError for the first law that it breaks."""
    TARGET_LAWS.check(target)


async def _search(question: str, session: System) -> Sequence[TargetHit]:
    return await session.search(Query(question, question), 3)


async def _answer(context: Sequence[Passage] | None, session: System) -> Answer:
    return await session.answer(Query("q", QUESTIONS[0]), context)


def _asked(target: Target, ask: Callable[[System], Awaitable[T]]) -> T | TargetError:
    """Return the reply of a session of the target, or the error of the request."""

    async def run() -> T | TargetError:
        async with target.session(TargetResources(CallResources())) as session:
            try:
                return await asyncio.wait_for(ask(session), target.timeout)
            except TargetError as error:
                return error

    return asyncio.run(run())
