"""Baselines of finished runs: made, written, read, and compared."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.answered_runs import Planted, answered
from tests.made_runs import Made
from workbench.core.errors import InputError
from workbench.gate.baseline import Differences, baseline_of, differences, read_baseline, write_baseline
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.local import Outcome

KEYS = ["condition", "metric", "query_id"]


@pytest.fixture(scope="module")
def run(few: Outcome) -> RunTables:
    return RunTables.read(few.folder)


@pytest.fixture
def file(run: RunTables, tmp_path: Path) -> Path:
    write_baseline(baseline_of([run], run.names[0]), tmp_path / "baselines" / "few.json")
    return tmp_path / "baselines" / "few.json"


def ordered(values: pd.DataFrame) -> pd.DataFrame:
    return values.sort_values(KEYS).reset_index(drop=True)


def test_a_baseline_is_read_as_it_was_written(run: RunTables, file: Path):
    made, read = baseline_of([run], run.names[0]), read_baseline(file)
    pd.testing.assert_frame_equal(ordered(made.values), ordered(read.values), check_exact=True, check_dtype=False)
    pd.testing.assert_frame_equal(made.hits, read.hits, check_dtype=False)
    assert (read.questions, read.documents, read.means, read.settings) == (made.questions, made.documents, made.means, made.settings)
    assert differences(run, run.names[0], read) == Differences()


def test_the_values_are_those_of_the_table_of_queries(run: RunTables, file: Path):
    rows = run.of("queries", run.names[0])
    rows = rows[rows["state"] == "scored"].set_index(KEYS)["value"].sort_index()
    values = read_baseline(file).values.set_index(KEYS)["value"].sort_index()
    pd.testing.assert_series_equal(rows, values, check_exact=True)


def test_the_file_has_a_line_for_each_question_and_is_stable(run: RunTables, file: Path, tmp_path: Path):
    lines = [line for line in file.read_text("utf-8").splitlines() if line.startswith('{"id":')]
    assert [json.loads(line.rstrip(","))["id"] for line in lines] == run.questions["query_id"].tolist()
    write_baseline(read_baseline(file), tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text("utf-8") == file.read_text("utf-8")


def test_the_folder_of_a_run_is_a_baseline(run: RunTables, few: Outcome):
    baseline = read_baseline(few.folder, run.names[1])
    assert baseline.configuration == run.names[1]
    assert differences(run, run.names[1], baseline) == Differences()
    assert differences(run, run.names[0], baseline).settings == ("chunking.overlap 16 → 0",)


def test_a_plain_baseline_has_means_alone(run: RunTables, tmp_path: Path):
    (tmp_path / "plain.json").write_text('{"recall@5": 1, "ndcg@10": 0.5}')
    baseline = read_baseline(tmp_path / "plain.json")
    assert baseline.plain
    assert baseline.means == {"recall@5": 1.0, "ndcg@10": 0.5}
    assert differences(run, run.names[0], baseline) == Differences()


def test_a_file_that_is_no_baseline_is_refused_in_one_line(tmp_path: Path, wording):
    def read(content: str) -> None:
        (tmp_path / "wrong.json").write_text(content)
        read_baseline(tmp_path / "wrong.json")

    wording(
        read,
        [
            "",
            "{",
            "[0.5]",
            "{}",
            '{"recall@5": NaN}',
            '{"recall@5": 1e999}',
            '{"recall@5": 1' + "0" * 400 + "}",
            '{"recall@5": true}',
            '{"recall@5": "0.7"}',
            '{"recall@5": 0.7, "recall@5": 0.6}',
            '{"format": "workbench baseline 9"}',
            '{"format": "workbench baseline 1"}',
        ],
    )


def test_a_damaged_baseline_is_refused(file: Path, wording):
    def read(change: Callable[[dict[str, object]], object]) -> None:
        file.write_text(json.dumps(change(whole)))
        read_baseline(file)

    whole = json.loads(file.read_text("utf-8"))
    wording(
        read,
        {
            "no runs": lambda content: content | {"runs": 0},
            "an extra key": lambda content: content | {"extra": 1},
            "a mean as text": lambda content: content | {"means": {"recall@5": "high"}},
            "a question twice": lambda content: content | {"questions": content["questions"] * 2},
            "a hit without its place": lambda content: content | {"questions": [content["questions"][0] | {"hits": [["a", 1]]}]},
            "a question without its values": lambda content: content | {"questions": [{"id": 3}]},
        },
    )


def test_a_truncated_an_absent_and_a_deep_baseline_are_refused(file: Path):
    file.write_text(file.read_text("utf-8")[:-40])
    with pytest.raises(InputError, match="is not JSON"):
        read_baseline(file)
    with pytest.raises(InputError, match="does not exist"):
        read_baseline(file.with_name("absent.json"))
    file.write_text("[" * 100_000)
    with pytest.raises(InputError, match="is not JSON") as error:
        read_baseline(file)
    assert "\n" not in str(error.value)


def test_an_unknown_configuration_is_refused_with_the_known_ones(run: RunTables):
    with pytest.raises(InputError, match=r"has no configuration 'fixed-1'"):
        baseline_of([run], "fixed-1")


def test_the_baseline_of_several_runs_is_their_mean(made: Made):
    ones, zeros = (made.valued([[value] * 120], name=f"all-{value}") for value in (1.0, 0.0))
    baseline = baseline_of([ones, zeros], ones.names[0])
    primary = baseline.values[baseline.values["metric"] == str(ones.primary)]
    assert set(primary["value"]) == {0.5}
    assert baseline.means[str(ones.primary)] == 0.5
    assert baseline.runs == 2


def test_a_question_that_one_run_could_not_score_is_unscored(made: Made):
    whole, partial = made.valued([[1.0] * 120]), made.valued([[1.0] * 119 + [float("nan")]], name="partial")
    values = baseline_of([whole, partial], whole.names[0]).values
    rows = values[(values["metric"] == str(whole.primary)) & (values["state"] == "unscored")]
    assert rows["query_id"].tolist() == [whole.questions["query_id"].iloc[119]]
    assert rows["value"].isna().all()


def random(run: RunTables, repeats: int) -> RunTables:
    """Return the run with answers of a chat model."""
    chat = answered(run, Planted(conditions=("retrieved",), repeats=repeats))
    settings = {name: {**parts, "answering": {"kind": "chat"}} for name, parts in chat.manifest["configurations"].items()}
    return RunTables({**chat.manifest, "configurations": settings}, chat.sources)


def test_a_random_run_needs_three_runs_or_repeats(made: Made):
    run = made.valued([[1.0] * 120])
    with pytest.raises(InputError, match=r"is random \(answering: chat\), and 2 runs would give its luck") as error:
        baseline_of([random(run, 2)], run.names[0])
    assert "set repeats: 3" in str(error.value)
    assert baseline_of([random(run, 3)], run.names[0]).runs == 3


def test_the_same_run_given_three_times_is_no_three_runs(made: Made):
    run = random(made.valued([[1.0] * 120]), 1)
    with pytest.raises(InputError, match="are the same, or shared the results of one store"):
        baseline_of([run, run, run], run.names[0])


def test_repeats_of_answers_do_not_repeat_a_random_search(made: Made):
    run = random(made.valued([[1.0] * 120]), 3)
    settings = {name: {**parts, "embedding": {"kind": "openai"}} for name, parts in run.manifest["configurations"].items()}
    with pytest.raises(InputError, match="embedding: openai"):
        baseline_of([RunTables({**run.manifest, "configurations": settings}, run.sources)], run.names[0])


def test_a_device_is_no_baseline():
    with pytest.raises(InputError, match="the baseline /dev/zero is not a file"):
        read_baseline(Path("/dev/zero"))
