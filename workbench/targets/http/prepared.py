"""What a session needs of a target: its requests with their addresses and headers, and their limits."""

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.targets.http.endpoints import Endpoint
from workbench.targets.http.headers import RequestHeaders


@dataclass(frozen=True)
class RequestLimits:
    """How long a request may take with its retries, in seconds, and how many there are."""

    seconds: float
    retries: int


@dataclass(frozen=True)
class PreparedRequest:
    """A request that is ready to be made once its slots are filled."""

    block: Endpoint
    address: str
    headers: RequestHeaders


@dataclass(frozen=True)
class PreparedTarget:
    """The requests of a target by the names of their blocks. `k` is the number of hits that an answer is made from."""

    requests: Mapping[str, PreparedRequest]
    limits: RequestLimits
    k: int
    model: str
