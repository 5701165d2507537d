"""The faults that the bench can plant in one question's pipeline, and the harmless changes that look like them."""

import functools
from collections.abc import Mapping, Sequence

from benchmarks.faultbench.cases import Observation, overlap
from benchmarks.faultbench.indexes import Base
from benchmarks.faultbench.pipeline import BUDGET, Change, Question, complete, deliver, in_one_chunk, readable, retrieved, span_of
from benchmarks.faultbench.readers import (
    Reader,
    accepted,
    add_unsupported,
    answer_anyway,
    answer_in_part,
    break_off,
    break_off_answer,
    contradict,
    miss_the_point,
    overlook,
    read_perfectly,
    read_worded,
    refuse,
    refuse_and_add,
    say_nothing,
    unverified,
)
from benchmarks.faultbench.run import BenchIndex
from workbench.components.judging.base import Verdict
from workbench.core.records import Chunk, Need, Span

_LOTS = 2
_CUT_AFTER = (8, 16)
_VERDICTS: tuple[Verdict, ...] = ("supported", "absent")
_WORDLESS = ("", " \n", "…", "-")
_NEAR = 4
_REFUSALS = 4
_PARTS = 3
NEAR_MISS = "near_miss"


# Causes of wrong answers that only a judge of claims can tell apart.
_UNVERIFIED = ("contradiction", "off_topic", "unused")


def faults_of(question: Question, base: Base, seed: int) -> dict[str, list[Change]]:
    """Every fault that the bench knows for a question, by cause. Whether it makes the query fail remains to be tested.

    A question is used if it has an expected answer and a single chunk meets each of its needs, so that a boundary is the cause only
    if one was planted.
    """
    if not question.query.answerable:
        near = [_reader("unrefused", f"near-{near}", functools.partial(answer_anyway, near=near)) for near in range(_NEAR)]
        return {"unrefused": [*near, *_refused_first("unrefused", seed)], "empty": _empty()}
    depth = _needed(question, base)
    if depth is None:
        return {}
    changes = {cause: [Change(cause, name, {"index": index}) for name, index in indexes.items()] for cause, indexes in base.broken.items()}
    changes["rank"] = [Change("rank", f"k-{k}", {"k": k}) for k in sorted({depth - 1, depth // 2} - {0})] + changes["rank"]
    changes["budget"] = [Change("budget", f"{tokens}-tokens", {"budget": tokens}) for tokens in _budgets(question, base, depth)]
    return changes | _of_readers(seed)


def in_place(cause: str, need: Need, observation: Observation, texts: Mapping[str, str]) -> bool:
    """Return True if an unmet need is missed in the way of its planted cause. Causes not listed here have only one way.

    not_indexed: none of its documents is left. boundary: the context contains part of it. window: no chunk has all of it in its searched
    text. duplicate: it is among the best k if every chunk is listed once.
    """
    if cause == "not_indexed":
        return all(span.doc_id not in observation.documents for span in need.alternatives)
    if cause == "boundary":
        return _touched(need, observation.context)
    if cause == "duplicate":
        # Copies of a chunk have the same end.
        once = {(hit.chunk.doc_id, hit.chunk.end): hit.chunk for hit in reversed(observation.hits)}
        first = sorted(once.values(), key=[hit.chunk for hit in observation.hits].index)[: observation.k]
        return in_one_chunk([need], first, texts)
    if cause == "window":
        searched = (Span(entry.chunk.doc_id, entry.chunk.start, entry.searched_end) for entry in observation.entries)
        return not any(complete([need], [part], texts) for part in searched if _touched(need, [part]))
    return True


def harmless_of(question: Question, base: Base) -> dict[str, list[Change]]:
    """Changes that should be harmless for the query, by kind. Whether they are remains to be tested.

    plain: none. worded: another accepted answer. last_rank: evidence in the last chunk retrieved. trimmed: chunks without evidence cut
    by the budget. near_miss: the end of evidence is cut off, after the expected answer. alternative: a document of evidence is gone, another also contains it. split: evidence in two chunks. unjudged: the judge
    of claims fails. refused: a question without an answer.
    """
    query, needs, texts = question
    if not query.answerable:
        return {"refused": _refusals("refused")}
    depth = _needed(question, base)
    if depth is None:
        return {}
    others = [span_of(chunk) for chunk in _best(base.sound.index, question, base)[depth:]]
    trimmed = bool(others) and not any(_touched(need, others) for need in needs)
    documents = {span.doc_id for need in needs for span in need.alternatives}
    broken = base.broken
    contexts = {name: deliver(index, query.query_id, base.sound.k, BUDGET)[1] for name, index in broken["boundary"].items()}
    wordings = range(len(accepted(query)) - 1)
    return {
        "plain": [Change("plain", "plain", {})],
        "worded": [_reader("worded", f"worded-{wording}", functools.partial(read_worded, wording=wording)) for wording in wordings],
        "unjudged": [_reader("unjudged", "unjudged", functools.partial(unverified, reader=read_perfectly))],
        "last_rank": [Change("last_rank", f"last-rank-{depth}", {"k": depth})] if depth > 1 else [],
        "trimmed": [Change("trimmed", "trimmed", {"budget": _cost(question, base, depth)})] if trimmed else [],
        NEAR_MISS: [
            Change(NEAR_MISS, f"near-miss-{name}", {"index": index})
            for name, index in broken["boundary"].items()
            if not complete(needs, contexts[name], texts) and readable(question, contexts[name])
        ],
        "alternative": [
            Change("alternative", f"without-{name}", {"index": index})
            for name, index in broken["not_indexed"].items()
            if documents - index.documents.keys()
        ],
        "split": [
            Change("split", f"split-at-{name}", {"index": index})
            for name, index in broken["boundary"].items()
            if not in_one_chunk(needs, _best(index, question, base), texts)
        ],
    }


def _of_readers(seed: int) -> dict[str, list[Change]]:
    lots = range(_LOTS)
    faults = {
        "refusal": _refusals("refusal"),
        "contradiction": [_reader("contradiction", f"value-{lot}", functools.partial(contradict, seed=seed, lot=lot)) for lot in lots],
        "unsupported": [
            _reader("unsupported", name, functools.partial(add_unsupported, seed=seed, in_place=instead))
            for name, instead in (("added", False), ("in-place", True))
        ]
        + _refused_first("unsupported", seed),
        "empty": _empty(),
        "truncated": [
            *(_reader("truncated", f"{words}-words", functools.partial(break_off, words=words)) for words in _CUT_AFTER),
            *(_reader("truncated", f"half-{verdict}", functools.partial(break_off_answer, verdict=verdict)) for verdict in _VERDICTS),
        ],
        "off_topic": [_reader("off_topic", f"beside-{lot}", functools.partial(miss_the_point, seed=seed, lot=lot)) for lot in lots],
        "unused": [
            *(_reader("unused", f"near-{near}", functools.partial(overlook, near=near)) for near in range(_NEAR)),
            *(_reader("unused", f"part-{part}", functools.partial(answer_in_part, part=part)) for part in range(_PARTS)),
        ],
    }
    # Whatever is wrong with an answer, nobody knows why if the judge of its claims fails.
    wrong = [fault for cause in _UNVERIFIED for fault in faults[cause]]
    unsure = [_reader("unsure", fault.variant, functools.partial(unverified, reader=fault.fields["reader"])) for fault in wrong]
    return faults | {"unsure": unsure}


def _refused_first(kind: str, seed: int) -> list[Change]:
    readers = ((wording, functools.partial(refuse_and_add, seed=seed, wording=wording)) for wording in range(_REFUSALS))
    return [_reader(kind, f"refused-first-{wording}", reader) for wording, reader in readers]


def _empty() -> list[Change]:
    return [_reader("empty", f"empty-{number}", functools.partial(say_nothing, text=text)) for number, text in enumerate(_WORDLESS)]


def _refusals(kind: str) -> list[Change]:
    return [_reader(kind, f"refusal-{wording}", functools.partial(refuse, wording=wording)) for wording in range(_REFUSALS)]


def _reader(kind: str, variant: str, reader: Reader) -> Change:
    return Change(kind, variant, {"reader": reader})


def _needed(question: Question, base: Base) -> int | None:
    """The smallest number of best chunks in which each need is in one chunk. None if k are not enough."""
    chunks = _best(base.sound.index, question, base)
    enough = (depth for depth in range(1, len(chunks) + 1) if in_one_chunk(question.needs, chunks[:depth], question.texts))
    return next(enough, None) if question.needs and question.query.answer else None


def _best(index: BenchIndex, question: Question, base: Base) -> list[Chunk]:
    return retrieved(index, question.query.query_id, base.sound.k)


def _cost(question: Question, base: Base, depth: int) -> int:
    sound = base.sound.index
    return sum(sound.entries[place].tokens for place in sound.best[question.query.query_id][0][:depth].tolist())


def _budgets(question: Question, base: Base, depth: int) -> list[int]:
    """Budgets that end before the last necessary chunk, within it, or one token before its end."""
    before, whole = _cost(question, base, depth - 1), _cost(question, base, depth)
    return sorted({before, before // 2, (before + whole) // 2, whole - 1} - {0}, reverse=True)


def _touched(need: Need, spans: Sequence[Span]) -> bool:
    return any(overlap(alternative, span) for alternative in need.alternatives for span in spans)
