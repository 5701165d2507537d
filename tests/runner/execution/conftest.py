import pytest


@pytest.fixture(autouse=True)
def _one_timed_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time one question of a configuration instead of 50: only tests of latencies are about seconds."""
    monkeypatch.setattr("workbench.runner.execution.latency.QUESTIONS", 1)
