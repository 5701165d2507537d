"""Nothing is concluded from questions some of which are drafts that nobody has accepted."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.made_runs import Made
from workbench.measures.statistics.verdict import Reason
from workbench.report.analysis.decision import decide
from workbench.report.analysis.findings import findings
from workbench.report.model import Figure
from workbench.report.results.run_tables import RunTables
from workbench.report.sentences import beside_verdict, drafts_lines
from workbench.report.topics.decision.opening import opening
from workbench.report.topics.registry import summary_lines
from workbench.report.topics.retrieval.differences import differences

PLACEHOLDER = '{"synthetic": true, "provenance": {"part": "placeholder"}}'
DRAFT, ACCEPTED = '{"synthetic": true}', '{"synthetic": true, "accepted_by": "Ada"}'
_RNG = np.random.default_rng(3)
_WORSE = _RNG.random(120) * 0.5
VALUES = [list(np.round(_WORSE + 0.3 + _RNG.random(120) * 0.1, 3)), list(np.round(_WORSE, 3))]


@pytest.fixture(scope="module")
def won(made: Made) -> RunTables:
    return made.valued(VALUES, name="won")


def drafted(run: RunTables, waiting: int) -> RunTables:
    fields = [DRAFT if place < waiting else ACCEPTED for place in range(len(run.questions))]
    return replace(run, sources={**run.sources, "questions": lambda _: run.questions.assign(metadata=fields)})


@pytest.mark.parametrize(("waiting", "questions"), [(1, "1 of 120 questions is a draft"), (120, "every question is a draft")])
def test_a_run_on_drafts_is_a_preview_in_the_headline_and_in_the_terminal(won: RunTables, waiting: int, questions: str) -> None:
    run = drafted(won, waiting)
    lead = f"Do not decide yet: {questions} that nobody has accepted."
    assert opening(decide(findings(run))).headline == lead
    lines = summary_lines(run)
    assert lead in lines
    assert "How sure? not at all: no claim rests on drafts, so nothing is tested." in lines
    assert "Next: Accept or delete the drafts in the labeller, then sweep again." in lines
    assert " wins " not in "\n".join(lines)
    assert not re.search(r"\bp [=<]|indistinguishable|95 % confidence", "\n".join(lines))


def test_a_preview_keeps_the_order_and_the_means_and_has_no_tie_set_p_or_bounds_of_differences(won: RunTables) -> None:
    decided, preview = findings(won), findings(drafted(won, 1))
    assert decided.winner is not None
    assert preview.verdict is not None
    assert (preview.winner, preview.verdict.reason, preview.verdict.enough) == (None, Reason.DRAFTS, False)
    assert [preview.mark(each.name) for each in preview.standings.ranked] == ["", ""]
    assert [str(each.means) for each in preview.standings.ranked] == [str(each.means) for each in decided.standings.ranked]
    assert (preview.verdict.best, preview.verdict.behind) == (preview.verdict.ranked, ())
    (figure,) = [block for block in differences(preview).blocks if isinstance(block, Figure)]
    assert figure.caption == "All points are rings, because on drafts no difference is claimed."
    for pair in preview.verdict.pairs:
        numbers = [pair.p, pair.p_random, pair.p_adjusted, pair.p_holm, pair.low_adjusted, pair.high_adjusted]
        assert np.isnan([*numbers, pair.difference.low, pair.difference.high]).all()
        assert pair.difference.value == decided.verdict.between(pair.a, pair.b).difference.value


@pytest.mark.parametrize("waiting", [1, 120])
def test_the_report_and_the_terminal_count_the_drafts_once_and_name_their_bias(won: RunTables, waiting: int) -> None:
    run, bias = drafted(won, waiting), "Drafts use the words of their evidence, which favours lexical search."
    conclusions = findings(run)
    page, lines = opening(decide(conclusions)).text.split("\n"), summary_lines(run)
    for text in (page, lines):
        assert len([line for line in text if "that nobody has accepted" in line]) == 1
        assert len([line for line in text if bias in line]) == 1


def test_without_a_verdict_the_drafts_are_counted_before_the_conclusion(won: RunTables) -> None:
    run = replace(drafted(won, 120), manifest={**won.manifest, "configurations": dict(list(won.manifest["configurations"].items())[:1])})
    assert drafts_lines(run)[0].startswith("Every question is a draft that nobody has accepted: review them before you decide.")
    assert beside_verdict(run, None) == drafts_lines(run)


def test_lexical_search_is_named_only_if_the_run_has_it(won: RunTables) -> None:
    run = drafted(won, 1)
    warning, reason = (
        "1 of 120 questions is a draft that nobody has accepted: review them before you decide.",
        "which favours lexical search.",
    )
    (line,) = drafts_lines(run)
    assert line.startswith(warning)
    assert line.endswith(reason)
    dense = {name: {**own, "retrieval": {"kind": "dense"}} for name, own in run.configurations_settings.items()}
    assert drafts_lines(replace(run, manifest={**run.manifest, "configurations": dense})) == [warning]


def test_accepted_questions_are_not_warned_of(won: RunTables) -> None:
    run = drafted(won, 0)
    assert drafts_lines(run) == drafts_lines(won) == []
    assert opening(decide(findings(run))) == opening(decide(findings(won)))


@pytest.mark.parametrize(
    ("placeholders", "drafts", "questions"),
    [
        (120, 0, "every question is a placeholder"),
        (1, 2, "of 120 questions, 1 is a placeholder and 2 are drafts that nobody has accepted"),
    ],
)
def test_figures_on_placeholders_are_called_no_result(won: RunTables, placeholders: int, drafts: int, questions: str) -> None:
    fields = [*[PLACEHOLDER] * placeholders, *[DRAFT] * drafts, *[ACCEPTED] * (120 - placeholders - drafts)]
    run = replace(won, sources={**won.sources, "questions": lambda _: won.questions.assign(metadata=fields)})
    why = f"{questions}, and figures on headings in place of questions are not a result"
    lines = summary_lines(run)
    assert f"Do not decide yet: {why}." in lines
    assert "Next: Write the questions in place of the placeholders in the labeller, then sweep again." in lines
    assert "Headings use the words of their evidence, which favours lexical search." in lines
    assert "write the questions before you decide." in drafts_lines(run)[0]
