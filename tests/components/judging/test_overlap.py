"""The overlap score: what it sees, where its evidence is, and how well it agrees with the labels of the handbook."""

from collections.abc import Sequence

import pytest

from workbench.components.answering.base import AnswerResources
from workbench.components.embedding.embed import MemoryVectorCache
from workbench.components.judging.base import Judgement, JudgeRequest
from workbench.components.judging.overlap import OverlapJudge
from workbench.components.registry import JUDGES
from workbench.core.errors import InputError
from workbench.core.fingerprint import fingerprint
from workbench.core.records import Passage
from workbench.llm.session import CallResources

FERRY = "The ferry to Inish leaves at 9 from the north pier. Dogs pay €2.\n\n| Car | Price |\n|---|---|\n| small | €14 |\n| van | €31 |"
GARDEN = "Roses are cut in March. Water them every second day."


def judged(*requests: JudgeRequest, cache: MemoryVectorCache | None = None) -> list[Judgement]:
    resources = AnswerResources(cache or MemoryVectorCache(), CallResources())
    return [judgement for _, judgement in sorted(OverlapJudge().judge(requests, resources), key=lambda yielded: yielded[0])]


def support(claim: str, *passages: str) -> JudgeRequest:
    return JudgeRequest("support", "When?", claim, claim, [Passage("d", 0, len(text), text) for text in passages])


def scores(requests: Sequence[JudgeRequest]) -> list[float]:
    return [judgement.score or 0.0 for judgement in judged(*requests)]


def test_words_and_numbers_of_the_passages_support_a_claim() -> None:
    verbatim, paraphrase, number, other = scores(
        [
            support(claim, GARDEN, FERRY)
            for claim in ("Dogs pay €2.", "For a dog one pays €2.", "Dogs pay €5.", "The bishop collects stamps.")
        ]
    )
    assert verbatim == 1 > paraphrase > number > other
    assert number <= 0.5, "another number leaves only the cosine"


def test_the_deciding_sentence_is_at_its_place_in_its_passage() -> None:
    sentence, row = judged(support("Dogs pay €2.", GARDEN, FERRY), support("A van costs €31.", GARDEN, FERRY))
    assert (sentence.passage, FERRY[sentence.start : sentence.end], sentence.flags) == (1, "Dogs pay €2.", ())
    assert (row.passage, FERRY[row.start : row.end]) == (1, "| van | €31 |")


def test_a_difference_to_the_deciding_sentence_is_flagged_and_not_scored() -> None:
    plain, negated = judged(support("Dogs pay €2.", FERRY), support("Dogs do not pay €2.", FERRY))
    assert (plain.flags, negated.flags) == ((), ("negation",))
    assert (negated.score or 0) > 0.75


def test_nothing_supports_a_claim_without_passages() -> None:
    for judgement in judged(support("Dogs pay €2."), support("Dogs pay €2.", "", "???")):
        assert judgement == Judgement(0.0)


def test_words_must_be_close_together() -> None:
    apart = "Dogs may sleep here. It rains. The sea is cold. The night is long. The master will pay. It is €2."
    assert scores([support("Dogs pay €2.", apart)])[0] < scores([support("Dogs pay €2.", "Dogs come along. They pay. It is €2.")])[0]


def test_relevance_is_the_closest_sentence_to_the_question() -> None:
    question = "What does a dog pay on the ferry?"
    passages = [JudgeRequest("context_relevance", question, passages=[Passage("d", 0, len(text), text)]) for text in (FERRY, GARDEN)]
    relevant, irrelevant = judged(*passages)
    assert (relevant.score or 0) > 0.5 > (irrelevant.score or 1)
    assert (relevant.verdict, relevant.passage) == ("", -1)
    on, off = scores([JudgeRequest("answer_relevance", question, answer=answer) for answer in ("Dogs pay €2.", "Roses are cut in March.")])
    assert on > off


def test_correctness_is_the_support_of_the_best_expected_answer() -> None:
    both = JudgeRequest("correctness", "How much?", answer="It costs €2 for dogs.", expected=("two pounds fifty", "€2"))
    one = JudgeRequest("correctness", "How much?", answer="It costs €2 for dogs.", expected=("€2",))
    wrong = JudgeRequest("correctness", "How much?", answer="It costs €5 for dogs.", expected=("€2",))
    best, single, other = judged(both, one, wrong)
    assert best == single
    assert (best.score or 0) > (other.score or 1)


def test_without_an_expected_answer_there_is_no_score() -> None:
    (judgement,) = judged(JudgeRequest("correctness", "How much?", answer="€2"))
    assert (judgement.score, judgement.error) == (None, "the question has no expected answer")


def test_a_rubric_is_refused() -> None:
    with pytest.raises(InputError, match="judge 'overlap' has no score for rubric"):
        judged(JudgeRequest("rubric", "How much?", answer="€2"))


def test_it_scores_and_gives_no_verdicts() -> None:
    assert not OverlapJudge.gives_verdicts
    assert "rubric" not in OverlapJudge.tasks
    assert judged(support("Dogs pay €2.", FERRY))[0].verdict == ""


def test_vectors_go_through_the_cache_of_the_run() -> None:
    cache = MemoryVectorCache()
    judged(support("Nine gulls sit on a mast.", "A mast has gulls. Nine of them."), cache=cache)
    assert cache._held
    assert judged(support("Nine gulls sit on a mast.", "A mast has gulls. Nine of them.")) == judged(
        support("Nine gulls sit on a mast.", "A mast has gulls. Nine of them."), cache=cache
    )


def test_the_embedder_is_a_setting_and_part_of_the_identity() -> None:
    judge = JUDGES["overlap"].model_validate({"embedding": {"kind": "static"}})
    assert judge.settings() == {"kind": "overlap", "embedding": {"kind": "static"}}
    assert JUDGES["overlap"].model_validate(judge.settings()) == judge
    assert fingerprint(judge.identity("support")) != fingerprint(OverlapJudge().identity("support"))
    with pytest.raises(InputError, match="no kind 'word2vec'"):
        OverlapJudge(embedding={"kind": "word2vec"})
