"""The judges and claim splitters that need no model keep the laws of `workbench.testing`."""

from collections.abc import Callable

import pytest

from workbench.components.judging.base import ClaimSplitter, Judge
from workbench.components.judging.overlap import OverlapJudge
from workbench.components.judging.sentence_splitter import SentenceSplitter
from workbench.testing import JUDGE_LAWS, SPLITTER_LAWS


@pytest.mark.parametrize("law", JUDGE_LAWS)
@pytest.mark.parametrize("judge", [OverlapJudge(), OverlapJudge(embedding={"kind": "static"})], ids=["overlap", "static"])
def test_a_judge_keeps_the_law(law: Callable[[Judge], None], judge: Judge) -> None:
    law(judge)


@pytest.mark.parametrize("law", SPLITTER_LAWS)
def test_the_splitter_keeps_the_law(law: Callable[[ClaimSplitter], None]) -> None:
    law(SentenceSplitter())
