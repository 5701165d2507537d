"""Drafts that nobody has accepted are warned of wherever a conclusion is drawn."""

from dataclasses import replace

import numpy as np
import pytest

from tests.made_runs import Made
from workbench.analysis.findings import findings
from workbench.report.render.markdown import summary_markdown
from workbench.report.render.terminal import summary_lines
from workbench.report.text.drafts import drafts_lines
from workbench.report.text.summary import headline, opening
from workbench.results.run_tables import RunTables

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


def test_a_winner_on_drafts_is_called_that_in_the_headline_in_the_terminal_and_as_markdown(won: RunTables) -> None:
    run = drafted(won, 118)
    lead = headline(findings(run)).text
    assert lead.endswith(", though 118 of 120 questions are drafts that nobody has accepted.")
    assert " wins by " in lead
    assert lead in summary_lines(run)
    assert "though 118 of 120 questions are drafts" in summary_markdown(run)


def test_the_report_and_the_terminal_warn_before_they_conclude(won: RunTables) -> None:
    run, warning = drafted(won, 120), "Every question is a draft that nobody has accepted: review them before you decide."
    assert opening(findings(run))[0].startswith(warning)
    lines = summary_lines(run)
    (place,) = [place for place, line in enumerate(lines) if line.startswith(warning)]
    assert place < lines.index(headline(findings(run)).text)


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
    assert headline(findings(run)) == headline(findings(won))
