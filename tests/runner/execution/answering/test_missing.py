"""The line about missing answers."""

import pytest

from tests.answered_runs import Planted, answered
from workbench.runner.execution.missing import missing_answers


def test_a_run_without_missing_answers_needs_no_line(unanswered):
    assert missing_answers(answered(unanswered, Planted())) == []


@pytest.mark.parametrize(("copied", "fix"), [(False, "add these to the recorded answers"), (True, "run again to ask only for these")])
def test_missing_answers_are_counted_with_the_fix_for_their_generator(unanswered, copied, fix):
    (line,) = missing_answers(answered(unanswered, Planted(failed=0.1, verbatim=copied)))
    assert "answers are missing and not scored" in line
    assert line.endswith(f"; {fix}")
