"""Two runs: which questions and configurations are compared, and what is said about the differences."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.made_runs import Made
from workbench.core.errors import InputError
from workbench.measures.statistics.comparison import paired_difference
from workbench.report.analysis.values import clusters, per_query
from workbench.report.results.run_tables import RunTables
from workbench.report.runs.comparison import MatchedConfiguration, RunPair, RunReading, matched_configurations

_RNG = np.random.default_rng(5)
BASE = np.round(0.5 + 0.3 * _RNG.random(120), 3)
NOISE = _RNG.normal(0, 0.02, 120)


@pytest.fixture(scope="module")
def before(made: Made) -> RunTables:
    return made.valued([BASE, BASE, BASE, BASE], name="then", smallest_difference=0.265)


@pytest.fixture(scope="module")
def after(made: Made) -> RunTables:
    """The same configurations: one equal, one far worse, one better by little, one that varies."""
    varied = np.clip(BASE + 12 * (NOISE - NOISE.mean()) + 0.02, 0, 1)
    return made.valued([BASE, BASE - 0.2 + NOISE, BASE + (NOISE - NOISE.mean()) / 9, varied], name="now", smallest_difference=0.265)


def changed(run: RunTables, table: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> RunTables:
    """Return a run with another table."""
    rows = change(run.table(table).copy())
    return replace(run, sources={**run.sources, table: lambda _: rows})


def test_each_configuration_is_read_by_its_corrected_difference(before, after):
    pair = RunPair.of(before, after)
    readings = [row.reading for row in pair.differences]
    assert readings == [RunReading.IDENTICAL, RunReading.WORSE, RunReading.EQUIVALENT, RunReading.UNDECIDED]
    primary = str(before.primary)
    for row, name in zip(pair.differences, before.names, strict=True):
        expected = paired_difference(per_query(after, name, primary), per_query(before, name, primary), clusters(after))
        mean = row.comparison.difference
        assert (mean.value, mean.n, mean.clusters) == pytest.approx((expected.value, expected.n, expected.clusters))
        assert row.after - row.before == pytest.approx(mean.value)
        if row.reading is not RunReading.IDENTICAL:
            assert (mean.low, mean.high) == pytest.approx((expected.low, expected.high))
            assert row.comparison.low_adjusted <= mean.low
            assert row.comparison.p_adjusted >= row.comparison.p


def test_the_order_of_two_runs_turns_the_difference_and_its_reading(before, after):
    there, back = (RunPair.of(*runs).differences[1] for runs in ((before, after), (after, before)))
    assert (there.reading, back.reading) == (RunReading.WORSE, RunReading.BETTER)
    assert there.comparison.difference.value == pytest.approx(-back.comparison.difference.value)


def test_a_lower_value_of_a_metric_of_faults_is_better(made):
    runs = [made.valued([values], name=name, primary="irrelevant@3") for name, values in (("then", BASE), ("now", BASE - 0.2 + NOISE))]
    assert RunPair.of(*runs).differences[0].reading is RunReading.BETTER


def test_questions_are_compared_if_their_text_and_labels_are_equal(before, after):
    ids = before.questions["query_id"]

    def edited(questions: pd.DataFrame) -> pd.DataFrame:
        questions.loc[0, "text"] += " exactly"
        questions.loc[2, "query_id"] = "new"
        return questions.iloc[::-1].reset_index(drop=True)

    labelled = changed(after, "judgements", lambda rows: rows.assign(relevance=rows["relevance"].where(rows["query_id"] != ids[1], 2)))
    pair = RunPair.of(before, changed(labelled, "questions", edited))
    reasons = {ids[0]: "text changed", ids[1]: "labels changed", ids[2]: "only in the earlier run", "new": "only in the later run"}
    assert pair.left_out == reasons
    assert pair.omitted["reason"].tolist() == [reasons[name] for name in pair.omitted["query_id"]]
    assert pair.query_ids == ids[3:][::-1].tolist()
    # Values are paired by id, whatever the order of both runs.
    left = pair.values(MatchedConfiguration(before.names[1], after.names[1]))
    assert left[0].tolist() == per_query(before, before.names[1], str(before.primary))[3:][::-1].tolist()
    assert left[1].tolist() == per_query(after, after.names[1], str(before.primary))[3:][::-1].tolist()
    assert pair.differences[1].comparison.difference.n == 117


def test_questions_without_a_value_in_one_run_are_counted_and_many_leave_nothing_to_say(made, before):
    few, many = ([np.where(np.arange(120) < count, np.nan, BASE - 0.2 + NOISE)] for count in (5, 40))
    rows = [RunPair.of(before, made.valued(values, name="now")).differences[0] for values in (few, many)]
    assert [(row.missing, row.reading) for row in rows] == [(5, RunReading.WORSE), (40, RunReading.TOO_FEW)]


def test_few_questions_and_drafts_are_not_claimed_to_differ(made, before, after):
    small = [made.valued([row[:20]], documents=2, name=name) for name, row in (("then", BASE), ("now", BASE - 0.2))]
    assert RunPair.of(*small).differences[0].reading is RunReading.TOO_FEW
    drafts = changed(before, "questions", lambda rows: rows.assign(metadata='{"synthetic": true}'))
    readings = {row.reading for row in RunPair.of(drafts, after).differences}
    assert readings == {RunReading.IDENTICAL, RunReading.TOO_FEW}


def test_the_questions_that_changed_most_come_first(before, after):
    table = RunPair.of(before, after).questions
    assert set(table["configuration"]) == set(after.names[1:])
    assert table["difference"].abs().is_monotonic_decreasing
    assert table["difference"].to_numpy() == pytest.approx((table["after"] - table["before"]).to_numpy())


def test_configurations_are_matched_by_settings_then_by_name_then_by_a_single_change():
    def fixed(size: int, **retrieval: object) -> dict[str, object]:
        return {"chunking": {"kind": "fixed", "size": size, "overlap": 0}, "retrieval": {"kind": "bm25", "k": 10, **retrieval}}

    def matches(then: dict[str, dict[str, object]], now: dict[str, dict[str, object]]) -> list[tuple[str, str, list[str]]]:
        return [(match.before, match.after, [str(change) for change in match.changes]) for match in matched_configurations(then, now)]

    assert matches({"old": fixed(64), "a": fixed(32)}, {"a": fixed(64), "b": fixed(32)}) == [("old", "a", []), ("a", "b", [])]
    # A setting that only one of both versions records is no change.
    assert matches({"a": fixed(64)}, {"b": fixed(64, stemmer="english")}) == [("a", "b", [])]
    changes = ["chunking.size 64 → 32", "retrieval.k 10 → 5"]
    assert matches({"a": fixed(64)}, {"a": fixed(32, k=5)}) == [("a", "a", changes)]
    assert matches({"a": fixed(64)}, {"b": fixed(32)}) == [("a", "b", changes[:1])]
    assert matches({"a": fixed(64)}, {"b": fixed(32, k=5)}) == []
    # Either could be the change of the other.
    assert matches({"a": fixed(64)}, {"b": fixed(32), "c": fixed(16)}) == []
    replaced = fixed(64) | {"chunking": {"kind": "sentence", "size": 64}}
    assert matches({"a": fixed(64)}, {"b": replaced}) == [("a", "b", ["chunking fixed → sentence"])]


def test_changes_of_settings_data_and_versions_are_listed(made, before):
    now = made.valued(
        [BASE, BASE], documents=12, name="now", pipeline={"retrieval": {"kind": "bm25", "k": 5, "b": 0.5}}, smallest_difference=0.1
    )
    versions = {**now.manifest["versions"], "numpy": "0.1"}
    later = replace(now, manifest={**now.manifest, "versions": versions})
    rows = RunPair.of(
        before, changed(later, "documents", lambda rows: rows.assign(fingerprint=rows["fingerprint"].where(rows["doc_id"] != "d0", "x")))
    ).changes
    found = {(kind, what): (old, new) for kind, what, old, new in rows.itertuples(index=False)}
    assert found["settings", "smallest_difference"] == ("0.265", "0.1")
    assert found["version", "numpy"] == (before.manifest["versions"]["numpy"], "0.1")
    assert found["dataset", "documents"] == ("", "1 changed: d0")
    assert [new for (kind, _), (_, new) in found.items() if kind == "configuration"].count("retrieval.b 0.75 → 0.5") == 2
    assert [old for (kind, _), (old, _) in found.items() if kind == "configuration"].count("removed") == 2


def test_a_stage_of_another_version_is_listed_with_its_configurations(before, after):
    prints = after.manifest["fingerprints"]
    settings = {name: {**own, "retrieval": "of another version"} for name, own in prints["settings"].items()}
    later = replace(after, manifest={**after.manifest, "fingerprints": {**prints, "settings": settings}})
    (row,) = RunPair.of(before, later).changes.query("what == 'stage retrieval'").to_dict("records")
    assert row["after"].startswith(f"of {after.names[0]}")


def test_the_ranking_has_the_places_of_both_runs(before, after):
    table = RunPair.of(before, after).ranking.set_index("configuration")
    assert table.loc[after.names[1], "place"] == 4
    assert table.loc[after.names[1], "score"] == pytest.approx((BASE - 0.2 + NOISE).mean())
    assert table["score_before"].to_numpy() == pytest.approx(BASE.mean())


def test_runs_that_cannot_be_compared_are_refused(made, before, tmp_path):
    other = made.valued([BASE], name="other", primary="recall@3")
    with pytest.raises(InputError, match=r"then is ranked by span_recall@60t, and other by recall@3; set primary"):
        RunPair.of(before, other)
    with pytest.raises(InputError, match=r"was measured otherwise in then: average questions → documents"):
        RunPair.of(before, replace(before, manifest={**before.manifest, "average": "documents"}))
    with pytest.raises(InputError, match=r"have no question with the same id, text and labels"):
        RunPair.of(before, changed(before, "questions", lambda rows: rows.assign(text="?")))
    before.write(tmp_path)
    with pytest.raises(InputError, match=r"is compared with itself; give two runs"):
        RunPair.of(RunTables.read(tmp_path), RunTables.read(Path(f"{tmp_path}/.")))


@pytest.mark.slow
def test_runs_that_differ_by_noise_alone_are_rarely_said_to_differ(before):
    rng, claims, runs = np.random.default_rng(39), 0, 100
    questions = before.questions["cluster"].to_numpy()
    for _ in range(runs):
        # Noise that questions on one document share, and a few losses.
        noise = [0.05 * rng.normal(size=120) + 0.05 * rng.normal(size=questions.max() + 1)[questions] for _ in range(3)]
        rows = before.queries.copy()
        primary = (rows["metric"] == str(before.primary)) & rows["configuration"].isin(before.names[:3])
        rows.loc[primary, "value"] = (rows.loc[primary, "value"] + np.concatenate(noise)).clip(0, 1)
        later = replace(before, sources={**before.sources, "queries": lambda _, rows=rows: rows})
        claims += any(row.reading in (RunReading.WORSE, RunReading.BETTER) for row in RunPair(before, later).differences)
    assert claims <= 10
