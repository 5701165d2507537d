"""The planted-fault bench: failures of known cause, generated from the labelled questions of a dataset.

Each single fault is proven by intervention: the query succeeds in the sound pipeline and fails in the broken one,
which differs in one stage. A double fault still fails after repairing either stage. `confusion` evaluates an attribution.
"""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.faultbench.cases import NONE, Observation, PlantedCase
from benchmarks.faultbench.faults import NEAR_MISS, faults_of, harmless_of, in_place
from benchmarks.faultbench.indexes import Base, bases_of
from benchmarks.faultbench.pipeline import Change, Question, changed, complete, observe, proven, went_well
from workbench.components.chunking.plain import FixedChunker, SentenceChunker
from workbench.components.chunking.recursive import RecursiveChunker
from workbench.core.errors import InputError
from workbench.core.records import Dataset, Need
from workbench.measures.attribution.causes import ANSWER_CAUSES, OWN_CAUSES

_CHUNKERS = (SentenceChunker(size=128), RecursiveChunker(size=256), FixedChunker(size=256, overlap=64))
_DEPTHS = (10, 5, 20)
# How often a question is used with the same sound pipeline, each time with another variant of a fault.
_TURNS = 2
_DOUBLE, _PLAIN, _REFUSED = "double", "plain", "refused"
# Kinds of harmless changes that some datasets do not allow.
_DECEPTIVE = ("worded", "last_rank", "trimmed", "alternative", "split", "unjudged", NEAR_MISS)
# Faults of the answer to a question whose evidence is cut off after the expected answer.
_NEAR_FAULT = "near_fault"
_OF_ANSWERS = tuple(cause.name for cause in ANSWER_CAUSES if cause.layer == "answering")
_VARIANTS = 2

Changes = tuple[Change, ...]
Shelves = dict[str, dict[str, PlantedCase]]


def planted_cases(dataset: Dataset, seed: int = 0, at_least: int = 40) -> tuple[PlantedCase, ...]:
    """Generate `at_least` cases of every cause, double faults and right answers, and half as many right refusals.

    If the dataset allows, add as many faults of answers to questions whose evidence is cut off after the expected answer, and a quarter as many
    of each kind of right answer that looks like a failure. Each turn takes at
    most one case per question and kind, to spread cases over questions. The same dataset and seed give the same cases. Raises InputError
    if there are no evidence spans, or if the questions yield too few cases of a kind.
    """
    if at_least < 1:
        raise InputError(f"at_least is {at_least}", "request at least 1 case of each cause")
    if not dataset.needs:
        raise InputError(f"{dataset.name} has no evidence spans, and without them no stage can be broken on purpose", "label the evidence")
    required = dict.fromkeys((*OWN_CAUSES, _DOUBLE, _PLAIN), at_least) | {_REFUSED: (at_least + 1) // 2}
    wanted = required | {_NEAR_FAULT: at_least} | dict.fromkeys(_DECEPTIVE, at_least // 4)
    shelves: Shelves = {kind: {} for kind in wanted}
    for lot, question, base in _meetings(dataset, seed):
        if all(len(shelves[kind]) == wanted[kind] for kind in wanted):
            break
        for kind, candidates in _candidates(question, base, seed).items():
            if len(shelves[kind]) < wanted[kind]:
                first = lot % max(1, len(candidates))
                cases = (_case(faults, question, base) for faults in (*candidates[first:], *candidates[:first]))
                new = next((case for case in cases if case and case.case_id not in shelves[kind]), None)
                shelves[kind] |= {new.case_id: new} if new else {}
    _require_enough(dataset, shelves, required)
    return tuple(case for shelf in shelves.values() for case in shelf.values())


def _meetings(dataset: Dataset, seed: int) -> Iterator[tuple[int, Question, Base]]:
    """Every question with a pipeline and a random number that picks the variant. Further rounds use the next pipeline."""
    bases = bases_of(dataset, _CHUNKERS, _DEPTHS, seed)
    texts = {document.doc_id: document.text for document in dataset.documents}
    needs: dict[str, list[Need]] = {query.query_id: [] for query in dataset.queries}
    for need in dataset.needs:
        needs[need.query_id].append(need)
    questions = [Question(query, tuple(needs[query.query_id]), texts) for query in sorted(dataset.queries, key=lambda each: each.query_id)]
    random.Random(f"{seed} questions").shuffle(questions)
    for turn in range(len(bases) * _TURNS):
        for place, question in enumerate(questions):
            lot = random.Random(f"{seed} {turn} {question.query.query_id}").randrange(1 << 30)
            yield lot, question, bases[(place + turn) % len(bases)]


def _candidates(question: Question, base: Base, seed: int) -> Mapping[str, Sequence[Changes]]:
    faults = faults_of(question, base, seed)
    pairs = list(itertools.combinations([cause for cause in OWN_CAUSES if cause in faults], 2))
    random.Random(f"{seed} doubles {question.query.query_id} {base.name}").shuffle(pairs)
    # Two faults that replace different fields, so that each can be repaired alone.
    combinations = ((first, second) for early, late in pairs for first in faults[early] for second in faults[late])
    doubles = [(first, second) for first, second in combinations if not first.fields.keys() & second.fields.keys()]
    harmless = harmless_of(question, base)
    # A few variants of each, so that every cause has a turn.
    answers = [fault for cause in _OF_ANSWERS for fault in faults.get(cause, [])[:_VARIANTS]]
    near = [*itertools.product(harmless.get(NEAR_MISS, ()), answers)]
    single = {kind: [(fault,) for fault in changes] for kind, changes in (faults | harmless).items()}
    return single | {_DOUBLE: doubles, _NEAR_FAULT: near}


def _case(faults: Changes, question: Question, base: Base) -> PlantedCase | None:
    """The case with these faults and harmless changes, if they affect the query as their kinds should."""
    harmless = [fault for fault in faults if fault.kind not in OWN_CAUSES]
    broken = [fault for fault in faults if fault.kind in OWN_CAUSES]
    causes, sound = tuple(fault.kind for fault in broken), changed(base.sound, harmless)
    observation = proven(question, sound, broken) if causes else observe(sound, question)
    if observation is None or not (_as_planted(causes, observation, question) if causes else went_well(observation)):
        return None
    case_id = "/".join(["+".join(causes) or NONE, question.query.query_id, base.name, "+".join(fault.variant for fault in faults)])
    return PlantedCase(case_id, causes[0] if causes else NONE, causes, observation)


def _as_planted(causes: tuple[str, ...], observation: Observation, question: Question) -> bool:
    """Return True if the single cause explains every unmet need, or the earlier of two causes at least one."""
    missing = [need for need in question.needs if not complete([need], observation.context, question.texts)]
    explained = [in_place(causes[0], need, observation, question.texts) for need in missing]
    return all(explained) if len(causes) == 1 else any(explained) or not explained


def _require_enough(dataset: Dataset, shelves: Shelves, required: Mapping[str, int]) -> None:
    short = [f"{len(shelves[kind])} of {wanted} {kind}" for kind, wanted in required.items() if len(shelves[kind]) < wanted]
    if short:
        questions = f"the {len(dataset.queries)} questions of {dataset.name}"
        raise InputError(f"{questions} make too few cases: {', '.join(short)}", "label more questions, or lower at_least")
