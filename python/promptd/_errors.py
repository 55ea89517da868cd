"""Errors, with the details needed to find their cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Type

if TYPE_CHECKING:
    from ._client import Run


class PromptdError(Exception):
    """The base class of the errors that this package defines."""

    def __reduce__(self) -> Any:
        # Pickle would pass only the message to __init__, so an error could not leave a worker process.
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: Type[PromptdError], args: Tuple[Any, ...], members: Dict[str, Any]) -> PromptdError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(members)
    return error


class ApiError(PromptdError):
    """The server answered with an error."""

    def __init__(self, message: str, *, code: str, http_status: int, data: Any, request_id: Optional[str]) -> None:
        super().__init__(message)
        self.code = code
        self.http_status = http_status
        self.data = data
        #: Identifies this request in the server's log; None if a proxy removed it.
        self.request_id = request_id

    @property
    def run_id(self) -> Optional[str]:
        """The run that continues after a GATEWAY_TIMEOUT_ERROR."""
        known = self.code == "GATEWAY_TIMEOUT_ERROR" and isinstance(self.data, dict)
        return self.data.get("runId") if known else None

    @property
    def issues(self) -> List[Any]:
        """The problems of the request, one entry each."""
        known = self.code == "VALIDATION_ERROR" and isinstance(self.data, dict)
        return self.data.get("issues", []) if known else []


class ConnectionLost(PromptdError):
    """No response from promptd arrived. The server may have acted."""


class RunFailed(PromptdError):
    """The run was created and failed; it costs nothing."""

    def __init__(self, run: "Run") -> None:
        errors = [item["data"] for item in run.outputs if item["type"] == "error"]
        super().__init__(errors[0] if errors else "The run failed.")
        self.run = run
        self.request_id = run.request_id
