"""How often the intervals of sampled and judged logs contain the truth, and how wide they are beside a uniform sample.

`python -m benchmarks.sampled_judging 1000` prints the table of docs/monitoring.md.
"""

import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from workbench.measures.statistics.intervals import share_limits
from workbench.measures.statistics.judge_calibration import CalibrationValue
from workbench.monitor.judging import JudgeErrors, estimate
from workbench.monitor.sampling import draw

GROUPS = ("feedback", "score", "novelty", "rest")
SHARES = np.array([0.03, 0.1, 0.1, 0.77])


@dataclass(frozen=True)
class LogWorld:
    """A log of a day of `questions` in `sessions`, judged with a `budget`; `rates` are those of good answers in the groups of GROUPS.

    `correlation` is that of a session's answers, `judge` sensitivity and specificity, `labels` the labels of good and bad items that measured it.
    `scores`: values between 0 and 1 instead of shares. `kept`: the log keeps only this part of the questions without feedback.
    """

    rates: tuple[float, float, float, float]
    questions: int = 2_000
    budget: int = 100
    sessions: int = 0
    correlation: float = 0.0
    judge: tuple[float, float] = (1.0, 1.0)
    labels: tuple[int, int] = (0, 0)
    scores: bool = False
    kept: float = 1.0

    @property
    def truth(self) -> float:
        return float(SHARES @ np.array(self.rates))

    def simulated(self, random: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, JudgeErrors]]:
        """Draw the log's outline, the evaluations of all its questions, and the errors of the judge."""
        n = self.questions
        group = random.choice(len(GROUPS), n, p=SHARES)
        session = random.integers(0, self.sessions or n, n) if self.sessions else np.arange(n)
        latent = np.sqrt(self.correlation) * random.normal(size=n)[session % n] + np.sqrt(1 - self.correlation) * random.normal(size=n)
        rate = np.array(self.rates)[group]
        good = special.ndtr(latent) < rate
        sensitivity, specificity = self.judge
        approved = np.where(good, random.random(n) < sensitivity, random.random(n) < 1 - specificity).astype(np.float64)
        # A Beta variable with mean `rate` and a standard deviation of about .15.
        value = special.betaincinv(rate * 8, (1 - rate) * 8, np.clip(special.ndtr(latent), 1e-6, 1 - 1e-6)) if self.scores else approved
        outline = self._outline(group, session, random)
        kept = random.random(n) < outline["logged"]
        evaluations = pd.DataFrame(
            {"id": outline["id"], "metric": "faithfulness", "value": value, "approved": approved, "state": "scored", "reason": ""}
        )
        return outline[kept].reset_index(drop=True), evaluations[kept], self._errors(random)

    def _outline(self, group: np.ndarray, session: np.ndarray, random: np.random.Generator) -> pd.DataFrame:
        time = pd.Timestamp("2026-11-02T00:00Z") + pd.to_timedelta(np.sort(random.integers(0, 86_400, len(group))), unit="s")
        identity = [f"{each:016x}" for each in random.integers(0, 2**62, len(group))]
        bad = pd.Series(time).where(group == 0)
        score = np.where(group == 1, random.random(len(group)) * 0.2, 0.2 + random.random(len(group)))
        texts = np.where(group == 2, np.array([f"word{each}" for each in identity]), "what does the ferry cost")
        return pd.DataFrame(
            {"id": identity, "time": time, "query": texts, "text": texts, "score": score, "reason": "", "bad": bad, "configuration": ""}
            | {"cluster": session.astype(str), "logged": np.where(group == 0, 1.0, self.kept)}
        )

    def _errors(self, random: np.random.Generator) -> dict[str, JudgeErrors]:
        if not self.labels[0]:
            return {}
        sensitivity, specificity = self.judge
        found = []
        for share, labels in zip((sensitivity, 1 - specificity), self.labels, strict=True):
            yes = int(random.binomial(labels, share))
            found.append(CalibrationValue(yes / labels, *share_limits(yes, labels), labels))
        return {"support": (found[0], found[1])}


WORLDS = {
    "all alike": LogWorld((0.9, 0.9, 0.9, 0.9)),
    "rare failures": LogWorld((0.97, 0.98, 0.98, 0.995)),
    "strong strata": LogWorld((0.3, 0.6, 0.8, 0.98)),
    "few sessions": LogWorld((0.5, 0.8, 0.9, 0.95), questions=600, sessions=12, correlation=0.2),
    "long sessions": LogWorld((0.5, 0.8, 0.9, 0.95), sessions=80, correlation=0.3),
    "small budget": LogWorld((0.5, 0.8, 0.9, 0.95), budget=20),
    "judge with errors": LogWorld((0.5, 0.8, 0.9, 0.95), judge=(0.9, 0.75), labels=(80, 50)),
    "weak judge, few labels": LogWorld((0.5, 0.8, 0.9, 0.95), judge=(0.8, 0.65), labels=(40, 25)),
    "scores": LogWorld((0.4, 0.6, 0.7, 0.8), scores=True),
    "a log that keeps a fifth": LogWorld((0.4, 0.8, 0.9, 0.95), questions=8_000, kept=0.2),
}


def coverage(world: LogWorld, repetitions: int, seed: int = 0) -> tuple[float, float, float]:
    """Return the share of logs whose interval contains the truth, its mean width, and the bias of the estimate."""
    inside, widths, values = [], [], []
    for repetition in range(repetitions):
        outline, evaluations, errors = world.simulated(np.random.default_rng([seed, repetition]))
        drawn = draw(outline, world.budget, pd.Timestamp("2026-11-04T00:00Z"))
        found = estimate(evaluations, drawn, "faithfulness", errors).interval
        inside.append(found.low <= world.truth <= found.high)
        widths.append(found.high - found.low)
        values.append(found.value)
    return float(np.mean(inside)), float(np.mean(widths)), float(np.mean(values)) - world.truth


def main(repetitions: int) -> None:
    """Print a row for each world."""
    for name, world in WORLDS.items():
        share, width, bias = coverage(world, repetitions)
        print(f"{name:26} coverage {share:.3f}  width {width:.3f}  bias {bias:+.4f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
