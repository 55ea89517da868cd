"""The Python client of promptd."""

from ._client import Client, Event, Run
from ._errors import ApiError, ConnectionLost, PromptdError, RunFailed
from ._generated import PromptVersion, SearchRow

__all__ = [
    "ApiError",
    "Client",
    "ConnectionLost",
    "Event",
    "PromptVersion",
    "PromptdError",
    "Run",
    "RunFailed",
    "SearchRow",
]
