"""The time left of recorded sweeps, with a clock that the test sets."""

import io
import itertools
from collections.abc import Iterator

import pytest

from workbench.core.text.progress import ProgressBar, SweepProgress, current_sweep, reporting, sweep_progress, time_left


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


# Seconds of each result in order: splitting is quick, embedding slow and uneven.
RECORDED = [
    (stage, seconds)
    for each in (8.0, 10.0, 12.0, 9.0, 11.0, 10.0)
    for stage, seconds in (("chunks", 1.0), ("vectors", each), ("hits", 2.0))
]


def played(events: list[tuple[str, float]], usual: dict[str, float] | None = None) -> Iterator[tuple[float, SweepProgress]]:
    """The true seconds left and the progress, in steps of a tenth of each result."""
    clock = Clock()
    progress = SweepProgress("x", clock, usual=usual or {}, configurations=6)
    stages = [stage for stage, _ in events]
    progress.expect({stage: stages.count(stage) for stage in dict.fromkeys(stages)})
    end = sum(seconds for _, seconds in events)
    for stage, seconds in events:
        progress.begin(stage)
        for step in range(1, 11):
            clock.now += seconds / 10
            progress.advance(stage, step * 100, 1000, "tokens")
            yield end - clock.now, progress
        progress.end()


def test_half_way_through_the_estimate_is_near_the_truth() -> None:
    half = sum(seconds for _, seconds in RECORDED) / 2
    errors = [abs((progress.seconds_left() or 0) - left) / left for left, progress in played(RECORDED) if half / 2 < left <= half]
    assert len(errors) > 20
    assert max(errors) < 0.25


def test_it_is_never_negative_and_never_0_while_work_remains() -> None:
    for left, progress in played(RECORDED):
        seconds = progress.seconds_left()
        if left > 0 and seconds is not None:
            assert seconds >= 1
            assert "about 0" not in progress.line()


def test_it_is_0_at_the_end() -> None:
    *_, (_, progress) = played(RECORDED)
    assert progress.seconds_left() == 0
    assert "left" not in progress.line()


def test_it_is_not_shown_before_each_stage_that_remains_is_known() -> None:
    known = [progress.seconds_left() is not None for _, progress in played(RECORDED)]
    assert not any(known[:10])
    assert all(known[40:])


def test_usual_seconds_stand_in_for_a_stage_that_has_not_run() -> None:
    (_, progress) = next(played(RECORDED, {"chunks": 1.0, "vectors": 10.0, "hits": 2.0}))
    assert progress.seconds_left() == pytest.approx(77.9, rel=0.01)


def test_the_shown_time_does_not_jump_up_and_down() -> None:
    shown = [seconds for _, progress in played(RECORDED) if (seconds := progress.shown_seconds())]
    rises = sum(later > earlier for earlier, later in itertools.pairwise(shown))
    assert rises <= 2


def test_a_result_computed_within_another_is_not_counted_twice() -> None:
    clock = Clock()
    progress = SweepProgress("x", clock)
    progress.expect({"hits": 1, "vectors": 1})
    progress.begin("hits")
    progress.begin("vectors")
    clock.now = 9.0
    progress.end()
    clock.now = 10.0
    progress.end()
    assert dict(progress.seconds) == {"vectors": [9.0], "hits": [1.0]}


def test_a_failed_result_is_no_measure_of_time() -> None:
    clock = Clock()
    progress = SweepProgress("x", clock)
    progress.expect({"hits": 2})
    progress.begin("hits")
    clock.now = 0.1
    progress.end(completed=False)
    assert progress.seconds_left() is None


def test_the_line_has_stage_counts_speed_time_and_money() -> None:
    clock = Clock()
    progress = SweepProgress("chunking", clock, configurations=12, finished=3, spent=lambda: 0.126)
    progress.expect({"vectors": 3})
    progress.begin("vectors")
    clock.now = 10.0
    progress.advance("vectors", 0, 40_000, "tokens")
    assert progress.line() == "chunking: 3/12 configurations · vectors 0/40,000 tokens · 0.13 USD"
    progress.best = "recall@5 0.812"
    assert progress.line() == "chunking: 3/12 configurations · best recall@5 0.812 · vectors 0/40,000 tokens · 0.13 USD"
    progress.best = ""
    progress.advance("vectors", 20_000, 40_000, "tokens")
    progress.end()
    progress.begin("vectors")
    clock.now = 12.0
    progress.advance("vectors", 30_000, 40_000, "tokens")
    assert progress.line() == "chunking: 3/12 configurations · about 10 s left · vectors 30,000/40,000 tokens · 15,000 tokens/s · 0.13 USD"


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "about 5 s"), (42, "about 40 s"), (240, "about 4 min"), (9000, "about 2.5 h")])
def test_times_are_no_more_exact_than_they_are(seconds: float, text: str) -> None:
    assert time_left(seconds) == text


def test_bars_below_a_sweep_report_to_it_and_print_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with sweep_progress("x") as progress, reporting("vectors"):
        with ProgressBar(total=10, desc="embed a", unit="tok") as bar:
            bar.update(4)
        assert (progress.item.title, progress.item.done, progress.item.total, progress.item.unit) == ("embed a", 4, 10, "tokens")
    assert current_sweep() is None
    assert capsys.readouterr() == ("", "")


def test_an_error_ends_the_sweeps_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), sweep_progress("x"), reporting("vectors"):
        raise KeyboardInterrupt
    assert current_sweep() is None
    assert capsys.readouterr() == ("", "")


LINE = "workbench: x: 0/0 configurations · embed a {0}/100 tokens · 1.0 tokens/s\n"


@pytest.mark.parametrize(("mode", "printed"), [("log", "".join(map(LINE.format, (30, 60, 90)))), ("none", "")])
def test_a_log_has_a_line_every_half_minute_or_nothing(
    mode: str, printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setenv("WORKBENCH_PROGRESS", mode)
    monkeypatch.setattr("workbench.core.text.progress.time.monotonic", clock)
    with sweep_progress("x") as progress:
        for second in range(100):
            clock.now = float(second)
            progress.advance("embed a", second, 100, "tokens")
    assert capsys.readouterr() == ("", printed)


def test_an_unknown_way_to_show_progress_is_said_once_and_counts_as_auto(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORKBENCH_PROGRESS", "loud")
    for _ in range(2):
        with sweep_progress("x"):
            pass
    assert capsys.readouterr().err == "workbench: WORKBENCH_PROGRESS=loud is not one of auto, log, none; progress is shown as with auto\n"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_fits_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with sweep_progress("paraphrase-multilingual-mpnet-base-v2-cross-encoder") as progress:
        assert progress.live
        progress.configurations, progress.finished, progress.best = 35, 7, "span_recall@2000t 0.812"
        progress.usual = {"vectors": 600.0}
        progress.expect({"vectors": 3})
        with reporting("vectors"), ProgressBar(total=1000, desc="embed " + "long-" * 16, unit="tok") as bar:
            bar.update(20)
            progress.changed(True)
    shown = [line.rstrip() for line in terminal.getvalue().split("\r")]
    assert "paraphrase-m…oss-encoder 7/35 · about 30 min left · best 0.812 · embed…long- 2%" in shown
    assert max(map(len, shown)) < 80
    assert "\n" not in terminal.getvalue().strip()


def test_a_log_has_no_live_line() -> None:
    with sweep_progress("x") as progress:
        assert not progress.live
