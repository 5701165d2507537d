import numpy as np

from workbench.core.batching import padded_batches


def test_batches_hold_every_text_once_longest_first_within_their_tokens() -> None:
    lengths = np.random.default_rng(0).integers(0, 600, 3_000)
    lengths[:700] = 20
    found = list(padded_batches(lengths, 8_192, 128))
    assert sorted(np.concatenate(found)) == list(range(3_000))
    assert np.all(np.diff(lengths[np.concatenate(found)]) <= 0)
    assert max(len(batch) for batch in found) == 128
    assert all(len(batch) == 1 or lengths[batch[0]] * len(batch) <= 8_192 for batch in found)
    # None could have taken the text after it.
    assert all(len(batch) == 128 or lengths[batch[0]] * (len(batch) + 1) > 8_192 for batch in found[:-1])
