"""Gates on runs whose values are set by hand."""

import html
import json
import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.gated_runs import BASE, DOCUMENTS, PRIMARY, QUESTIONS, VALUES, as_random, floors, repeated
from workbench.core.errors import InputError
from workbench.core.text.formatting import number, signed
from workbench.gate.baseline import Baseline, baseline_of, read_baseline, write_baseline
from workbench.gate.check import GateReport, check_gate, compared_subjects, gated_configuration
from workbench.gate.comparisons import SecondRuns
from workbench.gate.render import annotation_lines, gate_junit, gate_lines, gate_markdown, gate_table
from workbench.gate.rules import Floor, GateSettings, RetrievalTest, RuleResult, Subject, Tolerance
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.decisions import Decision
from workbench.report.analysis.findings import findings
from workbench.report.render.plain import escaped
from workbench.report.results.run_tables import RunTables
from workbench.report.runs.inputs import measured_by, measurement
from workbench.report.topics.run.gate import gate


@pytest.fixture(scope="module")
def file(base: Baseline, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("baseline") / "base.json"
    write_baseline(base, path)
    return path


@pytest.fixture
def against(gated_run, names, file):
    """Compare a candidate with the baseline."""

    def check(name: str, run: RunTables | None = None, again: SecondRuns | None = None, **changes: object) -> GateReport:
        return check_gate(run or gated_run, GateSettings(configuration=names[name], baseline=file, **changes), again)

    return check


def only(report: GateReport) -> RuleResult:
    (rule,) = report.rules
    return rule


def test_a_large_drop_fails_with_the_numbers_behind_it(against, file):
    report = against("worse")
    rule = only(report)
    assert (report.outcome, report.exit_code, rule.kind) == (Decision.FAIL, 1, "baseline")
    assert rule.rule == f"{PRIMARY} not below {file} by more than 5%"
    assert rule.value == pytest.approx(VALUES["worse"].mean())
    assert rule.reference == pytest.approx(BASE.mean())
    assert rule.difference == pytest.approx((VALUES["worse"] - BASE).mean())
    assert rule.limit == pytest.approx(-0.05 * BASE.mean())
    assert rule.low < rule.difference < rule.high < rule.limit
    assert rule.p == rule.p_adjusted < 0.001
    assert (rule.n, rule.clusters, rule.unscored, rule.alarm) == (QUESTIONS, DOCUMENTS, 0, False)
    assert rule.reason.startswith(
        f"a drop is shown: {signed(rule.difference)} (p < 0.001), at least {signed(rule.low)} with 95 % confidence"
    )
    assert f"at most {signed(rule.high)} with 95 % confidence, beyond the tolerated {number(-rule.limit)}" in rule.reason


def test_a_drop_that_may_be_tolerated_is_shown_but_is_not_called_beyond_the_tolerance(against, gated_run):
    drop = (BASE - VALUES["worse"]).mean()
    report = against("worse", tolerance=Tolerance(drop + 0.0005, relative=False))
    rule = only(report)
    assert rule.outcome is Decision.FAIL
    assert rule.low < rule.limit < rule.difference
    shown = (
        f"a drop is shown: {signed(rule.difference)} (p < 0.001), at least {signed(rule.low)} with 95 % confidence, on {QUESTIONS} questions; "
        f"a drop of more than {number(-rule.limit)} is not excluded"
    )
    assert rule.reason == shown
    table = gate_table(report)
    reported = gate(findings(replace(gated_run, sources={**gated_run.sources, "gate": lambda _: table})))
    assert shown in "\n".join(gate_lines(report))
    assert escaped(shown) in gate_markdown(report)
    assert shown in html.unescape(gate_junit(report))
    assert shown in "\n".join(annotation_lines(report)).replace("%25", "%")
    assert shown in str(reported)


def test_a_small_drop_that_is_significant_passes_and_is_noted(against):
    report = against("tolerated")
    rule = only(report)
    assert (report.outcome, report.exit_code) == (Decision.PASS, 0)
    assert "worse, within tolerance" in rule.reason
    assert rule.equivalent
    assert f"equivalent within ±{number(-rule.limit)}" in rule.reason
    failed = only(against("worse"))
    assert not failed.equivalent
    assert "equivalent" not in failed.reason


def test_noise_around_the_margin_is_undecided_and_says_how_many_questions_would_decide(against):
    report = against("noisy")
    assert (report.outcome, report.exit_code) == (Decision.UNDECIDED, 4)
    assert "questions would decide if nothing changed" in only(report).reason


def test_an_unchanged_run_is_identical(against):
    report = against("base")
    assert report.outcome is Decision.PASS
    assert only(report).reason == f"identical on {QUESTIONS} questions"
    assert (report.lost, report.notes) == ([], [])


def test_another_configuration_is_named_as_a_difference(against, file):
    report = against("equal")
    assert report.notes == [f"the configuration differs from that of {file}: chunking.size 16 → 24"]
    assert report.differences is not None
    assert report.differences.settings == ("chunking.size 16 → 24",)


def test_the_tolerance_decides(against):
    assert against("worse", tolerance=Tolerance.parse("30%")).outcome is Decision.PASS
    assert against("worse", tolerance=Tolerance.parse("0.001")).outcome is Decision.FAIL


def test_few_unscored_questions_count_at_their_worst_and_many_stop_the_gate(against):
    rule = only(against("missing"))
    assert (rule.unscored, rule.n) == (2, QUESTIONS - 2)
    # The two missing values could be 0, which is less than the margin of 5 %.
    assert rule.low <= -BASE[:2].sum() / QUESTIONS
    assert "2 questions without a value counted at worst and at best" in rule.reason
    with pytest.raises(InputError, match=r"9 of 120 questions \(7.5 %\) of gated have no value"):
        against("many")
    assert only(against("many", max_unscored=0.1)).unscored == 9


def test_many_unscored_questions_stop_a_floor_too(gated_run, names):
    settings = GateSettings(configuration=names["many"], floors=(Floor.parse(f"{PRIMARY} >= 0.1"),))
    with pytest.raises(InputError, match=r"9 of 120 questions \(7.5 %\) of .* have no value"):
        check_gate(gated_run, settings)
    assert only(check_gate(gated_run, replace(settings, max_unscored=0.1))).n == QUESTIONS - 9


def test_a_run_with_something_random_raises_an_alarm_instead_of_failing(gated_run, names, file):
    random = as_random(gated_run)
    report = check_gate(random, GateSettings(configuration=names["worse"], baseline=file))
    rule = only(report)
    assert (report.exit_code, rule.alarm, report.alarms) == (4, True, [rule.rule])
    assert "embedding: openai can give other values: run both sides again" in rule.reason


def test_a_second_run_of_both_sides_decides_an_alarm(gated_run, names, tmp_path):
    random = as_random(gated_run)
    first = baseline_of([random], names["base"], tmp_path / "first.json", fewest=1)
    write_baseline(replace(first, settings=random.configurations_settings[names["base"]]), first.path)
    settings = GateSettings(configuration=names["worse"], baseline=first.path)
    second = replace(first, path=tmp_path / "second")
    rule = only(check_gate(random, settings, SecondRuns(repeated(random), second)))
    assert (rule.outcome, rule.alarm) == (Decision.FAIL, False)
    assert "confirmed by a second run of both sides" in rule.reason


def test_a_second_run_with_other_settings_or_questions_is_refused(gated_run, names, file, base):
    settings = GateSettings(configuration=names["worse"], baseline=file)
    with pytest.raises(InputError, match="does not repeat"):
        check_gate(gated_run, settings, SecondRuns(repeated(gated_run), replace(base, settings={"chunking": {}})))
    prints = gated_run.manifest["fingerprints"] | {"corpus": "other"}
    other = replace(gated_run, manifest=dict(gated_run.manifest) | {"fingerprints": prints})
    with pytest.raises(InputError, match="second run has other questions"):
        check_gate(gated_run, settings, SecondRuns(other, base))
    with pytest.raises(InputError, match="second run is a copy of the first"):
        check_gate(as_random(gated_run), settings, SecondRuns(as_random(gated_run), base))


def test_limits_are_about_these_questions_or_others_like_them(gated_run, names):
    limit = f"{BASE.mean() + 0.001:.4f}"
    low, high = (f"{PRIMARY} >= {value:.3f}" for value in (BASE.mean() - 0.1, BASE.mean() + 0.1))
    settings = floors(f"{PRIMARY} >= {limit}", configuration=names["base"])
    assert only(check_gate(gated_run, settings)).outcome is Decision.FAIL
    inferred = replace(settings, floor_kind="inference")
    rule = only(check_gate(gated_run, inferred))
    assert (rule.outcome, rule.kind) == (Decision.UNDECIDED, "inference")
    assert "the interval contains the limit" in rule.reason
    assert float(rule.reason.split()[0]) == pytest.approx(rule.value, abs=5e-4)
    row = gated_run.metrics.query("configuration == @names['base'] and metric == @PRIMARY and slice == 'all'").iloc[0]
    assert (rule.low, rule.high) == pytest.approx((row["low"], row["high"]))
    report = check_gate(gated_run, floors(low, high, configuration=names["base"], floor_kind="inference"))
    assert [each.outcome for each in report.rules] == [Decision.PASS, Decision.FAIL]


def test_a_limit_of_a_slice_reads_its_questions(gated_run, names):
    even = BASE[[number % 10 % 2 == 0 for number in range(QUESTIONS)]].mean()
    report = check_gate(gated_run, floors(f"{PRIMARY}[kind=even] >= {even - 1e-6:.6f}", configuration=names["base"]))
    assert report.outcome is Decision.PASS
    assert only(report).value == pytest.approx(even)
    assert only(report).n == QUESTIONS // 2


def test_a_limit_that_cannot_be_checked_is_wrong_input(gated_run, names, wording):
    wording(
        lambda rule: check_gate(gated_run, floors(rule, configuration=names["base"])),
        [
            "ndcg@10 >= 0.5",
            f"{PRIMARY}[kind=evn] >= 0.5",
            f"{PRIMARY}[kind=even&kind=odd] >= 0.5",
            f"{PRIMARY}[condition=gold] >= 0.5",
            f"{PRIMARY} >= 1.01",
            "irrelevant@3 <= 1.5",
            "irrelevant@3 <= -0.5",
        ],
    )


def test_a_limit_can_be_either_end_of_a_proportion(gated_run, names):
    report = check_gate(gated_run, floors(f"{PRIMARY} >= 0", "irrelevant@3 <= 1", "irrelevant@3 <= 0", configuration=names["base"]))
    assert [rule.outcome for rule in report.rules] == [Decision.PASS, Decision.PASS, Decision.FAIL]


def test_a_drop_in_few_documents_does_not_fail_and_says_so(gated_run, names, base, tmp_path):
    better = _with_primary(base, np.where(np.arange(QUESTIONS) < 3 * QUESTIONS // DOCUMENTS, 1.0, BASE), tmp_path / "better.json")
    rule = only(check_gate(gated_run, GateSettings(configuration=names["base"], baseline=better)))
    assert rule.outcome is Decision.UNDECIDED
    assert rule.difference < rule.limit
    assert "; too few questions or documents differ for a failure" in rule.reason


def test_a_drop_on_few_questions_says_how_many_a_failure_needs(made, tmp_path):
    few = made.valued([BASE[:20], BASE[:20] / 2], documents=2, name="few-questions")
    first, second = few.names
    write_baseline(baseline_of([few], first, tmp_path / "few.json"), tmp_path / "few.json")
    rule = only(check_gate(few, GateSettings(configuration=second, baseline=tmp_path / "few.json")))
    assert rule.outcome is Decision.UNDECIDED
    assert "; a failure needs at least 30 questions" in rule.reason
    assert "would decide" not in rule.reason


def test_a_gate_without_a_rule_is_wrong_input(gated_run):
    with pytest.raises(InputError, match="there is no rule to check in gated; write --fail-below"):
        check_gate(gated_run, GateSettings())


def test_the_configuration_is_the_one_named_or_the_baseline_or_the_only_one(gated_run, names):
    with pytest.raises(InputError, match="has 7 configurations; name one with --configuration"):
        gated_configuration(gated_run, GateSettings())
    based = replace(gated_run, manifest=dict(gated_run.manifest) | {"baseline": names["worse"]})
    assert gated_configuration(based, GateSettings()) == names["worse"]
    assert gated_configuration(based, GateSettings(configuration=names["base"])) == names["base"]
    failed = replace(gated_run, manifest=dict(gated_run.manifest) | {"failures": {"broken": "no model"}})
    with pytest.raises(InputError, match="the configuration broken of the run gated failed: no model"):
        gated_configuration(failed, GateSettings(configuration="broken"))


def test_questions_or_labels_that_changed_stop_the_gate(gated_run, names, base, tmp_path):
    first = next(iter(base.questions))
    for what, mark in (("questions", {"text": "other"}), ("labels", {"labels": "other"})):
        path = tmp_path / f"{what}.json"
        write_baseline(replace(base, questions={**base.questions, first: replace(base.questions[first], **mark)}), path)
        with pytest.raises(InputError, match=f"the {what} differ from those of .*, at 1 question: {first}; compare on the same questions"):
            check_gate(gated_run, GateSettings(configuration=names["base"], baseline=path))


def test_documents_that_changed_are_listed_and_compared(gated_run, names, base, tmp_path):
    documents = dict(base.documents)
    gone = {name: documents.pop(name) for name in ("d0", "d1")}
    changed = {"d2": "other", "older": "mark"}
    path = tmp_path / "documents.json"
    write_baseline(replace(base, documents={**documents, **changed}, corpus="other"), path)
    report = check_gate(gated_run, GateSettings(configuration=names["base"], baseline=path))
    assert report.outcome is Decision.PASS
    assert set(gone) == {"d0", "d1"}
    assert report.notes == [
        f"1 document removed since {path}: older",
        f"2 documents added since {path}: d0 and d1",
        f"1 document changed since {path}: d2",
    ]


def test_the_primary_metric_is_compared_and_with_answers_one_of_their_content(gated_run, answered_run, names):
    assert compared_subjects(gated_run, names["base"], GateSettings()) == [Subject(PRIMARY)]
    subjects = compared_subjects(answered_run, answered_run.names[0], GateSettings())
    assert [subject.metric for subject in subjects] == [str(answered_run.primary), "answer_recall"]
    named = (Subject("recall@3", "kind=odd"),)
    assert compared_subjects(answered_run, answered_run.names[0], GateSettings(compare=named)) == named


def test_a_drop_that_is_significant_alone_is_undecided_among_several_rules(gated_run, names, base, tmp_path):
    noise = np.random.default_rng(3).standard_normal(QUESTIONS)
    wanted = -0.05 * BASE.mean() - 0.004
    low, high = 0.02, 0.4
    for _ in range(10):
        scale = (low + high) / 2
        values = BASE + wanted + scale * noise
        baseline = _with_primary(base, np.clip(2 * BASE - values, 0, 1), tmp_path / "near.json")
        settings = GateSettings(configuration=names["base"], baseline=baseline)
        rule = only(check_gate(gated_run, settings))
        if 0.02 < rule.p < 0.04:
            break
        # More noise makes p larger.
        low, high = (low, scale) if rule.p >= 0.04 else (scale, high)
    assert rule.outcome is Decision.FAIL
    both = check_gate(gated_run, replace(settings, release=baseline, compare=(Subject(PRIMARY), Subject(PRIMARY, "kind=odd"))))
    first = both.rules[0]
    assert (first.p, first.outcome) == (rule.p, Decision.UNDECIDED)
    assert first.p_adjusted > 0.05
    assert "after the correction for several rules (Holm)" in first.reason
    assert "is shown" not in first.reason


def _with_primary(base: Baseline, values: np.ndarray, path: Path) -> Path:
    table = base.values.copy()
    order = dict(zip(base.questions, values, strict=True))
    rows = table["metric"] == PRIMARY
    table.loc[rows, "value"] = table.loc[rows, "query_id"].map(order)
    write_baseline(replace(base, values=table), path)
    return path


def test_a_plain_baseline_has_the_plain_rule_and_says_so(gated_run, names, tmp_path):
    path = tmp_path / "plain.json"
    path.write_text(json.dumps({PRIMARY: BASE.mean() + 0.03, f"{PRIMARY}[kind=odd]": 0.9, "irrelevant@3": 0.0}))
    report = check_gate(gated_run, GateSettings(configuration=names["base"], baseline=path, tolerance=Tolerance.parse("0.05")))
    outcomes = {str(Subject(rule.metric, rule.slice)): rule.outcome for rule in report.rules}
    assert outcomes[PRIMARY] is Decision.PASS
    assert outcomes[f"{PRIMARY}[kind=odd]"] is Decision.FAIL
    # It counts faults, so a rise is a drop.
    assert outcomes["irrelevant@3"] is (Decision.FAIL if report.rules[2].value > 0.05 else Decision.PASS)
    assert report.rules[2].difference == pytest.approx(-report.rules[2].value)
    assert {rule.kind for rule in report.rules} == {"plain baseline"}
    assert (
        "the plain rule tests nothing: with a tolerance of 5 % it fails 9 % of runs on 100 questions of which a tenth change"
        in report.rules[0].reason
    )
    assert report.rules[2].rule == f"irrelevant@3 not above {path} by more than 0.05"
    assert math.isnan(report.rules[0].p)


def test_a_plain_baseline_without_the_metric_is_wrong_input(gated_run, names, tmp_path):
    path = tmp_path / "plain.json"
    path.write_text('{"recall@3": 0.5}')
    settings = GateSettings(configuration=names["base"], baseline=path, compare=(Subject(PRIMARY),))
    with pytest.raises(InputError, match="has no value of it; it has recall@3"):
        check_gate(gated_run, settings)
    path.write_text('{"accuracy": 0.5}')
    with pytest.raises(InputError, match="there is no metric 'accuracy'"):
        check_gate(gated_run, replace(settings, compare=()))


def test_retrieval_tests_look_at_single_questions(gated_run, names):
    configuration = names["base"]
    hits = gated_run.of("hits", configuration)
    first = hits[hits["query_id"] == "q0-0"].sort_values("rank")["doc_id"].drop_duplicates().tolist()
    tests = (RetrievalTest(1, "q0-0", first[0]), RetrievalTest(1, "q0-0", first[1]), RetrievalTest(3, "q0-0", "nowhere", absent=True))
    report = check_gate(gated_run, GateSettings(configuration=configuration, retrieval_tests=tests))
    assert [rule.outcome for rule in report.rules] == [Decision.PASS, Decision.FAIL, Decision.PASS]
    assert [rule.reason for rule in report.rules] == [
        f"{first[0]} has rank 1",
        f"{first[1]} has rank 2",
        "nowhere is not in the corpus",
    ]
    assert [rule.query_id for rule in report.rules] == ["q0-0"] * 3


def test_a_retrieval_test_of_a_slice_is_a_rule_for_each_question(gated_run, names):
    report = check_gate(gated_run, GateSettings(configuration=names["base"], retrieval_tests=(RetrievalTest(3, slice="kind=odd"),)))
    assert len(report.rules) == QUESTIONS // 2
    hits = gated_run.of("hits", names["base"]).sort_values("rank")
    first = {query_id: rows["doc_id"].drop_duplicates()[:3].tolist() for query_id, rows in hits.groupby("query_id")}
    # The question q4-1 is about document d4.
    expected = {rule.query_id: f"d{rule.query_id[1:].split('-')[0]}" in first[rule.query_id] for rule in report.rules}
    assert {rule.query_id: rule.outcome is Decision.PASS for rule in report.rules} == expected


def test_the_best_of_several_relevant_documents_decides_a_retrieval_test(gated_run, names):
    hits = gated_run.of("hits", names["base"])
    ranked = hits[hits["query_id"] == "q0-0"].sort_values("rank")["doc_id"].drop_duplicates().tolist()
    # The order of their names is not that of their ranks.
    best, other = next(pair for pair in combinations(ranked, 2) if pair[1] < pair[0])
    rank = ranked.index(best) + 1
    judgements = pd.DataFrame([{"query_id": "q0-0", "doc_id": doc_id, "relevance": 1} for doc_id in (other, best)])
    judged = replace(gated_run, sources={**gated_run.sources, "judgements": lambda _: judgements})
    tests = tuple(RetrievalTest(k, "q0-0") for k in (rank, rank - 1) if k)
    report = check_gate(judged, GateSettings(configuration=names["base"], retrieval_tests=tests))
    assert {rule.reason for rule in report.rules} == {f"{best} has rank {rank}"}
    assert [rule.outcome for rule in report.rules] == [Decision.PASS, Decision.FAIL][: len(tests)]


def test_documents_that_are_not_found_fail_a_retrieval_test_and_pass_one_of_absence(gated_run, names):
    found, lost = gated_run.hits[~gated_run.hits["doc_id"].isin(["d0", "d1"])], pd.DataFrame({"doc_id": ["d0", "d1"]})
    tables = {"hits": found, "judgements": lost.assign(query_id="q0-0", relevance=1)}
    run = replace(gated_run, sources={**gated_run.sources, **{name: lambda _, table=table: table for name, table in tables.items()}})
    tests = (RetrievalTest(3, "q0-0"), RetrievalTest(3, "q0-0", "d1"), RetrievalTest(3, "q0-0", "d1", absent=True))
    report = check_gate(run, GateSettings(configuration=names["base"], retrieval_tests=tests))
    assert [(rule.outcome, rule.reason) for rule in report.rules] == [
        (Decision.FAIL, "d0 and d1 are not among the hits"),
        (Decision.FAIL, "d1 is not among the hits"),
        (Decision.PASS, "d1 is not among the hits"),
    ]
    assert [rule.rule for rule in report.rules] == [
        "a relevant document in the first 3 of q0-0",
        "d1 in the first 3 of q0-0",
        "d1 not in the first 3 of q0-0",
    ]


def test_a_retrieval_test_that_cannot_be_checked_is_wrong_input(gated_run, names, wording):
    tests = [RetrievalTest(3, "q0-99"), RetrievalTest(3, slice="kind=evn"), RetrievalTest(900, "q0-0", "d1", absent=True)]
    wording(lambda test: check_gate(gated_run, GateSettings(configuration=names["base"], retrieval_tests=(test,))), tests)


def without_values(run: RunTables, configuration: str, count: int) -> RunTables:
    """Return a run whose queries.parquet lacks the rows of the first questions."""
    rows = run.queries
    mine = rows.index[(rows["configuration"] == configuration) & (rows["metric"] == PRIMARY)][:count]
    return replace(run, sources={**run.sources, "queries": lambda _: rows.drop(mine)})


def test_questions_that_the_table_of_values_lacks_stop_the_gate(against, gated_run, names):
    with pytest.raises(InputError, match=r"queries.parquet has 101 questions, metrics.parquet 120, so the tables of gated do not belong"):
        against("base", without_values(gated_run, names["base"], 19))


def test_a_baseline_without_the_values_of_some_questions_stops_the_gate(gated_run, names, base, tmp_path):
    path = tmp_path / "part.json"
    write_baseline(replace(base, values=base.values[base.values["query_id"] != "q0-0"]), path)
    with pytest.raises(InputError, match=r"applies to other questions in .*part.json than in gated: q0-0"):
        check_gate(gated_run, GateSettings(configuration=names["base"], baseline=path))


def changed(run: RunTables, **manifest: object) -> RunTables:
    return replace(run, manifest=dict(run.manifest) | manifest)


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ({"average": "documents"}, "average questions → documents"),
        ({"experiment": {"name": "gated", "spans": "chroma"}}, "spans exact → chroma"),
    ],
)
def test_values_that_were_measured_otherwise_are_not_compared(against, gated_run, manifest, said):
    with pytest.raises(InputError, match=rf"the values of .*base.json were measured otherwise: {said}"):
        against("base", changed(gated_run, **manifest))
    assert against("base", changed(gated_run, **manifest), accept_change=True).outcome is Decision.PASS


def test_only_metrics_that_depend_on_judges_and_expected_answers_are_measured_by_them(gated_run, answered_run):
    answers = answered_run.measures["answer_recall"]
    assert measured_by(Metric("faithfulness")) == {"average", "expected answers", "judging"}
    assert measured_by(answers) == {"average", "expected answers"}
    assert measured_by(gated_run.primary) == {"average", "spans"}
    assert measured_by(Metric.parse("recall@5")) == {"average"}
    variants = gated_run.manifest["fingerprints"] | {"expected": "0" * 32}
    for manifest in ({"judging": {"support": {"kind": "chat"}}}, {"fingerprints": variants}):
        assert measurement(changed(gated_run, **manifest)) != measurement(gated_run)


def test_another_field_of_a_question_is_noted(against, gated_run):
    fields = ['{"kind": "other"}', *gated_run.questions["metadata"][1:]]
    other = replace(gated_run, sources={**gated_run.sources, "questions": lambda _: gated_run.questions.assign(metadata=fields)})
    report = against("base", other)
    assert report.outcome is Decision.PASS
    assert "the fields of 1 question differ from those of" in report.notes[0]
    assert report.notes[0].endswith("so slices can have other questions: q0-0")


@pytest.mark.parametrize(("kind", "asked", "noted"), [("callable", 0, True), ("callable", 3, False), ("recorded", 0, False)])
def test_a_target_that_was_not_asked_is_noted(gated_run, names, kind, asked, noted):
    settings = {name: {**own, "target": {"kind": kind}} for name, own in gated_run.configurations_settings.items()}
    timings = pd.DataFrame({"configuration": [names["base"]], "name": ["computed_responses"], "value": [float(asked)]})
    run = replace(changed(gated_run, configurations=settings), sources={**gated_run.sources, "timings": lambda _: timings})
    report = check_gate(run, floors(f"{PRIMARY} >= 0.5", configuration=names["base"]))
    assert any("was not asked: its replies are those of an earlier sweep" in note for note in report.notes) == noted


def test_the_folder_of_a_run_compares_answers_too(answered_run, tmp_path):
    """After the metric of answers was left out of `metrics`, nobody saw that answers fell."""
    answered_run.write(tmp_path)
    name = answered_run.names[0]
    assert list(read_baseline(tmp_path, name).compared) == [str(each) for each in compared_subjects(answered_run, name, GateSettings())]
    assert len(read_baseline(tmp_path, name).compared) == 2


def test_answers_to_which_a_metric_applies_on_one_side_only_are_left_out_and_counted(answered_run, tmp_path):
    name, metric = answered_run.names[0], "answer_recall"
    rows, means = answered_run.queries, answered_run.metrics
    mine = (rows["configuration"] == name) & (rows["metric"] == metric) & (rows["condition"] == "retrieved")
    out = mine & rows["query_id"].isin(rows.loc[mine & (rows["state"] == "scored"), "query_id"].drop_duplicates().head(3))
    queries = rows.assign(state=rows["state"].mask(out, "not_applicable"), value=rows["value"].mask(out))
    less = (means[["configuration", "metric", "condition", "slice"]] == [name, metric, "retrieved", "all"]).all(axis="columns")
    counted = means.assign(n=means["n"].mask(less, means["n"] - 3))
    fewer = replace(answered_run, sources={**answered_run.sources, "queries": lambda _: queries, "metrics": lambda _: counted})
    for before, after in ((answered_run, fewer), (fewer, answered_run)):
        path = tmp_path / "base.json"
        write_baseline(baseline_of([before], name, path, fewest=1), path)
        rule = only(check_gate(after, GateSettings(configuration=name, baseline=path, compare=(Subject(metric),), max_unscored=0.1)))
        assert "; 3 questions left out, to which it applies on one side only" in rule.reason
        assert rule.difference == 0
        assert rule.value == rule.reference


def test_a_baseline_without_a_metric_says_so(gated_run, names, base, tmp_path):
    path = tmp_path / "part.json"
    write_baseline(replace(base, values=base.values[base.values["metric"] != PRIMARY]), path)
    with pytest.raises(InputError, match=rf"{PRIMARY}: .*part.json has no value of it"):
        check_gate(gated_run, GateSettings(configuration=names["base"], baseline=path))


def test_a_second_run_of_the_baseline_with_other_documents_or_of_the_candidate_is_refused(gated_run, names, tmp_path):
    """Else the candidate would be compared with itself, and an alarm would not be confirmed."""
    random = as_random(gated_run)
    settings = {"settings": random.configurations_settings[names["worse"]]}
    first = replace(baseline_of([random], names["base"], tmp_path / "first.json", fewest=1), **settings)
    write_baseline(first, first.path)
    chosen = GateSettings(configuration=names["worse"], baseline=first.path)
    with pytest.raises(InputError, match="it has other documents, expected answers or judges"):
        check_gate(random, chosen, SecondRuns(repeated(random), replace(first, corpus="other")))
    second = baseline_of([repeated(random)], names["worse"], tmp_path / "again", fewest=1)
    with pytest.raises(InputError, match="again is a run of the candidate, or shared the results of its store"):
        check_gate(random, chosen, SecondRuns(repeated(random), second))


def test_values_that_a_metric_cannot_have_stop_the_gate(gated_run, names, base, tmp_path):
    with pytest.raises(InputError, match="5 in the baseline is no value of it"):
        check_gate(
            gated_run,
            GateSettings(configuration=names["base"], baseline=_with_primary(base, np.full(QUESTIONS, 5.0), tmp_path / "five.json")),
        )


def test_a_limit_that_rounds_to_the_mean_is_shown_with_the_digits_that_tell_them_apart(gated_run, names):
    limit = round(BASE.mean(), 3) + (0.0 if round(BASE.mean(), 3) > BASE.mean() else 0.001)
    rule = only(check_gate(gated_run, floors(f"{PRIMARY} >= {limit}", configuration=names["base"])))
    assert rule.outcome is Decision.FAIL
    assert float(rule.reason.split()[0]) < limit


def test_the_sums_of_a_second_run_add_up(gated_run, names, tmp_path):
    random = as_random(gated_run)
    first = baseline_of([random], names["base"], tmp_path / "first.json", fewest=1)
    write_baseline(first, first.path)
    values = first.values.assign(value=(first.values["value"] + 0.05).clip(upper=1))
    second = replace(first, path=tmp_path / "second", values=values)
    settings = GateSettings(configuration=names["worse"], baseline=first.path)
    rule = only(check_gate(random, settings, SecondRuns(repeated(random), replace(second, settings=read_baseline(first.path).settings))))
    assert rule.value - rule.reference == pytest.approx(rule.difference)
    assert rule.reference > BASE.mean() + 0.01


@pytest.mark.parametrize("other", ["equal", "worse"])
def test_nothing_passes_or_fails_on_drafts_that_nobody_has_accepted(against, gated_run, other):
    fields = ['{"synthetic": true}' if place < 7 else '{"synthetic": true, "accepted_by": "Ada"}' for place in range(QUESTIONS)]
    drafts = replace(gated_run, sources={**gated_run.sources, "questions": lambda _: gated_run.questions.assign(metadata=fields)})
    report = against(other, run=drafts)
    assert report.notes[0] == f"7 of {QUESTIONS} questions are drafts that nobody has accepted"
    assert report.outcome is Decision.UNDECIDED
    assert only(report).reason.endswith(f"; a preview: {report.notes[0]}; accept or delete them, and sweep again")


def test_a_plain_baseline_tolerates_a_drop_of_exactly_the_tolerance(made, tmp_path):
    run = made.valued([[0.25] * QUESTIONS], name="quarter")
    path = tmp_path / "plain.json"
    path.write_text(json.dumps({PRIMARY: 0.5}))
    for tolerance, outcome in (("50%", Decision.PASS), ("0.25", Decision.PASS), ("49%", Decision.FAIL), ("0.249", Decision.FAIL)):
        rule = only(check_gate(run, GateSettings(baseline=path, tolerance=Tolerance.parse(tolerance))))
        assert (rule.outcome, rule.difference) == (outcome, -0.25)
        assert rule.reason.startswith(f"0.500 to 0.250 on {QUESTIONS} questions; ")
