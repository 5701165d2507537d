from pathlib import Path
from tests.answered_runs import Planted, answered
from tests.judged_runs import Judged, judged
from workbench.report.render.html import write_report
def test_try(judged_run, scored_run, untidy, unanswered):
    write_report(judged_run, Path("/tmp/jr/judged.html"))
    write_report(scored_run, Path("/tmp/jr/scored.html"))
    write_report(judged(answered(untidy, Planted(conditions=["gold", "retrieved"])), Judged()), Path("/tmp/jr/untidy.html"))
    write_report(judged(answered(unanswered, Planted(conditions=["gold", "retrieved"])), Judged(failed=1.0)), Path("/tmp/jr/failed.html"))
    write_report(judged(answered(unanswered, Planted(conditions=["retrieved"])), Judged(claims=False)), Path("/tmp/jr/noclaims.html"))
