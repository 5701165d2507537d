import numpy as np

from workbench.statistics.clusters import units


def test_from_ten_documents_on_a_document_is_one_observation() -> None:
    found = units(np.repeat(list("jihgfedcba"), 2))
    assert (found.count, found.clusters, found.conditional) == (10, 10, False)
    assert found.codes.tolist() == np.repeat(np.arange(9, -1, -1), 2).tolist()


def test_with_fewer_each_query_is_one_and_the_inference_is_conditional() -> None:
    found = units(np.repeat(np.arange(9), 2))
    assert (found.count, found.clusters, found.conditional) == (18, 9, True)


def test_a_few_queries_of_as_many_documents_are_not_conditional() -> None:
    found = units([7, 3, 5])
    assert (found.codes.tolist(), found.clusters, found.conditional) == ([2, 0, 1], 3, False)
    assert units([]).count == 0
