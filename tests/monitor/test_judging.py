"""Judging drawn questions: the judges of a sweep, each question once, failed calls again, and the reason for each missing value."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import pandas as pd
import pytest

from tests.monitor.production_traffic import recorded, traffic
from workbench.components.answering.base import AnswerResources
from workbench.components.embedding.embed import MemoryVectorCache
from workbench.components.embedding.static import StaticEmbedder
from workbench.components.judging.base import Judge, Judgement, JudgeRequest
from workbench.components.judging.overlap import OverlapJudge
from workbench.components.judging.sentence_splitter import SentenceSplitter
from workbench.components.judging.settings import Judging
from workbench.core.errors import StoreError
from workbench.llm.session import CallResources
from workbench.monitor.judging import FILE, judge

RESOURCES = AnswerResources(MemoryVectorCache(), CallResources())


class CountingJudge(Judge):
    """Approves every claim, counts its requests in a file, and fails for claims with the word that another file names."""

    calls_model: ClassVar[bool] = True
    kind: Literal["counting"] = "counting"
    folder: str

    def judge(self, requests: Sequence[JudgeRequest], resources: AnswerResources) -> Iterator[tuple[int, Judgement]]:
        failing = (Path(self.folder) / "failing").read_text()
        with (Path(self.folder) / "requests").open("a") as stream:
            for place, request in enumerate(requests):
                stream.write(f"{request.task}\n")
                fails = failing and failing in (request.claim or request.answer)
                yield place, Judgement(error="the server is down") if fails else Judgement(1.0, "supported", seconds=0.1)


def counting(folder: Path) -> Judging:
    (folder / "failing").write_text("")
    each = CountingJudge(folder=str(folder))
    return Judging(claims=SentenceSplitter(), support=each, relevance=each, correctness=each)


def requests(folder: Path) -> int:
    path = folder / "requests"
    return len(path.read_text().splitlines()) if path.exists() else 0


def overlap() -> Judging:
    each = OverlapJudge(embedding=StaticEmbedder())
    return Judging(claims=SentenceSplitter(), support=each, relevance=each, correctness=each)


def row(identity: str, **fields: object) -> dict[str, object]:
    hits = [{"doc_id": "ferry", "text": "The ferry to Inish leaves at 9. Dogs pay €2.", "score": 0.8}]
    return {
        "id": identity,
        "query": "What do dogs pay?",
        "answer": "Dogs pay €2.",
        "hits": hits,
        "refused": None,
        "feedback": None,
    } | fields


def test_the_overlap_judge_scores_real_answers_and_refusals_have_no_score(tmp_path: Path) -> None:
    rows = [{"id": f"r{place}", **each} for place, each in enumerate(recorded())]
    kept = [each for each in rows if each["label"]["condition"] == "gold" and each["label"]["answer"]]
    found = judge(pd.DataFrame(kept), overlap(), RESOURCES, tmp_path)
    assert list(found.columns) == ["id", "metric", "value", "approved", "state", "reason", "judge"]
    assert set(found["metric"]) == {"support_overlap", "answer_relevance", "refusal_rate", "feedback"}
    support = found[found["metric"] == "support_overlap"].set_index("id")
    behaviour = {each["id"]: each["label"]["behaviour"] for each in kept}
    answered = [identity for identity, kind in behaviour.items() if kind == "answered"]
    assert (support.loc[answered, "state"] == "scored").mean() > 0.9
    assert support.loc[answered, "value"].mean() > 0.5
    assert found.loc[found["state"] != "scored", "reason"].ne("").all()


def test_support_separates_supported_from_unsupported_answers(tmp_path: Path) -> None:
    rows = pd.DataFrame([row("good"), row("bad", answer="The bishop collects 40 stamps."), row("bare", hits=[])])
    value = judge(rows, overlap(), RESOURCES, tmp_path).set_index(["metric", "id"])["value"]["support_overlap"]
    assert value["good"] == 1 > value["bad"] >= value["bare"] == 0


def test_what_would_take_hours_is_unscored_with_a_reason_and_judged_once(tmp_path: Path) -> None:
    judging, context = counting(tmp_path), [{"doc_id": "a", "text": "x" * 100_000}]
    items = {"long": 20_000, "claims": 501, "context": 101, "read": 99}
    rows = [row(name, answer="\n- ab" * number, hits=context) for name, number in items.items()]
    rows.append(row("hits", answer="\n- ab" * 101, hits=[{"doc_id": "a", "text": "x"}] * 1000))
    found = judge(pd.DataFrame(rows), judging, RESOURCES, tmp_path).set_index(["metric", "id"])["reason"]
    assert found["faithfulness"].to_dict() == {
        "long": "an answer of more than 50,000 letters",
        "claims": "more than 500 claims",
        "context": "claims and a context that are too long together",
        "read": "",
        "hits": "claims and a context that are too long together",
    }
    assert found["answer_relevance"].to_dict() == {"long": "an answer of more than 50,000 letters"} | dict.fromkeys(
        ("claims", "context", "read", "hits"), ""
    )
    made = requests(tmp_path)
    judge(pd.DataFrame(rows), judging, RESOURCES, tmp_path)
    assert requests(tmp_path) == made == 4, "one distinct claim, and three distinct answers"


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_evaluations_are_appended_to_a_regular_file_only(kind: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE) if kind == "pipe" else (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match=r"judged.jsonl is a link, or not a regular file; move it away"):
        judge(pd.DataFrame([row("a")]), counting(tmp_path), RESOURCES, tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_run_judges_nothing_twice(tmp_path: Path) -> None:
    judging, sample = counting(tmp_path), pd.DataFrame([row("a"), row("b", query="And cats?")])
    first = judge(sample, judging, RESOURCES, tmp_path)
    made = requests(tmp_path)
    assert made > 0
    pd.testing.assert_frame_equal(judge(sample, judging, RESOURCES, tmp_path), first)
    assert requests(tmp_path) == made
    judge(pd.DataFrame([row("a", answer="Dogs pay €3.")]), judging, RESOURCES, tmp_path)
    assert requests(tmp_path) > made, "another text is judged"


def test_failed_calls_are_unscored_with_a_reason_and_made_again(tmp_path: Path) -> None:
    judging = counting(tmp_path)
    (tmp_path / "failing").write_text("€2")
    sample = pd.DataFrame([row("a"), row("b", answer="Cats are free.")])
    found = judge(sample, judging, RESOURCES, tmp_path).set_index(["id", "metric"])
    assert found.loc[("a", "faithfulness"), ["state", "reason"]].tolist() == ["unscored", "the server is down"]
    assert found.loc[("b", "faithfulness"), "value"] == 1
    (tmp_path / "failing").write_text("")
    before = requests(tmp_path)
    again = judge(sample, judging, RESOURCES, tmp_path).set_index(["id", "metric"])
    assert again.loc[("a", "faithfulness"), "value"] == 1
    assert requests(tmp_path) == before + 2, "claim and relevance of one question"


def test_a_line_that_a_crash_has_cut_is_judged_again_and_the_others_are_kept(tmp_path: Path) -> None:
    judging, sample = counting(tmp_path), pd.DataFrame([row("a"), row("b", answer="Cats are free.")])
    whole = judge(sample, judging, RESOURCES, tmp_path)
    file = tmp_path / FILE
    file.write_bytes(file.read_bytes()[:-20])
    before = requests(tmp_path)
    pd.testing.assert_frame_equal(judge(sample, judging, RESOURCES, tmp_path), whole)
    assert requests(tmp_path) == before + 2
    assert json.loads(file.read_text().splitlines()[-1])["key"]
    judge(sample, judging, RESOURCES, tmp_path)
    assert requests(tmp_path) == before + 2


@pytest.mark.parametrize(
    "change",
    [
        lambda _: 5,
        lambda _: [],
        lambda _: [{}],
        lambda found: found[:1],
        lambda found: [{**found[0], "value": "abc"}, *found[1:]],
        lambda found: [{**found[0], "value": float("nan")}, *found[1:]],
        lambda found: [{**found[0], "approved": 9e99}, *found[1:]],
        lambda found: [{**found[0], "state": "other"}, *found[1:]],
        lambda found: [{**found[0], "metric": "other"}, *found[1:]],
        lambda found: [{**found[0], "reason": 5}, *found[1:]],
        lambda found: [{**found[0], "more": 5}, *found[1:]],
    ],
)
def test_a_line_with_other_evaluations_is_judged_again(change, tmp_path: Path) -> None:
    judging, sample = counting(tmp_path), pd.DataFrame([row("a")])
    whole, before = judge(sample, judging, RESOURCES, tmp_path), requests(tmp_path)
    (kept,) = (json.loads(line) for line in (tmp_path / FILE).read_text().split("\n") if line)
    (tmp_path / FILE).write_text(json.dumps(kept | {"rows": change(kept["rows"])}))
    pd.testing.assert_frame_equal(judge(sample, judging, RESOURCES, tmp_path), whole)
    assert requests(tmp_path) == before + 2


def test_refusals_and_feedback_need_no_judge(tmp_path: Path) -> None:
    thumbs = [{"kind": "thumb", "value": 1.0}, {"kind": "thumb", "value": -1.0}]
    rows = [
        row("says", answer="I am sorry, the documents do not say what dogs pay."),
        row("declares", refused=True),
        row("thumbs", feedback=thumbs),
        row("edit", feedback=[{"kind": "edit", "text": "Dogs pay €3."}]),
        row("other", feedback=[{"kind": "follow_up", "text": "And cats?"}]),
    ]
    found = judge(pd.DataFrame(rows), counting(tmp_path), RESOURCES, tmp_path).set_index(["metric", "id"])
    assert found["value"]["refusal_rate"].tolist() == [1, 1, 0, 0, 0]
    assert found["state"]["faithfulness"].tolist() == ["not_applicable"] * 2 + ["scored"] * 3
    assert found["reason"]["faithfulness"].tolist() == ["refused"] * 2 + [""] * 3
    assert found["value"]["feedback"].dropna().to_dict() == {"thumbs": 0, "edit": 0}


@pytest.mark.slow
def test_traffic_with_paraphrases_is_judged(tmp_path: Path) -> None:
    sample = traffic(120)
    found = judge(sample[sample["answer"].notna()], overlap(), RESOURCES, tmp_path)
    assert set(found["id"]) == set(sample.loc[sample["answer"].notna(), "id"])
