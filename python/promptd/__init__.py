"""The Python client for promptd."""

from ._batches import Batches
from ._client import Client, Event, Run
from ._errors import ApiError, ConnectionLost, PromptdError, RunFailed
from ._generated import Batch, BatchResult, PromptVersion, SearchRow

__all__ = [
    "ApiError",
    "Batch",
    "BatchResult",
    "Batches",
    "Client",
    "ConnectionLost",
    "Event",
    "PromptVersion",
    "PromptdError",
    "Run",
    "RunFailed",
    "SearchRow",
]
