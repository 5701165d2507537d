"""The points of the checklist on made runs: what is met, what is not, what cannot be seen, and what would earn it."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import yaml
from click.testing import CliRunner

from tests.answered_runs import Planted, answered
from tests.judged_runs import Judged, judged
from tests.made_runs import Made
from workbench.cli.main import main
from workbench.core.schemas import SCHEMAS
from workbench.gate.checklist import AlertEvidence, LogEvidence, audited
from workbench.gate.checklist_points import Checklist, ChecklistPoint, checklist_lines, settings_lines
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect
from workbench.runner.experiment.read import experiment_of

LOGGED = LogEvidence(Path("logs"), 1200, {}, 40)
TESTED = AlertEvidence(
    Path("outputs/monitoring"), {"faithfulness": 90, "lost_results": 55, "similarity": 400}, {"faithfulness": 0.8}, {"similarity": 2}
)


def with_means(run: RunTables, attainable: float = float("nan"), unscored: int = 0, **means: float) -> RunTables:
    """Return a run whose first configuration has other means over all questions; `__5` in a name stands for `@5`."""
    names = {name.replace("__", "@"): value for name, value in means.items()}
    replaced = run.metrics["metric"].isin(list(names)) & (run.metrics["slice"] == "all")
    usual = {"condition": "retrieved", "slice": "all", "low": 0.1, "high": 0.99, "n": 100, "clusters": 12, "conditional": ""}
    rows = [
        usual | {"configuration": run.names[0], "metric": name, "value": value, "attainable": attainable, "unscored": unscored}
        for name, value in names.items()
    ]
    kept = run.metrics[~replaced | (run.metrics["configuration"] != run.names[0])]
    return with_table(run, "metrics", pd.concat([kept, pd.DataFrame(rows)], ignore_index=True))


def with_table(run: RunTables, name: str, table: pd.DataFrame) -> RunTables:
    whole = SCHEMAS[name].conform(table)
    return replace(run, sources={**run.sources, name: lambda _: whole})


def checked(run: RunTables, **evidence: object) -> Checklist:
    return audited(run, Path("outputs/made run"), run.names[0], **evidence)


def point(name: str, run: RunTables, **evidence: object) -> ChecklistPoint:
    (found,) = [each for each in checked(run, **evidence).points if name in each.name]
    return found


@pytest.fixture(scope="module")
def run(unanswered):
    return unanswered


@pytest.fixture(scope="module")
def judged_by_model(unanswered):
    return judged(answered(unanswered, Planted(conditions=["retrieved", "gold"])), Judged())


def test_every_question_with_a_label_counts(run):
    found = point("labelled", run)
    assert found.state == "met"
    assert "120 labelled questions, 0 of them without an answer" in found.evidence


def test_too_few_labelled_questions_are_earned_by_drafts_that_a_person_accepts(made: Made):
    few = made.ran(1, documents=4)
    found = point("labelled", collect(few))
    assert found.state == "not met"
    assert "40 labelled questions" in found.evidence
    assert found.commands[0] == f"workbench dataset generate {made.data(4)} --output drafts --questions 10"


def test_drafts_that_nobody_has_accepted_do_not_count(run):
    def drafted(waiting: int) -> ChecklistPoint:
        fields = ['{"synthetic": true}' if place < waiting else '{"synthetic": true, "accepted_by": "Ada"}' for place in range(120)]
        return point("labelled", with_table(run, "questions", run.questions.assign(metadata=fields)))

    assert drafted(70).state == "met"
    found = drafted(71)
    assert found.state == "not met"
    assert found.evidence.startswith("49 accepted or written by a person, of 120 labelled questions")
    assert found.advice.startswith("read the drafts, and accept 1 or more of them")


def test_drafts_are_named_beside_each_point_that_is_measured_on_them_and_at_the_end(run):
    drafted = with_table(run, "questions", run.questions.assign(metadata='{"synthetic": true}'))
    found = checked(with_means(drafted, recall__5=0.8, precision__5=0.2))
    words = "every question is a draft that nobody has accepted"
    states = {each.name: (each.state, each.evidence.endswith(f"; {words}")) for each in found.points}
    assert states["recall@5 of at least 0.70"] == ("met", True)
    assert states["precision@5 of at least 0.70"] == ("not met", True)
    assert list(checklist_lines(found))[-1].endswith(f"cannot be seen; {words}")
    assert not any("draft that" in line for line in checklist_lines(checked(run)))


def test_few_questions_that_are_drafts_need_as_many_accepted_or_labelled_as_without_them(made: Made):
    few = collect(made.ran(1, documents=4))
    found = point("labelled", with_table(few, "questions", few.questions.assign(metadata='{"synthetic": true}')))
    assert found.evidence.startswith("0 accepted or written by a person, of 40 labelled questions")
    assert found.advice.startswith("accept or label 50 more")
    assert "--questions 10" in found.commands[0]


def test_a_question_without_labels_does_not_count_and_neither_does_a_repeated_text(run):
    texts = run.questions.assign(text=run.questions["text"].where(run.questions.index >= 30, run.questions["text"][30]))
    assert "90 labelled questions" in (shown := point("labelled", with_table(run, "questions", texts)).evidence)
    assert "30 questions with the text of another not counted" in shown
    bare = with_table(run, "judgements", run.judgements[0:0])
    bare = with_table(bare, "evidence", run.evidence[run.evidence["query_id"] < "q2"])
    assert point("labelled", bare).state == "not met"


def test_a_missing_metric_cannot_be_seen_and_is_added_to_those_of_the_experiment(run):
    found = point("precision@5", run)
    assert found.state == "cannot be seen"
    written = run.manifest["experiment"]["metrics"]
    assert found.settings == {"metrics": [*written, "precision@5", "chunk_precision@5"]}


@pytest.mark.parametrize(("value", "state"), [(0.7, "met"), (0.699, "not met")])
def test_the_limit_of_recall_is_met_at_exactly_this_value(run, value, state):
    found = point("recall@5", with_means(run, 1.0, recall__5=value))
    assert found.state == state
    assert f"recall@5 is {value:.3f} [0.100, 0.990] on 100 questions" in found.evidence


def test_a_limit_that_labels_make_unattainable_is_checked_by_the_other_metric(run):
    low = with_means(run, 0.26, precision__5=0.25)
    found = point("precision@5", with_means(low, 1.0, chunk_precision__5=0.8))
    assert found.state == "met"
    assert "of at most 0.260 with these labels; chunk_precision@5 is 0.800" in found.evidence
    assert point("precision@5", with_means(low, 1.0, chunk_precision__5=0.5)).state == "not met"


def test_a_limit_that_nothing_can_reach_cannot_be_seen(run):
    found = point("precision@5", with_means(run, 0.26, precision__5=0.247, chunk_precision__5=0.2))
    assert found.state == "cannot be seen"
    assert "no ranking of these chunks reaches 0.70" in found.evidence
    assert found.settings == {"gate": {"rules": ["precision@5 >= 0.24"]}}


def test_a_better_configuration_of_the_run_is_named_with_its_command(run):
    second = run.names[1]
    low = with_means(run, 1.0, recall__5=0.5)
    rows = low.metrics[low.metrics["metric"] == "recall@5"].assign(configuration=second, value=0.9)
    found = point("recall@5", with_table(low, "metrics", pd.concat([low.metrics, rows], ignore_index=True)))
    assert found.commands == [f"workbench checklist 'outputs/made run' --configuration {second}"]


def test_low_recall_is_the_primary_problem_and_names_the_main_cause(run):
    found = point("recall@5", with_means(run, 1.0, recall__5=0.5))
    assert "retrieval is the primary problem" in found.evidence
    causes = run.of("causes", run.names[0])
    assert f"have the cause {causes[causes['subject'] == 'evidence']['cause'].mode()[0]}" in found.advice
    assert {"kind": "hybrid"} in found.settings["sweep"]["retrieval"]


def test_copied_answers_need_no_support_so_faithfulness_cannot_be_seen(copied_run):
    settings = dict(copied_run.manifest["configurations"])
    settings[copied_run.names[0]] = {**settings[copied_run.names[0]], "answering": {"kind": "extractive"}}
    found = point("faithfulness", replace(copied_run, manifest=dict(copied_run.manifest) | {"configurations": settings}))
    assert (found.state, "copied" in found.evidence) == ("cannot be seen", True)
    assert set(found.settings) == {"pipeline", "judging", "metrics"}


def test_a_score_is_no_judge(unanswered):
    scored = judged(answered(unanswered, Planted(conditions=["retrieved"])), Judged(gives_verdicts=False))
    found = point("answer relevance", with_means(scored, answer_relevance=0.95))
    assert found.state == "cannot be seen"
    assert "AUROC 0.56 is below 0.65; on its scale answer_relevance is 0.950" in found.evidence


@pytest.mark.parametrize(("value", "state"), [(0.86, "met"), (0.84, "not met")])
def test_a_judge_decides_faithfulness_and_the_evidence_says_that_it_is_not_corrected(judged_by_model, value, state):
    found = point("faithfulness", with_means(judged_by_model, faithfulness=value))
    assert found.state == state
    assert "judged by chat: qwen3:4b" in found.evidence
    assert "workbench judge sample 'outputs/made run' --task support" in found.evidence


def test_labels_correct_a_judge_that_is_too_kind(judged_by_model):
    row = {"scope": "mean", "metric": "faithfulness", "configuration": judged_by_model.names[0], "other": "", "value": 0.8, "low": 0.7}
    row |= {"high": 0.9, "labels": 60, "n": 100, "target": "items", "method": "post-stratified"}
    corrected = with_table(judged_by_model, "corrected", pd.DataFrame([row]))
    found = point("faithfulness", with_means(corrected, faithfulness=0.9))
    assert found.state == "not met"
    assert "0.800 [0.700, 0.900] corrected by 60 labels" in found.evidence


def test_judgements_that_are_missing_leave_the_point_unseen(judged_by_model):
    found = point("faithfulness", with_means(judged_by_model, unscored=10, faithfulness=0.99))
    assert (found.state, found.evidence) == ("cannot be seen", "10 of 110 questions have no value")


def test_sizes_of_one_chunker_are_one_strategy(run):
    found = point("chunking", run)
    assert (found.state, found.evidence) == ("not met", "only fixed (2 configurations)")
    kinds = run.configurations.assign(chunking=["fixed", "markdown"])
    assert point("chunking", with_table(run, "configurations", kinds)).state == "met"
    failed = kinds.assign(error=[None, "it failed"])
    assert point("chunking", with_table(run, "configurations", failed)).state == "not met"


@pytest.mark.parametrize(
    ("path", "line", "met"),
    [
        (".github/workflows/rag.yml", "      - run: workbench gate outputs/made", True),
        (".github/workflows/rag.yaml", "      - run: pytest --rag-experiment experiments/x.yaml", True),
        (".gitlab-ci.yml", "    - workbench gate outputs/made --junit gate.xml", True),
        (".gitlab-ci.yml", "    # - workbench gate outputs/made", False),
        (".github/workflows/rag.yml", "      - run: make investigate", False),
        (".github/workflows/rag.yml", "      - run: workbench gate outputs/made || true", False),
        (".gitlab-ci.yml", "    - workbench gate outputs/made --update-baseline baselines/made.json", False),
        (".gitlab-ci.yml", "    - workbench gate outputs/made || code=$?", True),
    ],
)
def test_a_file_of_ci_must_call_a_gate(run, tmp_path, path, line, met):
    place = tmp_path / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(line + "\n", "utf-8")
    found = point("gates", run, repository=tmp_path)
    assert found.state == ("met" if met else "not met")
    assert (path in found.evidence) == met


def test_rules_of_the_experiment_are_counted(run, tmp_path):
    (tmp_path / ".gitlab-ci.yml").write_text("script: [workbench gate outputs/made]\n", "utf-8")
    gate = {"rules": ["recall@3 >= 0.7", "recall@3 >= 0.6"], "baseline": "baselines/made.json", "retrieval_tests": [{"k": 3}]}
    experiment = run.manifest["experiment"] | {"gate": gate}
    found = point("gates", replace(run, manifest=dict(run.manifest) | {"experiment": experiment}), repository=tmp_path)
    assert found.evidence == ".gitlab-ci.yml checks 4 rules of the experiment"


def test_every_question_of_a_log_must_have_every_field_and_some_have_feedback(run):
    found = point("logging", run, log=LOGGED)
    assert found.state == "met"
    assert found.evidence == "1,200 questions of logs have all fields, 40 of them feedback"
    lacking = point("logging", run, log=replace(LOGGED, lacking={"answer": 3, "hits.score": 1}, feedback=0))
    assert lacking.state == "not met"
    assert lacking.evidence == "of 1,200 questions of logs, some lack answer (3), hits.score (1) and feedback (all)"
    nothing = point("logging", run, log=replace(LOGGED, questions=0, left_out=("3 left out: line that is not JSON (a:1)",)))
    assert nothing.state == "not met"
    assert nothing.evidence == "logs has no question; 3 left out: line that is not JSON (a:1)"


def test_an_alert_must_be_tested_and_that_of_faithfulness_at_0_80(run):
    found = point("alerts", run, alerts=TESTED)
    assert found.state == "met"
    assert found.evidence.endswith(
        "tests faithfulness (90 observations), lost_results (55 observations) and similarity (400 observations, raised 2 times)"
    )
    lax = replace(TESTED, limits={"faithfulness": 0.5}, observations={"faithfulness": 90, "similarity": 400})
    found = point("alerts", run, alerts=lax)
    assert found.state == "not met"
    assert "faithfulness below 0.80 (its limit is 0.5) and questions that had results before and have none now" in found.evidence


def test_without_evidence_of_production_the_checklist_says_how_to_get_it(run):
    for name, command in (("logging", "--log logs"), ("alerts", "workbench monitor logs")):
        found = point(name, run)
        assert found.state == "cannot be seen"
        assert any(command in line for line in found.commands)


def test_settings_that_earn_a_point_are_a_valid_experiment(run, judged_by_model, made):
    points = [
        *checked(with_means(run, 1.0, recall__5=0.5)).points,
        *checked(with_means(run, 0.2, precision__5=0.1, chunk_precision__5=0.1)).points,
    ]
    points += [*checked(judged_by_model).points, *checked(with_means(judged_by_model, faithfulness=0.5, answer_relevance=0.5)).points]
    earned = [each.settings for each in points if each.settings]
    assert len(earned) > 10
    answering = {"kind": "chat", "provider": "ollama", "model": "qwen3:8b"}
    for settings in earned:
        changes = yaml.safe_load("\n".join(settings_lines(settings)))
        usual = made.experiment(1) | {"judging": {"support": answering}}
        pipeline = usual["pipeline"] | {"answering": answering} | changes.get("pipeline", {})
        assert experiment_of(usual | changes | {"pipeline": pipeline}, "checklist").configurations


def test_the_commands_that_earn_a_point_exist(run, made):
    points = [*checked(run).points, *checked(collect(made.ran(1, documents=4))).points]
    for line in [command for each in points for command in each.commands]:
        words = line.split()
        done = CliRunner().invoke(main, [*words[1 : 3 if words[1] == "dataset" else 2], "--help"])
        assert done.exit_code == 0, line
        for option in [word for word in words if word.startswith("--")]:
            assert option in done.output, line


def test_the_exit_code_is_0_only_if_every_point_is_met():
    def of(*states):
        return Checklist("made", "whole", [ChecklistPoint("a point", state, "seen") for state in states]).exit_code

    assert of("met", "met") == 0
    assert of("met", "cannot be seen") == 4
    assert of("cannot be seen", "not met") == 1


def test_the_command_prints_each_point_and_exits_with_1(run, tmp_path):
    folder = tmp_path / "made"
    folder.mkdir()
    run.write(folder)
    done = CliRunner().invoke(main, ["checklist", str(folder), "--configuration", run.names[1], "--repository", str(tmp_path)])
    assert done.exit_code == 1, done.output
    assert done.output.splitlines() == list(checklist_lines(audited(run, folder, run.names[1], repository=tmp_path)))
    assert done.output.count("to earn it:") == 8


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--configuration", "other"], "no configuration 'other'"),
        ([], "has 2 configurations"),
        (["--configuration", "fixed-16-0", "--log", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_wrong_input_exits_with_2_and_says_why(run, tmp_path, options, said):
    folder = tmp_path / "made"
    folder.mkdir()
    run.write(folder)
    done = CliRunner().invoke(main, ["checklist", str(folder), *options])
    assert done.exit_code == 2
    assert said in done.output
