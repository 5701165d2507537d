"""The grades that a person chooses from when judging a document."""

from dataclasses import dataclass

from workbench.records import Dataset

# A longer scale has more grades than a person keeps apart.
_MOST = 5


@dataclass(frozen=True, slots=True)
class GradeScale:
    """The grades from `best` to 0 (not relevant), and -1 for a document that misleads and must stay out (a hard negative).

    `binary` tells whether the dataset's own judgements call documents only relevant (1) or not. Its relevant documents then count as `best`.
    """

    best: int
    binary: bool

    @classmethod
    def of(cls, dataset: Dataset) -> "GradeScale":
        """Return the scale of a dataset: up to its highest grade, at least to 2, so that a document can be partly relevant."""
        highest = max((qrel.relevance for qrel in dataset.qrels), default=0)
        return cls(max(2, highest), highest <= 1)

    @property
    def grades(self) -> tuple[int, ...]:
        """Return the grades, best first. Of a long scale the best, the middle and 1."""
        steps = range(self.best, 0, -1) if self.best <= _MOST else (self.best, (self.best + 1) // 2, 1)
        return (*steps, 0, -1)

    def shown(self, grade: int) -> int:
        """Return a grade of the dataset as a grade of the scale."""
        return self.best if self.binary and grade == 1 else grade

    def name(self, grade: int) -> str:
        """Return a grade in words."""
        if grade <= 0:
            return "not relevant" if grade == 0 else "misleading"
        if grade >= self.best:
            return "relevant"
        return "partly relevant" if self.best == 2 else f"partly relevant ({grade})"
