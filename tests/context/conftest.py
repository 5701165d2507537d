"""Small tables of labels and hits, as the metrics' tests make them."""

from tests.metrics.conftest import make_labels, make_retrieved

__all__ = ["make_labels", "make_retrieved"]
