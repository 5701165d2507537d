"""Questions of a log for the golden set: one of each group of near-duplicates, those that add most, with the reason."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.monitor.log_lines import arrow_table
from tests.monitor.production_traffic import HANDBOOK, RULES, handbook, traffic
from workbench.components.embedding.embed import MemoryVectorCache, embed
from workbench.components.embedding.static import StaticEmbedder
from workbench.core.records import Dataset, Document
from workbench.data.formats.golden import write_golden
from workbench.monitor.sampling import leaders, normalised, outline, production_dataset, select, signature
from workbench.people.generation.passages import EMBEDDER

CACHE = MemoryVectorCache()
EMPTY = Dataset("empty", (Document("d", "The ferry costs nine euros."),), (), ())


def log(*questions: str, **columns: object) -> pd.DataFrame:
    rows = [
        {"id": f"q{place:03d}", "time": f"2026-11-02T08:{place:02d}:00Z", "query": query, "session": f"s{place}"}
        for place, query in enumerate(questions)
    ]
    return outline(arrow_table(pd.DataFrame(rows).assign(**columns)))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("May I drive 12 metres?", "May I drive 14 metres?"),
        ("What is the rule in june 2025?", "What is the rule in june 2026?"),
        ("Am I allowed to bring a dog?", "Am I not allowed to bring a dog?"),
        ("Two days of leave?", "Three days of leave?"),
    ],
)
def test_questions_with_other_numbers_or_a_negation_are_two_questions(first: str, second: str) -> None:
    assert signature(first) != signature(second)
    assert len(select(log(first, second), EMPTY, 5, StaticEmbedder(), CACHE).rows) == 2


def test_the_same_question_in_other_words_is_one() -> None:
    found = select(
        log("Am I allowed to bring a dog?", "am i allowed to bring a dog", "Hello, am I allowed to bring a dog?"), EMPTY, 5, EMBEDDER, CACHE
    )
    assert found.rows["stands_for"].tolist() == [3]
    assert found.rows["query"].tolist() == ["Am I allowed to bring a dog?"]


def test_leaders_are_the_same_in_blocks_as_one_by_one() -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(1_300, 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    signatures = [(str(place % 2),) for place in range(len(vectors))]
    wanted: list[int] = []
    for place, vector in enumerate(vectors):
        own = [other for other in range(place) if wanted[other] == other and other % 2 == place % 2]
        wanted.append(next((other for other in own if vectors[other] @ vector >= 0.95), place))
    assert leaders(vectors, signatures, 0.95).tolist() == wanted


@pytest.mark.slow
def test_paraphrases_of_the_handbook_find_their_question_and_other_questions_stay() -> None:
    golden = [query.text for query in handbook().queries]
    texts = [normalised(text) for text in golden] + [normalised(rule(text)) for rule in RULES[1:] for text in golden]
    vectors = embed(texts, EMBEDDER, "query", CACHE).vectors
    found = leaders(vectors, [signature(text) for text in texts])
    number = len(golden)
    assert found[:number].tolist() == list(range(number)), "no golden question is a near-duplicate of another"
    own = np.tile(np.arange(number), len(RULES) - 1)
    late = found[number:]
    assert (late == own).mean() > 0.85
    assert not ((late < number) & (late != own)).any(), "no paraphrase is taken for another question"


def test_known_questions_are_left_out_and_signals_come_first() -> None:
    known = wb.load_dataset(HANDBOOK).subset(["hb-001", "hb-002"])
    texts = [
        known.queries[0].text.upper(),
        "Who feeds the seals of Inish?",
        "Where is the tide table of Inish?",
        "Where is the tide table of Inish?",
    ]
    bad = [{"kind": "thumb", "value": -1}]
    rows = log(*texts, feedback=[None, bad, None, None], hits=[None, [], [{"score": 0.5}], [{"score": 0.5}]])
    found = select(rows, known, 5, EMBEDDER, CACHE)
    assert found.covered == 1
    assert found.rows["query"].tolist() == ["Who feeds the seals of Inish?", "Where is the tide table of Inish?"]
    first, second = found.rows["reason"]
    assert first.startswith("no result (1 of 1); bad feedback (1 of 1); nearest golden question: “")
    assert second.endswith("stands for 2 questions")


def test_judges_that_disagree_and_bad_scores_are_reasons() -> None:
    rows = log("Who feeds the seals?", "Where is the tide table?")
    judged = [("q000", "faithfulness", 0.9), ("q000", "support_overlap", 0.2), ("q001", "faithfulness", 0.8)]
    evaluations = pd.DataFrame(judged, columns=["id", "metric", "value"]).assign(state="scored", judge="overlap")
    found = select(rows, EMPTY, 2, StaticEmbedder(), CACHE, evaluations).rows
    assert "judged bad (1 of 1); judges disagree (1 of 1)" in found.loc[0, "reason"]
    assert "judge" not in found.loc[1, "reason"]
    # Shared words are no judgement of relevance.
    shared = pd.DataFrame([("q000", "answer_relevance", 0.2, "scored", "overlap")], columns=["id", "metric", "value", "state", "judge"])
    assert "judged bad" not in select(rows, EMPTY, 2, StaticEmbedder(), CACHE, shared).rows["reason"].str.cat()


def test_a_pick_makes_similar_questions_less_worth() -> None:
    seals = ["Who feeds the seals?", "Who is it that feeds the grey seals?", "Where is the tide table?"]
    picked = select(log(*seals, *seals[:2]), EMPTY, 2, EMBEDDER, CACHE).rows["query"].tolist()
    assert seals[2] in picked


@pytest.mark.slow
def test_selection_is_the_same_in_any_order_of_rows() -> None:
    golden = handbook().subset([query.query_id for query in handbook().queries[:100]])
    rows = outline(arrow_table(traffic(1_500)))
    first = select(rows, golden, 20, EMBEDDER, CACHE)
    again = select(rows.sample(frac=1, random_state=1), golden, 20, EMBEDDER, CACHE)
    pd.testing.assert_frame_equal(first.rows, again.rows)
    known = {normalised(query.text) for query in golden.queries}
    assert not known & set(map(normalised, first.rows["query"]))
    asked = first.covered + first.left_out + first.rows["stands_for"].sum()
    assert first.covered > 500
    assert asked <= len(rows)


def test_picks_become_a_dataset_for_the_labeller(tmp_path: Path) -> None:
    known = wb.load_dataset(HANDBOOK).subset(["hb-001", "hb-002"])
    found = select(log("Who feeds the seals of Inish?", "Where is the tide table?"), known, 5, StaticEmbedder(), CACHE)
    write_golden(production_dataset(found, known), tmp_path / "more")
    read = wb.load_dataset(tmp_path / "more", unlabelled=True)
    assert len(read.documents) == len(known.documents)
    assert {query.metadata["source"] for query in read.queries} == {"production"}
    assert all("s0" not in str(query.metadata["session_hash"]) for query in read.queries)
    session = wb.label(read, annotator="ann", file=tmp_path / "labels.jsonl").session
    session.go_to(read.queries[0].query_id)
    session.judge(session.documents[0].doc_id, 2)
    labelled = wb.apply_labels(read, tmp_path / "labels.jsonl").dataset
    assert labelled.queries[0].metadata["source"] == "production"


def test_an_empty_log_adds_nothing() -> None:
    found = select(log("Who?").head(0), EMPTY, 3, StaticEmbedder(), CACHE)
    assert (len(found.rows), found.covered, found.left_out) == (0, 0, 0)
