"""A sweep that is killed while it asks a service: the next one asks again only for the requests in flight."""

import json
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.asked_sweeps import write_questions
from tests.forked import Forked, command
from tests.systems.http.service import Service
from tests.systems.http.sessions import SEARCH

pytestmark = pytest.mark.slow


def slowly() -> dict[str, Any]:
    time.sleep(0.05)
    return {"results": [{"doc_id": "d0"}, {"doc_id": "d1"}]}


@pytest.mark.parametrize("at_once", [1, 4])
def test_a_kill_repeats_no_more_than_the_requests_in_flight(service: Service, tmp_path: Path, at_once: int) -> None:
    service.replies = {"/search": slowly}
    search = SEARCH | {"reply": {"hits": "$.results", "id": "doc_id"}}
    target = {"kind": "http", "name": "theirs", "url": service.host, "concurrency": at_once, "search": search}
    dataset = {"kind": "golden", "path": str(write_questions(tmp_path / "data", 12))}
    settings = {"name": "theirs", "targets": [target], "metrics": ["recall@3"], "dataset": dataset}
    (tmp_path / "theirs.yaml").write_text(json.dumps(settings), "utf-8")

    def sweep(outputs: str, kill_at: int = 0) -> None:
        with closing(Forked(command, "sweep", "theirs.yaml", "--outputs", outputs, cwd=tmp_path, log=tmp_path / "log.txt")) as process:
            ends = time.monotonic() + 120
            while kill_at and len(service.requests) < kill_at:
                assert time.monotonic() < ends
                time.sleep(0.005)
            if kill_at:
                process.kill()
            assert (process.wait(120) == 0) != bool(kill_at), (tmp_path / "log.txt").read_text()

    sweep("alone")
    service.requests.clear()
    sweep("killed", kill_at=6)
    sweep("killed")
    asked = Counter(json.dumps(body) for _, _, body in service.requests)
    assert len(asked) == 12
    assert max(asked.values()) == 2
    assert asked.total() <= 12 + at_once
    for table in ("queries", "metrics", "hits"):
        ours, theirs = (pd.read_parquet(tmp_path / name / "theirs" / f"{table}.parquet") for name in ("killed", "alone"))
        pd.testing.assert_frame_equal(ours, theirs)
