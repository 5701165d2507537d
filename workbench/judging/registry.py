"""The judges and claim splitters that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from collections.abc import Mapping

from workbench.core.registry import Registry
from workbench.judging.base import Judge
from workbench.judging.cascade import CascadeJudge
from workbench.judging.chat import ChatJudge
from workbench.judging.claims.base import ClaimSplitter
from workbench.judging.claims.chat import ChatSplitter
from workbench.judging.claims.sentences import SentenceSplitter
from workbench.judging.local import LocalJudge
from workbench.judging.overlap import OverlapJudge

_BUILTIN: dict[str, type[Judge]] = {"overlap": OverlapJudge, "chat": ChatJudge, "local": LocalJudge, "cascade": CascadeJudge}
JUDGES: Mapping[str, type[Judge]] = Registry(_BUILTIN, "workbench.judges", Judge)


_SPLITTERS: dict[str, type[ClaimSplitter]] = {"sentences": SentenceSplitter, "chat": ChatSplitter}
SPLITTERS: Mapping[str, type[ClaimSplitter]] = Registry(_SPLITTERS, "workbench.claim_splitters", ClaimSplitter)
