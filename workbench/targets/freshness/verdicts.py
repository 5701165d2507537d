"""Decide each case from the replies before and after a change."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import get_args

from workbench.core.words import folded, terms, whole
from workbench.records import Answer, TargetHit
from workbench.targets.freshness.cases import FreshnessData, StaleCase, Stated
from workbench.targets.freshness.report import FreshnessOutcome, Part, State


@dataclass(frozen=True)
class ObservedReply:
    """The reply to one question: hits and answer, each None with the error that prevented it."""

    hits: tuple[TargetHit, ...] | None = None
    answer: Answer | None = None
    no_hits: str = ""
    no_answer: str = ""

    def texts(self, part: str) -> tuple[list[str], str]:
        """Return the texts of a part, `chunks` or `answer`, or the error that prevented them."""
        if part == "answer":
            return ([self.answer.text], "") if self.answer else ([], self.no_answer)
        texts = [hit.text for hit in self.hits or () if hit.text]
        return texts, self.no_hits if self.hits is None else "" if texts or not self.hits else "the hits have no text"


def seen(texts: Sequence[str], stated: Stated, part: str) -> str:
    """Return the words by which texts state a value, or an empty text.

    They are the passage that states it in the document. An answer can use other words, so the value alone is enough in its text.
    """
    phrases = (stated.passage, stated.value) if part == "answer" else (stated.passage,)
    return next((phrase for phrase in phrases if any(contains(text, phrase) for text in texts)), "")


def has_words(texts: Sequence[str], phrase: str) -> bool:
    """Return whether texts have all words and numbers of a phrase, each in any of them."""
    return set(terms(phrase)) <= {term for text in texts for term in terms(text)}


def contained(phrase: str, documents: Collection[str]) -> bool:
    """Return whether one of the documents contains a phrase."""
    return any(contains(text, phrase) for text in documents)


def contains(text: str, phrase: str) -> bool:
    """Return whether a text contains a phrase as whole words and numbers, in any case and with any blanks between the words.

    Examples
    --------
    >>> contains("after 14  days", "14 days"), contains("114 days", "14 days"), contains("a factor of 1.25", "1.2"), contains("3,180", "180")
    (True, False, False, False)
    """
    words, folded = _folded(phrase), _folded(text)
    # The pattern is slow, and most texts do not contain the phrase at all.
    return bool(words) and words in folded and whole(words).search(folded) is not None


@lru_cache(maxsize=1024)
def _folded(text: str) -> str:
    return folded(" ".join(text.split()))


def hit_keys(hits: Sequence[TargetHit]) -> list[tuple[str, str, int, int]]:
    """Return the identities of hits, sorted, so that hits of equal scores can be in any order."""
    return sorted(
        (hit.doc_id or "", hit.text or "", -1 if hit.start is None else hit.start, -1 if hit.end is None else hit.end) for hit in hits
    )


PARTS: tuple[Part, ...] = get_args(Part)
Decision = tuple[State, str]


@dataclass(frozen=True)
class FreshnessStage:
    """The documents that the target should have after a change, by their ids, and its reply to the question of each case.

    `probes` are the replies to question and passage together, for the cases whose new value was not in the hits of the question.
    """

    held: Mapping[str, str]
    replies: Mapping[str, ObservedReply]
    probes: Mapping[str, ObservedReply] = field(default_factory=dict)


@dataclass(frozen=True)
class Shrunk:
    """The end that a document lost, and the replies to it as a question, before and after."""

    doc_id: str
    lost: str
    before: ObservedReply
    after: ObservedReply


def outcomes_of(data: FreshnessData, stages: Mapping[str, FreshnessStage], shrunk: list[Shrunk]) -> Iterator[FreshnessOutcome]:
    """Yield the outcome of each check of each case."""
    for case in data.cases:
        for part in PARTS:
            yield FreshnessOutcome("update", part, case.case_id, case.doc_id, *_updated(case, stages, part))
    for case in data.cases:
        before, after = (stages[name].replies[case.case_id] for name in ("update", "repeat"))
        yield FreshnessOutcome("repeat", "chunks", case.case_id, case.doc_id, *_repeated(before, after))
    for each in shrunk:
        yield FreshnessOutcome("shrink", "chunks", each.doc_id, each.doc_id, *_lost(each))
    for case in data.cases:
        for part in PARTS:
            yield FreshnessOutcome("delete", part, case.case_id, case.doc_id, *_deleted(case, stages, part))


def _updated(case: StaleCase, stages: Mapping[str, FreshnessStage], part: Part) -> Decision:
    before, reason = stages["earlier"].replies[case.case_id].texts(part)
    texts, later = stages["update"].replies[case.case_id].texts(part)
    if reason or later:
        return "unscored", reason or later
    if not seen(before, case.before, part):
        return "unscored", f"the old value was not seen before the update: {case.before.value}"
    old, new = seen(texts, case.before, part), seen(texts, case.after, part)
    if decision := _stale(old, case.before.value, stages["update"], bool(new)):
        return decision
    return ("passed", case.after.value) if new else _missing(case, stages["update"], part)


def _missing(case: StaleCase, stage: FreshnessStage, part: Part) -> Decision:
    """Return the decision about a reply with neither value: the update was lost, unless the new value is found in another way."""
    value = case.after.value
    if part == "answer" and seen(stage.replies[case.case_id].texts("chunks")[0], case.after, "chunks"):
        return "unscored", f"the answer names neither value, and the chunks have the new one: {value}"
    if (probe := stage.probes.get(case.case_id)) and seen(probe.texts("chunks")[0], case.after, "chunks"):
        return "unscored", f"the question does not find the new value, but its own words do: {value}"
    if probe and has_words(probe.texts("chunks")[0], case.after.passage):
        return "unscored", f"no chunk has all of the new statement, which a boundary may cut: {value}"
    return "failed", f"the new value is missing: {value}"


def _stale(phrase: str, value: str, stage: FreshnessStage, new: bool) -> Decision | None:
    """Return the decision about a phrase that must not be in a reply, or None if it is not."""
    if not phrase:
        return None
    if contained(phrase, stage.held.values()):
        return "unscored", f"{value!r} is in other places too, so that nobody can say where it is from"
    return "failed", f"still there: {value}" + (", beside the new value" if new else "")


def _repeated(before: ObservedReply, after: ObservedReply) -> Decision:
    if before.hits is None or after.hits is None:
        return "unscored", before.no_hits or after.no_hits
    first, second = hit_keys(before.hits), hit_keys(after.hits)
    if not first and not second:
        return "unscored", "there are no hits"
    if copies := len(second) - len(set(second)) - (len(first) - len(set(first))):
        return "failed", f"{copies} of {len(second)} hits are copies of others"
    if first != second:
        return "failed", f"{len(set(second) - set(first))} of {len(second)} hits are not those before"
    return "passed", f"the same {len(second)} hits"


def _lost(shrunk: Shrunk) -> Decision:
    before, reason = shrunk.before.texts("chunks")
    after, later = shrunk.after.texts("chunks")
    if reason or later:
        return "unscored", reason or later
    if not any(contains(text, shrunk.lost) for text in before):
        return "unscored", "its end was not found before it was cut"
    kept = any(contains(text, shrunk.lost) for text in after)
    return ("failed", "its end is still found") if kept else ("passed", "its end is not found any more")


def _deleted(case: StaleCase, stages: Mapping[str, FreshnessStage], part: Part) -> Decision:
    before, reason = stages["restored"].replies[case.case_id].texts(part)
    texts, later = stages["delete"].replies[case.case_id].texts(part)
    if reason or later:
        return "unscored", reason or later
    if not seen(before, case.after, part):
        return "unscored", f"the value was not seen before the deletion: {case.after.value}"
    found = [(stated.value, phrase) for stated in (case.before, case.after) if (phrase := seen(texts, stated, part))]
    decisions = [decision for value, phrase in found if (decision := _stale(phrase, value, stages["delete"], new=False))]
    return min(decisions, default=("passed", "neither value"))
