"""The judges and claim splitters that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from collections.abc import Mapping

from workbench.components.judging.base import Judge
from workbench.components.judging.cascade import CascadeJudge
from workbench.components.judging.chat import ChatJudge
from workbench.components.judging.claims.base import ClaimSplitter
from workbench.components.judging.claims.chat import ChatSplitter
from workbench.components.judging.claims.sentences import SentenceSplitter
from workbench.components.judging.local import LocalJudge
from workbench.components.judging.overlap import OverlapJudge
from workbench.core.registry import Registry

_BUILTIN: dict[str, type[Judge]] = {"overlap": OverlapJudge, "chat": ChatJudge, "local": LocalJudge, "cascade": CascadeJudge}
JUDGES: Mapping[str, type[Judge]] = Registry(_BUILTIN, "workbench.judges", Judge)


_SPLITTERS: dict[str, type[ClaimSplitter]] = {"sentences": SentenceSplitter, "chat": ChatSplitter}
SPLITTERS: Mapping[str, type[ClaimSplitter]] = Registry(_SPLITTERS, "workbench.claim_splitters", ClaimSplitter)
