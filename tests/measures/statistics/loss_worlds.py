"""Worlds with known losses: questions in documents, right or wrong under a clean and several degraded contexts."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from workbench.measures.metrics.coverage import Bools, Floats, Ints
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.effects import Effect
from workbench.measures.statistics.summary import losses


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


@dataclass(frozen=True)
class RefusingWorld:
    """Answers of which some from the evidence alone are refused, and so wrong, and fewer from retrieved text.

    Without refusals, `clean` of the answers from the evidence are right, and `lost` fewer from retrieved text. The evidence alone is refused on the share
    `alone` of the questions, and retrieved text on `retrieved` of them. At a `slope` of 1 all refused questions are the hardest ones, at 0 any.
    """

    lost: float = 0.1
    clean: float = 0.7
    alone: float = 0.3
    retrieved: float = 0.1
    slope: float = 0.0
    documents: int = 40
    questions: int = 120

    def drawn(self, seed: int, flips: int = 499) -> tuple[Effect, Effect]:
        """The estimated losses of a draw: on all questions, and on those without a refusal of the evidence alone."""
        clean, degraded, refused, document = self.values(seed)
        sides = (clean, np.where(refused, np.nan, clean))
        whole, answered = (losses({("gold", "retrieved"): (side, degraded)}, Clusters.of(document), flips) for side in sides)
        return whole["gold", "retrieved"], answered["gold", "retrieved"]

    def values(self, seed: int) -> tuple[Floats, Floats, Bools, Ints]:
        """The scores from the evidence alone and from retrieved text, whether the evidence alone is refused, and the document, all (q)."""
        random = np.random.default_rng(seed)
        document = np.sort(random.integers(0, self.documents, self.questions))
        ease = 0.5 * random.normal(size=self.documents)[document] + 0.5 * random.normal(size=self.questions)
        latent = [ease + np.sqrt(0.5) * random.normal(size=self.questions) for _ in range(2)]
        right = [side > stats.norm.ppf(1 - share) for side, share in zip(latent, (self.clean, self.clean - self.lost), strict=True)]
        refused = [self._refused(random, ease, share) for share in (self.alone, self.retrieved)]
        clean, degraded = ((side & ~no).astype(np.float64) for side, no in zip(right, refused, strict=True))
        return clean, degraded, refused[0], document

    def _refused(self, random: np.random.Generator, ease: Floats, share: float) -> Bools:
        hardness = -self.slope * ease / ease.std() + np.sqrt(1 - self.slope**2) * random.normal(size=len(ease))
        return np.asarray(hardness > stats.norm.ppf(1 - share))
