"""The HTTP client of chat models, and what its exceptions mean for a call."""

import httpx2

from workbench.llm.base import CallFailure
from workbench.models.replies import ReplyTooLargeError, limit_answer


def asynchronous_client(local: bool, encrypted: bool) -> httpx2.AsyncClient:
    """Return a client without time limits, since a try has one as a whole, and without redirects, which could lead anywhere.

    Requests to a server on this machine bypass proxies. The number of connections is limited by the number of calls at once.
    """
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=60)
    hooks = {"response": [limit_answer]}
    headers = {"accept-encoding": "identity"}
    # Reading the certificates takes longer than many calls.
    return httpx2.AsyncClient(
        trust_env=not local, verify=encrypted, follow_redirects=False, timeout=None, limits=limits, event_hooks=hooks, headers=headers
    )


def failed_request(error: Exception) -> tuple[CallFailure, bool]:
    """Return the failure of a request without a response, and whether to try again. Raises the error if it is not one of requests."""
    # The clients of OpenAI and Anthropic wrap exceptions.
    cause = error.__cause__ if isinstance(error.__cause__, httpx2.HTTPError | OSError) else error
    if isinstance(cause, ReplyTooLargeError):
        return CallFailure(f"the server sent {cause}", "reply"), False
    if isinstance(cause, httpx2.DecodingError | httpx2.InvalidURL):
        return CallFailure(f"the reply cannot be read ({type(cause).__name__})", "reply"), False
    if isinstance(cause, httpx2.HTTPError | OSError):
        return CallFailure(f"no answer ({type(cause).__name__})"), True
    raise error
