"""A disk that is full while a model answers: replies that were paid for are kept or counted, and no others are paid for."""

import re
from collections.abc import Callable

from tests.asked_sweeps import AskedSweep, write_questions

# Runs a sweep where no file may grow beyond 40,000 bytes, and prints the failures and the tries that were lost.
SWEEP = """
import resource, signal, sys
from pathlib import Path
from workbench.runner.execution.local import run_experiment
from workbench.runner.experiment.read import read_experiment
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
outcome = run_experiment(read_experiment(Path(sys.argv[1])), Path(sys.argv[2]), lambda _: None)
print(*outcome.failures.values(), f"lost {outcome.run.calls.budget.spent.lost_tries}", sep="\\n")
"""


def test_replies_that_cannot_be_kept_are_counted_and_end_the_calls_of_all_configurations(asked_sweep: AskedSweep, fork: Callable) -> None:
    provider = asked_sweep.provider
    provider.reply_to = lambda _: {"text": "x" * 3_000}
    data = write_questions(asked_sweep.folder / "questions", 30)
    changes = {"data": data, "sweep": {"context": [{"budget": [200, 300, 400]}]}}
    *failures, lost = fork(SWEEP, asked_sweep.write(**changes), asked_sweep.outputs).output().splitlines()
    assert len(failures) == 3
    assert all("and run again" in line and "calls.sqlite" in line for line in failures)
    (unkept,) = re.findall(r"and (\d+) repl(?:y|ies) that arrived (?:is|are) not kept", failures[-1])
    first = len(provider.asked)
    assert 0 < first < 60
    assert not asked_sweep.run(**changes).failures
    again = len(provider.asked) - len({*provider.prompts()})
    assert again <= int(unkept) + int(lost.removeprefix("lost "))
