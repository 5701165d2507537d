"""Read a document in overlapping windows and average its tokens' vectors ("long late chunking" of Günther et al. 2024)."""

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.components.embedding.torch_model import model_modules, model_settings
from workbench.core.storage.vector_cache import Vectors
from workbench.llm.models.tokenizers import Ints, model_tokenizer, special_ids

# The smallest share of their room that two neighbouring windows have in common (docs/decisions.md).
OVERLAP = 0.25
# The version of everything that determines a late vector besides model, window and document. Increase it when vectors change.
LATE = {"version": 1, "overlap": OVERLAP, "weights": "triangular"}

Doubles = NDArray[np.float64]


class Frame(NamedTuple):
    """The ids around the tokens of every window (special ones and the prompt), and the room between them."""

    before: list[int]
    after: list[int]
    room: int

    def rows(self, ids: Sequence[int]) -> Iterator[list[int]]:
        """Yield the windows of a document's tokens as rows of ids for the model."""
        for start in window_starts(len(ids), self.room).tolist():
            yield [*self.before, *ids[start : start + self.room], *self.after]


@functools.lru_cache(maxsize=8)
def frame_of(model: str, window: int, prompt: str) -> Frame:
    """Return the frame of a model's windows. Each begins with the special tokens and the prompt, which are not pooled."""
    first, last = special_ids(model)
    before = [*first.tolist(), *model_tokenizer(model).encode(prompt, add_special_tokens=False).ids]
    return Frame(before, last.tolist(), window - len(before) - len(last))


def window_starts(tokens: int, room: int) -> Ints:
    """Return the starts of a document's windows: the fewest that share OVERLAP of their room, evenly spread and full, except a lone one."""
    if tokens <= room:
        return np.zeros(1, dtype=np.int64)
    gaps = -(-(tokens - room) // max(1, room - int(room * OVERLAP)))
    return np.arange(gaps + 1, dtype=np.int64) * (tokens - room) // gaps


class Pool:
    """The mean directions of ranges of a document's tokens, from its windows in order. Only one window and the open ranges are in memory.

    A token's vectors in overlapping windows are averaged, with weights that fall towards a window's edges. Means come from running sums in
    float64 over the whole document, so a range's mean is bit for bit the same, whichever other ranges are pooled.
    """

    def __init__(self, tokens: int, room: int, first: Ints, last: Ints) -> None:
        """Store ranges [first, last) of at least one token each: int64 (n)."""
        self._edges = [*window_starts(tokens, room).tolist(), tokens]
        self._window, self._done = 0, 0
        self._first, self._last = first, last
        self._opening, self._closing = (np.argsort(-edge, kind="stable").tolist() for edge in (first, last))
        self._open: dict[int, Doubles] = {}
        width = min(tokens, room)
        # Twice the distance to the nearer edge from the token's middle.
        self._weights = 2.0 * np.minimum(np.arange(width), np.arange(width)[::-1]) + 1.0
        self._shares, self._sums, self._before = np.zeros(width), np.zeros((width, 0)), np.zeros(0)

    def add(self, states: Vectors) -> Iterator[tuple[int, Vectors]]:
        """Add the next window's vectors, float32 (tokens, dimension), and yield (place, unit vector) of each range that it completes."""
        if not self._window:
            self._sums, self._before = np.zeros(states.shape), np.zeros(states.shape[1])
        sums = np.cumsum(np.concatenate([self._before[None], self._means(states)]), axis=0)
        self._before = sums[-1]
        start, self._done = self._done, self._done + len(sums) - 1
        while self._opening and self._first[self._opening[-1]] < self._done:
            place = self._opening.pop()
            self._open[place] = sums[self._first[place] - start].copy()
        while self._closing and self._last[self._closing[-1]] <= self._done:
            place = self._closing.pop()
            total = sums[self._last[place] - start] - self._open.pop(place)
            yield place, (total / np.linalg.norm(total)).astype(np.float32)

    def _means(self, states: Vectors) -> Doubles:
        """Return the averaged vectors of tokens that no later window contains: float64 (tokens, dimension)."""
        self._sums += self._weights[:, None] * states
        self._shares += self._weights
        step = self._edges[self._window + 1] - self._edges[self._window]
        self._window += 1
        means = self._sums[:step] / self._shares[:step, None]
        for buffer in (self._sums, self._shares):
            buffer[:-step] = buffer[step:]
            buffer[-step:] = 0
        return np.asarray(means)


def unpoolable(model: str, window: int, prompt: str) -> str:
    """Return why a model's settings rule out pooling tokens by chunk, or an empty text if they allow it."""
    modules = model_modules(model)
    names = [module["type"].rpartition(".")[2] for module in modules]
    if modules and names not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return f"it is {', '.join(names)}, not a transformer with mean pooling"
    pooling = model_settings(model, f"{modules[1]['path']}/config.json") if modules else {}
    chosen = [name.removeprefix("pooling_mode_") for name, on in pooling.items() if name.startswith("pooling_mode_") and on]
    if pooling.get("pooling_mode", "mean") not in ("mean", ["mean"]) or chosen not in ([], ["mean_tokens"]):
        return f"it pools by {pooling.get('pooling_mode') or ' and '.join(chosen)}, not by the mean"
    if model_settings(model, "config_sentence_transformers.json").get("truncate_dim"):
        return "it keeps only the first of its dimensions"
    if frame_of(model, window, prompt).room < 1:
        return f"the prompt leaves no room in its {window} tokens"
    return ""
