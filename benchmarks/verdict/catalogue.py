"""The simulated worlds by name."""

from functools import partial

import numpy as np

from benchmarks.verdict.structures import drawn, real
from benchmarks.verdict.worlds import RareLosses, Recalls, World, documents, varied
from workbench.measures.statistics.clusters import Clusters

EQUAL = (0.6,) * 24
ONE_BETTER, TWO_BEST = (0.65, *EQUAL[1:]), (0.6, 0.6, *(0.5,) * 22)
PROFILES: dict[str, tuple[float, ...]] = {
    "24 equal": EQUAL,
    "two best, 22 worse by .10": TWO_BEST,
    "one better by .05": ONE_BETTER,
    "ladder, steps of .01": tuple(0.7 - 0.01 * step for step in range(24)),
    "half worse by .10": (*(0.6,) * 12, *(0.5,) * 12),
    "one better by .02, half worse by .10": (0.62, *(0.6,) * 11, *(0.5,) * 12),
}
# Less noise, so that the better one can be found.
QUIET = partial(Recalls, noise=0.10, shift=0.03)
# Configurations that differ much by document.
SHIFTED = partial(Recalls, shift=0.25, noise=0.20)
FEW_DOCUMENTS = (5, 8, 9, 10, 12)


def worlds() -> dict[str, World]:
    """All worlds."""
    return {
        **{name: Recalls(means) for name, means in PROFILES.items()},
        "two best, 22 worse by .10, quiet": QUIET(TWO_BEST),
        "one better by .05, quiet": QUIET(ONE_BETTER),
        "one better by .05, 300 documents": Recalls(ONE_BETTER, varied(300, most=1), noise=0.15, shift=0),
        **{f"{count} equal": Recalls(EQUAL[:count]) for count in (5, 12)},
        **_selection(),
        "24 equal, 6 groups of 4 near-duplicates": Recalls(EQUAL, copies=4),
        "4 near-duplicates better by .10": Recalls((*(0.7,) * 4, *EQUAL[4:]), copies=4),
        "12 equal, Zipf sizes": Recalls(EQUAL[:12], zipf(40, 300)),
        "one of 12 better by .05, Zipf sizes": Recalls(ONE_BETTER[:12], zipf(40, 300)),
        **{
            f"3 equal, {docs} documents, {count} questions": Recalls(EQUAL[:3], even(docs, count))
            for docs in FEW_DOCUMENTS
            for count in (100, 300)
        },
        **{
            f"rare losses ({1 - often:.0%}), {count} questions": RareLosses(count, often)
            for often in (0.95, 0.98)
            for count in (30, 50, 100, 300)
        },
        **_shared(),
    }


def _selection() -> dict[str, World]:
    return {f"24 equal, {len(clusters)} questions": Recalls(EQUAL, clusters) for clusters in (varied(25, most=3), varied(50, most=3))}


def _shared() -> dict[str, World]:
    """Questions with several relevant documents."""
    sparse = {f"{each} of {docs} documents each": drawn(100, docs, each) for each, docs in ((2, 50), (3, 50), (5, 200))}
    found = sparse | real()
    chosen = {3: found, 24: {name: found[name] for name in ("2 of 50 documents each", "the handbook")}}
    return {f"{arms} equal, {name}": SHIFTED(EQUAL[:arms], clusters) for arms, each in chosen.items() for name, clusters in each.items()}


def even(count: int, questions: int) -> Clusters:
    """`questions` spread over `count` documents."""
    return documents([questions // count + (place < questions % count) for place in range(count)])


def zipf(count: int, questions: int) -> Clusters:
    """About `questions` on `count` documents, with sizes in proportion to 1, 1/2, 1/3 and so on."""
    shares = 1 / np.arange(1, count + 1)
    return documents(np.maximum(1, np.round(questions * shares / shares.sum())).astype(int).tolist())
