"""Labelling claims of a run one at a time: what is saved, drawn, taken back and refused, and that a calibration reads it."""

import pytest

import workbench as wb
from tests.commands import workbench
from tests.labelled_runs import is_true, label_all, with_claims
from workbench.core.errors import InputError
from workbench.report.results.judge_labels import read_labels


@pytest.fixture(scope="module")
def run_with_claims(answered_run):
    return with_claims(answered_run)


@pytest.fixture
def folder(run_with_claims, tmp_path):
    place = tmp_path / "made"
    place.mkdir()
    run_with_claims.write(place)
    return place


def test_labels_are_in_the_file_that_judge_calibrate_reads_and_the_same_call_goes_on(folder) -> None:
    path = folder / "judge_labels.jsonl"
    workbench("judge", "sample", folder, "--number", 60)
    sampled = read_labels(path)
    path.unlink()
    session = wb.label_answers(folder, annotator="Ada").session
    # Nothing is written before the first label.
    assert not path.exists()
    assert session.lines == sampled
    first = session.line
    session.label("supported")
    assert session.place == 1
    assert [(line.item_id, line.label, line.annotator) for line in read_labels(path) if line.label] == [(first.item_id, "supported", "Ada")]
    assert len(read_labels(path)) == len(sampled)
    again = wb.label_answers(folder, annotator="Ada").session
    assert again.line == sampled[1]
    while any(not line.label for line in again.lines):
        again.label("supported" if is_true(again.line.claim) else "absent")
    assert again.progress == f"{len(sampled)} of {len(sampled)} items labelled"
    said = workbench("judge", "calibrate", folder)
    assert f"on {len(sampled)} labels of this run" in said.stdout
    assert "corrected" in said.stdout


def test_a_label_is_removed_taken_back_and_changed_and_the_lines_of_others_stay(folder) -> None:
    session = wb.label_answers(folder, annotator="Ada").session
    for label in ("supported", "contradicted"):
        session.label(label)
    assert session.undo().label == ""
    assert session.place == 1
    session.go(0)
    session.label("")
    assert [line.label for line in read_labels(session.path) if line.label] == []
    assert session.undo().label == "supported"
    assert session.lines[0].label == "supported"
    # Somebody fills in another line with an editor meanwhile.
    lines = read_labels(session.path)
    path_text = session.path.read_text("utf-8").splitlines()
    path_text[5] = path_text[5].replace('"label": ""', '"label": "absent"').replace('"annotator": ""', '"annotator": "Ben"')
    session.path.write_text("\n".join(path_text) + "\n", "utf-8")
    session.go(7)
    session.label("absent")
    assert [(place, line.label, line.annotator) for place, line in enumerate(read_labels(session.path)) if line.label] == [
        (0, "supported", "Ada"),
        (5, "absent", "Ben"),
        (7, "absent", "Ada"),
    ]
    assert len(read_labels(session.path)) == len(lines)
    session.go(5)
    with pytest.raises(InputError, match="Ben has labelled this item; name a file of your own to label it too"):
        session.label("supported")
    assert session.lines[5].label == "absent"
    before = wb.label_answers(folder, annotator="Ada").session
    assert before.undo() is None


def test_a_sample_with_other_settings_is_continued_with_its_own_draw(folder) -> None:
    workbench("judge", "sample", folder, "--number", 70, "--seed", 3, "--each-class", 0)
    path = folder / "judge_labels.jsonl"
    sampled = read_labels(path)
    session = wb.label_answers(folder, annotator="Ada").session
    assert session.lines == sampled
    session.label("absent")
    assert [line.item_id for line in read_labels(path)] == [line.item_id for line in sampled]
    assert label_all(path) == len(sampled)


def test_what_cannot_be_labelled_is_one_line(folder, tmp_path, wording) -> None:
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text('{"label": "supported"\n', "utf-8")
    session = wb.label_answers(folder, annotator="Ada").session
    calls = {
        "task": lambda: wb.label_answers(folder, task="suport"),
        "no items": lambda: wb.label_answers(folder, task="correctness"),
        "number": lambda: wb.label_answers(folder, number=0),
        "name": lambda: wb.label_answers(folder, annotator=" "),
        "folder": lambda: wb.label_answers(folder, file=tmp_path),
        "damaged": lambda: wb.label_answers(folder, file=damaged),
        "label": lambda: session.label("yes"),
        "results": lambda: wb.label_answers(7),
    }
    wording(lambda call: call(), calls)
    assert not session.path.exists()


def test_the_view_draws_the_item_without_the_judge_and_says_errors(folder) -> None:
    labeller = wb.label_answers(folder, annotator="Ada")
    state = labeller.state
    assert (state["labels"], state["label"], state["place"]) == (["supported", "contradicted", "absent"], "", 0)
    assert state["claim"] == labeller.session.line.claim
    shown = {"question", "claim", "answer", "expected", "passages"}
    hidden = labeller.session.line.configuration
    assert not any(hidden == value for name, value in state.items() if name not in shown)
    labeller.act({"kind": "label", "label": "absent"})
    assert labeller.state["message"].startswith("Saved: 1 of ")
    labeller.act({"kind": "previous"})
    assert (labeller.state["label"], labeller.state["by"]) == ("absent", "Ada")
    # The same label again removes it.
    labeller.act({"kind": "label", "label": "absent"})
    assert labeller.state["label"] == ""
    labeller.act({"kind": "undo"})
    assert labeller.state["label"] == "absent"
    labeller.act({"kind": "go", "place": 10**6})
    assert labeller.state["place"] == labeller.state["total"] - 1
    labeller.act({"kind": "label", "label": "perhaps"})
    assert labeller.state["error"]
    assert labeller.state["message"].startswith("Not saved: there is no label 'perhaps'")
    assert "1 of " in labeller._repr_html_()
    assert "workbench judge calibrate" in labeller._repr_html_()


def test_a_key_that_was_pressed_before_an_item_was_shown_labels_nothing(folder) -> None:
    labeller = wb.label_answers(folder, annotator="Ada")
    shown = labeller.state["drawing"]
    for _ in range(3):
        labeller.act({"kind": "label", "label": "absent", "drawing": shown})
    assert labeller.session.progress.startswith("1 of ")
    assert labeller.state["message"].startswith("Ignored: ")
    labeller.act({"kind": "undo", "drawing": shown})
    assert labeller.session.progress.startswith("1 of ")
    labeller.act({"kind": "label", "label": "absent", "drawing": labeller.state["drawing"]})
    assert labeller.session.progress.startswith("2 of ")
