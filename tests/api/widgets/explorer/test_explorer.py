from dataclasses import replace

import ipywidgets
import pandas as pd
import pytest

import workbench as wb
from tests.api.widgets.explorer.conftest import made_explorer
from workbench.core.errors import InputError
from workbench.report.results.run_tables import RETRIEVED
from workbench.runner.execution.collect import collect


@pytest.fixture
def explorer(results):
    return wb.explore(results, *results.tables.names[:2])


def controls(widget):
    """All controls below a widget."""
    children = getattr(widget, "children", ())
    return [widget] if not children else [found for child in children for found in controls(child)]


def test_it_opens_a_run_or_its_folder_on_the_two_configurations_that_the_report_compares(results):
    queries = results.tables.table("queries")
    primary = queries[(queries["metric"] == str(results.tables.primary)) & (queries["condition"] == RETRIEVED)]
    best, second, *_, last = primary.groupby("configuration")["value"].mean().sort_values(ascending=False).index
    assert (best, second) != results.tables.names[:2]
    for opened in (wb.explore(results), wb.explore(results.folder), wb.explore(str(results.folder))):
        assert opened.configurations == (best, second)
        assert [side.configuration for side in opened.sides] == [best, second]
    assert repr(wb.explore(results)) == "Explorer('few', 5 configurations)"
    for baseline, other in ((last, last), (best, second)):
        based = replace(results, manifest={**results.manifest, "baseline": baseline})
        assert wb.explore(based).configurations == (best, other)
        assert wb.explore(based, second).configurations == (second, best)


def test_configurations_to_begin_with_must_be_finished_ones(results):
    assert wb.explore(results, "fixed-128-0", "fixed-64-0").configurations == ("fixed-128-0", "fixed-64-0")
    with pytest.raises(InputError, match="no configuration 'fixed-1'"):
        wb.explore(results, "fixed-1")
    with pytest.raises(InputError, match="results"):
        wb.explore(3)


def test_words_filter_the_list_and_the_selection(explorer, results):
    explorer.panel.words.value = "leave"
    ids = [query_id for _, query_id in explorer.panel.questions.options]
    assert sorted(ids) == sorted(explorer.selection["query_id"])
    assert 0 < len(ids) < len(results.questions)
    assert explorer.sides[0].question.query_id == ids[0]
    assert explorer.panel.counts.value.startswith(f"{len(ids)} of {len(results.questions)} questions: ")


def test_it_opens_on_the_largest_difference_also_without_controls(results):
    explorer = wb.explore(results, "fixed-64-0", "hierarchical-64-256")
    without = explorer.static()
    differences = explorer.selection.set_index("query_id")["difference"].abs().fillna(-1)
    assert differences.max() > differences[results.questions["query_id"].iloc[0]]
    ids = [query_id for _, query_id in explorer.panel.questions.options]
    assert differences[ids].tolist() == sorted(differences, reverse=True)
    assert explorer.sides[0].question.query_id == ids[0]
    assert explorer.static() == without


def test_a_switch_of_question_or_configuration_shows_the_other_one(explorer):
    ids = [query_id for _, query_id in explorer.panel.questions.options]
    explorer.panel.questions.value = ids[3]
    before = explorer.panel.sides[1].value
    assert explorer.sides[0].question.query_id == ids[3]
    explorer.panel.second.value = "hierarchical-64-256"
    assert explorer.sides[1].configuration == "hierarchical-64-256"
    assert explorer.sides[1].question.query_id == ids[3]
    assert "hierarchical-64-256" in explorer.panel.sides[1].value != before
    assert "hierarchical 64 in 256" in explorer.static()


def test_menus_filter_by_outcome_slice_cause_and_metric(explorer):
    explorer.panel.second.value = "hierarchical-64-256"
    explorer.panel.outcome.value = "lost"
    assert (explorer.selection["difference"] < 0).all()
    assert len(explorer.selection)
    explorer.panel.metric.value = "irrelevant@3"
    assert explorer.selection.attrs["metric"] == "irrelevant@3"
    assert (explorer.selection["difference"] > 0).all()
    explorer.panel.outcome.value = "all"
    explorer.panel.cause.value = explorer.panel.cause.options[1][1]
    assert explorer.selection["first_causes"].str.cat(explorer.selection["second_causes"]).str.contains(explorer.panel.cause.value).all()
    explorer.panel.cause.value = ""
    explorer.panel.slice.value = explorer.panel.slice.options[1][1]
    assert isinstance(explorer.selection, pd.DataFrame)
    assert len(explorer.selection) < len(explorer.model.query_ids)


def test_no_question_leaves_a_sentence(explorer):
    explorer.panel.words.value = "zzzz"
    assert explorer.sides == ()
    assert explorer.panel.counts.value == "0 of 9 questions; change a filter"
    assert "No question passes the filters." in explorer.static()


def test_enter_and_the_button_ask_both_configurations(explorer):
    explorer.panel.typed.value = "who pays for the taxi?"
    explorer.panel.typed._handle_custom_msg({"event": "submit"}, [])
    explorer.wait()
    assert all(side.live and side.chunks for side in explorer.sides)
    assert explorer.panel.status.value == "asked both configurations: who pays for the taxi?"
    assert "Typed questions have no labels." in explorer.panel.sides[0].value
    explorer.panel.second.value = "hierarchical-64-256"
    explorer.wait()
    assert [side.configuration for side in explorer.sides] == ["fixed-64-0", "hierarchical-64-256"]
    explorer.panel.typed.value = explorer.model.question(explorer.model.query_ids[2]).text
    explorer.panel.ask.click()
    assert explorer.sides[0].question.query_id == explorer.model.query_ids[2]
    assert not explorer.sides[0].live


def test_a_question_that_cannot_be_asked_is_one_line_in_the_status(copied):
    explorer = wb.explore(copied)
    explorer.ask("who pays for the taxi?")
    explorer.wait()
    assert explorer.panel.status.value.endswith("does not exist; run the sweep again")
    assert explorer.sides[0].question.query_id
    explorer.ask("   ")
    assert explorer.panel.status.value == "Type a question first."


def test_texts_that_the_run_does_not_store_are_loaded_on_request(explorer):
    missing = [
        query_id
        for query_id in explorer.model.query_ids
        if any(not chunk["pieces"] for chunk in explorer.model.side(explorer.configurations[0], query_id).chunks)
    ]
    explorer.panel.questions.value = missing[0]
    assert explorer.panel.load.layout.display == "inline-flex"
    explorer.panel.load.click()
    explorer.wait()
    assert all(chunk["pieces"] for side in explorer.sides for chunk in side.chunks)
    assert explorer.panel.load.layout.display == "none"


def test_every_control_has_a_label_and_is_a_keyboard_control_of_ipywidgets(explorer):
    kinds = (ipywidgets.Text, ipywidgets.Button, ipywidgets.Select, ipywidgets.Dropdown)
    found = [each for each in controls(explorer.widget) if isinstance(each, kinds)]
    assert len(found) == 12
    assert all(each.description for each in found)


def test_a_question_of_another_type_is_one_line(explorer):
    with pytest.raises(wb.InputError, match="question is of type NoneType; give a text"):
        explorer.ask(None)


def test_further_panels_are_tabs(results):
    other = ipywidgets.Label("boundaries")
    (tabs, _) = wb.explore(results, panels={"Boundaries\u202e": other}).widget.children
    assert tabs.titles == ("Explore", "Boundaries\\u202e")
    assert tabs.children[1] is other


@pytest.mark.slow
def test_many_configurations_with_long_names_one_question_and_a_failed_one(untidy):
    explorer = made_explorer(untidy)
    assert len(explorer.panel.first.options) == 31
    assert max(len(name) for _, name in explorer.panel.first.options) == 80
    assert max(len(shown) for shown, _ in explorer.panel.first.options) <= 60
    assert len({shown for shown, _ in explorer.panel.first.options}) == 31
    assert explorer.panel.first.layout.flex == explorer.panel.second.layout.flex == "1 1 45em"
    assert "<b>broken</b>" not in dict(explorer.panel.first.options)
    assert untidy.names[0] in explorer.panel.sides[0].value
    assert "&lt;b&gt;broken&lt;/b&gt;" in explorer.panel.failed.value
    assert explorer.panel.counts.value.startswith("1 of 1 question: ")
    explorer.panel.second.value = untidy.names[-1]
    assert [side.configuration for side in explorer.sides] == [untidy.names[0], untidy.names[-1]]


def test_a_single_configuration_is_compared_with_itself(made):
    explorer = made_explorer(collect(made.ran(1, documents=2)))
    assert len(set(explorer.configurations)) == 1
    assert (explorer.selection["difference"].dropna() == 0).all()


def test_answers_are_chosen_by_condition(judged_run):
    explorer = made_explorer(judged_run)
    assert [answer.variant.condition for answer in explorer.sides[0].answers] == ["retrieved"]
    explorer.panel.condition.value = "gold"
    assert [answer.variant.condition for answer in explorer.sides[0].answers] == ["gold"]
    explorer.panel.condition.value = ""
    assert len(explorer.sides[0].answers) > 2


def test_hostile_names_of_slices_are_options_of_text(hostile):
    explorer = wb.explore(hostile)
    assert "kind=<u>0" in dict(explorer.panel.slice.options)
    assert "<img" not in explorer.panel.asked.value


def test_letters_that_arrive_after_enter_are_asked_too(explorer):
    explorer.panel.typed.value = "who pa"
    explorer.panel.typed._handle_custom_msg({"event": "submit"}, [])
    explorer.panel.typed.value = "who pays for the taxi?"
    explorer.wait()
    assert explorer.panel.status.value == "asked both configurations: who pays for the taxi?"
    assert explorer.sides[0].question.text == "who pays for the taxi?"
