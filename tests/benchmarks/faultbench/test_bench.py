"""The planted cases of the handbook: how many, how proven, how fair."""

import dataclasses
import hashlib
from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.faultbench.attribution import confusion
from benchmarks.faultbench.bench import planted_cases
from benchmarks.faultbench.cases import NONE
from benchmarks.faultbench.indexes import DEEPEST
from benchmarks.faultbench.pipeline import BUDGET
from workbench.components.context.packing import BEYOND_K, DELIVERED, OVER_BUDGET, REPEATED
from workbench.core.errors import InputError
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY, tokenise
from workbench.measures.attribution.causes import OWN_CAUSES as CAUSES

pytestmark = pytest.mark.slow

GENERATION = CAUSES[CAUSES.index("empty") :]


def test_every_cause_has_forty_single_faults_and_there_are_as_many_doubles(cases):
    broken = Counter(case.broken for case in cases)
    assert all(broken[(cause,)] >= 40 for cause in CAUSES)
    assert sum(count for causes, count in broken.items() if len(causes) == 2) >= 40


def test_there_are_forty_right_answers_and_twenty_right_refusals(cases):
    well = [case.observation for case in cases if case.cause == NONE]
    assert sum(not seen.refused for seen in well) >= 40
    assert sum(seen.refused and not seen.query.answerable for seen in well) >= 20


@pytest.mark.parametrize("kind", ["plain", "worded", "last-rank", "trimmed", "without", "split", "unjudged", "near-miss"])
def test_right_answers_that_look_like_failures_are_among_them(cases, kind):
    assert sum(case.case_id.startswith("none/") and case.case_id.rpartition("/")[2].startswith(kind) for case in cases) >= 10


def test_a_cause_takes_many_questions(cases):
    for cause in CAUSES:
        queries = {case.observation.query.query_id for case in cases if case.broken == (cause,)}
        assert len(queries) >= 20, cause


def test_the_truth_can_be_seen_in_what_is_shown(cases, attribution):
    wrong = [(case.case_id, attribution(case.observation)) for case in cases if attribution(case.observation) != case.cause]
    assert wrong == []


def test_a_single_fault_breaks_exactly_one_stage(cases, handbook, unmet_needs, lost_at):
    for case in cases:
        if len(case.broken) != 1:
            continue
        seen, (cause,) = case.observation, case.broken
        missing = unmet_needs(seen)
        if "/near-miss-" in case.case_id:
            assert cause in GENERATION
            assert {lost_at(need, seen) for need in missing} == {"boundary"}
            continue
        assert {lost_at(need, seen) for need in missing} == ({cause} if cause not in GENERATION else set()), case.case_id
        assert (len(seen.documents) < len(handbook.documents)) == (cause == "not_indexed")
        assert (seen.window is not None) == (cause == "window")
        assert (seen.budget < BUDGET) == (cause == "budget")
        spent = tokens_of(seen.documents[span.doc_id][span.start : span.end] for span in seen.context)
        assert (spent == seen.budget or any(hit.cut_reason == OVER_BUDGET for hit in seen.hits)) == (cause == "budget")
        assert seen.refused == (cause not in GENERATION or cause == "refusal" or "refused-first" in case.case_id)


def test_a_fault_of_the_answer_says_what_its_cause_says(cases):
    copied = ("off_topic", "unused", "unrefused")
    verdicts = {"contradiction": {"contradicted"}, "refusal": set(), "empty": set(), "unsure": {""}}
    verdicts |= {cause: {"supported"} for cause in copied}
    for case in cases:
        cut = case.cause == "truncated"
        assert case.observation.truncated == (cut or (len(case.broken) == 2 and "truncated" in case.broken))
        if len(case.broken) == 1 and case.cause in GENERATION and not cut:
            seen = case.observation
            found = {claim.verdict for claim in seen.claims}
            refused_first = "refused-first" in case.case_id
            assert "absent" in found if case.cause == "unsupported" or refused_first else found == verdicts[case.cause]
            assert seen.query.answerable == (case.cause != "unrefused") or case.cause == "empty"
            if refused_first:
                assert seen.refused
                continue
            context = [seen.documents[span.doc_id][span.start : span.end] for span in seen.context]
            stated = [claim for claim in seen.claims if claim.text != seen.query.answer]
            held = [any(claim.text in piece for piece in context) for claim in stated]
            assert case.cause == "unsure" or (all(held) if case.cause in copied else not any(held))
            assert case.cause not in ("off_topic", "unused") or seen.relevant == (case.cause == "unused")


def test_of_every_kind_of_answer_that_looks_like_another_failure_there_are_enough(cases):
    def planted(cause, variant):
        return [case.observation for case in cases if case.broken == (cause,) and variant in case.case_id.rpartition("/")[2]]

    assert min(len(planted("unsupported", "added")), len(planted("unsupported", "refused-first"))) >= 10
    assert len(planted("unrefused", "refused-first")) >= 10
    assert min(len(planted("truncated", "words")), len(planted("truncated", "half"))) >= 10
    assert {seen.answer.strip() for seen in planted("empty", "empty")} == {"", "…", "-"}
    near = [case for case in cases if "/near-miss-" in case.case_id and case.broken]
    assert len(near) >= 40
    assert {case.cause for case in near} >= {"empty", "refusal", "contradiction", "unsupported", "truncated", "off_topic"}


def test_a_near_miss_has_the_expected_answer_and_not_all_of_the_evidence(cases, unmet_needs):
    near = [case.observation for case in cases if "near-miss" in case.case_id]
    for seen in near:
        accepted = [text.rstrip(".").casefold() for text in (seen.query.answer, *seen.query.answer_variants) if text]
        context = "\n".join(seen.documents[span.doc_id][span.start : span.end] for span in seen.context).casefold()
        assert unmet_needs(seen)
        assert any(text in context for text in accepted)


def test_a_boundary_delivers_a_part_of_what_it_cut(cases, unmet_needs):
    for case in cases:
        if case.broken == ("boundary",):
            for need in unmet_needs(case.observation):
                parts = [(a, s) for a in need.alternatives for s in case.observation.context if a.doc_id == s.doc_id]
                assert any(a.start < s.end and s.start < a.end for a, s in parts)


def test_a_double_fault_is_attributed_to_its_earliest_layer(cases):
    doubles = [case for case in cases if len(case.broken) == 2]
    assert all(CAUSES.index(case.broken[0]) < CAUSES.index(case.broken[1]) and case.cause == case.broken[0] for case in doubles)
    assert len({case.broken for case in doubles}) >= 10


def tokens_of(texts) -> int:
    return sum(len(tokens.starts) for tokens in tokenise(list(texts), BUDGET_VOCABULARY))


def test_what_is_observed_holds_together(cases):
    for case in cases:
        seen = case.observation
        assert [hit.rank for hit in seen.hits] == list(range(1, len(seen.hits) + 1))
        assert seen.k <= DEEPEST
        retrieved = [hit for hit in seen.hits if hit.cut_reason != BEYOND_K]
        assert retrieved == list(seen.hits[: len(retrieved)])
        assert len({hit.chunk.chunk_id for hit in retrieved}) == min(seen.k, len({hit.chunk.chunk_id for hit in seen.hits}))
        assert {hit.cut_reason for hit in seen.hits} <= {DELIVERED, REPEATED, OVER_BUDGET, BEYOND_K}
        assert all(entry.chunk.start < entry.searched_end <= entry.chunk.end for entry in seen.entries)


def test_the_context_is_the_best_chunks_and_only_the_last_is_cut(cases):
    cut = 0
    for case in cases:
        seen = case.observation
        whole = [(hit.chunk.doc_id, hit.chunk.start, hit.chunk.end) for hit in seen.hits if hit.cut_reason == DELIVERED]
        context = [(span.doc_id, span.start, span.end) for span in seen.context]
        assert context[:-1] == whole[: len(context) - 1]
        assert len(context) == len(whole)
        assert [place[:2] for place in context] == [place[:2] for place in whole]
        costs = {entry.chunk: entry.tokens for entry in seen.entries}
        *before, last = [0, *(costs[hit.chunk] for hit in seen.hits if hit.cut_reason == DELIVERED)]
        assert (sum(before) + last > seen.budget) == (context != whole)
        if context != whole:
            cut += 1
            assert sum(before) < seen.budget
            assert context[-1][2] < whole[-1][2]
            # A text cut within a word has other tokens at its end.
            assert abs(tokens_of(seen.documents[doc_id][start:end] for doc_id, start, end in context) - seen.budget) <= 1
    assert cut >= 10


def test_the_truth_is_not_in_the_observation(cases):
    names = {field.name for field in dataclasses.fields(cases[0].observation)}
    assert not names & {"case_id", "cause", "broken", "variant"}
    for case in cases:
        small = repr(replace(case.observation, documents={}, entries=(), hits=()))
        assert case.case_id not in small
        assert "not_indexed" not in small


def test_ids_are_unique_and_say_the_truth(cases):
    assert len({case.case_id for case in cases}) == len(cases)
    assert all(case.case_id.startswith("+".join(case.broken) or NONE) for case in cases)


def test_one_answer_for_everything_gets_exactly_its_share(cases):
    table = confusion(cases, lambda _: "rank")
    assert table["rank"].sum() == len(cases)
    assert table.loc["rank", "rank"] == sum(case.cause == "rank" for case in cases)
    assert table.drop(columns="rank").to_numpy().sum() == 0


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_in_every_process(small_cases, run_python):
    script = (
        "import sys; sys.path.insert(0, 'tests/benchmarks/faultbench'); import hashlib; from conftest import small_dataset\n"
        "from benchmarks.faultbench.bench import planted_cases\n"
        "print(hashlib.sha256(repr(planted_cases(small_dataset(), 0, 2)).encode()).hexdigest())"
    )
    own = hashlib.sha256(repr(small_cases(0)).encode()).hexdigest()
    assert run_python(script, env={"PYTHONHASHSEED": "1"}) == own


def test_another_seed_gives_other_cases(small_cases):
    assert small_cases(0) != small_cases(1)


def test_a_small_dataset_makes_few_cases_of_every_cause(small_cases, attribution):
    cases = small_cases(0)
    assert all(attribution(case.observation) == case.cause for case in cases)
    assert {case.cause for case in cases} == {*CAUSES, NONE}


def test_a_dataset_without_evidence_is_refused(small):
    with pytest.raises(InputError, match="small has no evidence spans"):
        planted_cases(replace(small, needs=()))


def test_too_few_questions_are_refused_with_the_counts(small):
    with pytest.raises(InputError, match=r"the 10 questions of small make too few cases: .*0 of 2 unrefused, .*0 of 1 refused"):
        planted_cases(replace(small, queries=tuple(replace(query, answerable=True) for query in small.queries)), at_least=2)


def test_asking_for_no_cases_is_refused(small):
    with pytest.raises(InputError, match="at_least is 0"):
        planted_cases(small, at_least=0)
