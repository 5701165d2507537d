"""Decide each case from what was seen before and after a change."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import get_args

from workbench.targets.freshness.cases import FreshnessData, StaleCase
from workbench.targets.freshness.observations import ObservedReply, contained, contains, has_words, hit_keys, seen
from workbench.targets.freshness.report import FreshnessOutcome, Part, State

PARTS: tuple[Part, ...] = get_args(Part)
Decision = tuple[State, str]


@dataclass(frozen=True)
class FreshnessStage:
    """What the target should have after a change, the text of each document by its id, and its reply to the question of each case.

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
