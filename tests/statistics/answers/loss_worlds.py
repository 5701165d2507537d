"""Worlds with known losses: questions in documents, right or wrong under a clean and several degraded contexts."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from workbench.statistics.answers.losses import losses
from workbench.statistics.clusters import Clusters
from workbench.statistics.effects import Effect


@dataclass(frozen=True)
class LossWorld:
    """The share of right answers in the clean context, and the loss of each condition. Answers to one document hang together."""

    clean: float = 0.7
    true: tuple[float, ...] = (0.0,) * 8
    documents: int = 40
    questions: int = 120
    together: float = 0.3

    def drawn(self, seed: int, flips: int = 499) -> list[Effect]:
        """The estimated losses of a draw."""
        random, size = np.random.default_rng(seed), 1 + len(self.true)
        document = np.sort(random.integers(0, self.documents, self.questions))
        shared = random.normal(0, np.sqrt(self.together), (size, self.documents))[:, document]
        latent = shared + random.normal(0, np.sqrt(1 - self.together), (size, self.questions))
        shares = self.clean - np.array([0.0, *self.true])
        right: npt.NDArray[np.float64] = (latent < stats.norm.ppf(shares)[:, None]).astype(np.float64)
        pairs = {("gold", str(number)): (right[0], row) for number, row in enumerate(right[1:])}
        return list(losses(pairs, Clusters.of(document), flips).values())

    def covered(self, effects: list[Effect]) -> bool:
        """Whether the simultaneous intervals contain all true losses."""
        rows = [effect.comparison.simultaneous for effect in effects]
        return all(row.low <= true <= row.high for row, true in zip(rows, self.true, strict=True))
