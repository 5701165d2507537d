import random
import time
from email.utils import formatdate

from workbench.llm.retries import back_off, requested_wait, worth_retrying


def test_the_requested_wait_is_read_if_it_is_a_time() -> None:
    cases: list[tuple[dict[str, str], float | None]] = [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "-5"}, None),
    ]
    assert [(headers, requested_wait(headers)) for headers, _ in cases] == cases


def test_a_date_is_a_wait_from_now() -> None:
    wait = requested_wait({"retry-after": formatdate(time.time() + 60, usegmt=True)})
    assert wait is not None
    assert 58 <= wait <= 61
    assert requested_wait({"retry-after": formatdate(time.time() - 60, usegmt=True)}) == 0


def test_waits_grow_with_full_jitter_up_to_a_limit() -> None:
    random.seed(0)
    for tries, most in ((1, 0.1), (2, 0.4), (3, 1.6), (4, 6.4), (10, 30.0)):
        waits = [back_off(tries, 500, None) for _ in range(300)]
        assert 0 <= min(waits) < 0.1 * most
        assert 0.9 * most < max(waits) <= most


def test_a_rate_limit_is_waited_for_longer_and_a_requested_wait_is_obeyed() -> None:
    random.seed(0)
    assert 0.5 < max(back_off(1, 429, None) for _ in range(50)) <= 1
    assert all(2 <= back_off(1, 429, 2.0) <= 2.2 for _ in range(50))


def test_statuses_that_may_pass_are_retried() -> None:
    assert [status for status in (400, 401, 404, 408, 409, 413, 422, 429, 500, 529) if worth_retrying(status)] == [408, 409, 429, 500, 529]
