"""The claim splitters that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from collections.abc import Mapping

from workbench.core.registry import Registry
from workbench.judging.claims.base import ClaimSplitter
from workbench.judging.claims.chat import ChatSplitter
from workbench.judging.claims.sentences import SentenceSplitter

_BUILTIN: dict[str, type[ClaimSplitter]] = {"sentences": SentenceSplitter, "chat": ChatSplitter}
SPLITTERS: Mapping[str, type[ClaimSplitter]] = Registry(_BUILTIN, "workbench.claim_splitters", ClaimSplitter)
