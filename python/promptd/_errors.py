"""What can go wrong, each with what is needed to find out why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional

if TYPE_CHECKING:
    from ._client import Run


class PromptdError(Exception):
    """The base of everything that this package raises."""


class ApiError(PromptdError):
    """The server answered with an error."""

    def __init__(self, message: str, *, code: str, http_status: int, data: Any, request_id: Optional[str]) -> None:
        super().__init__(message)
        self.code = code
        self.http_status = http_status
        self.data = data
        #: Names this request in the server's log; None when a proxy took it away.
        self.request_id = request_id

    @property
    def run_id(self) -> Optional[str]:
        """The run that goes on after a GATEWAY_TIMEOUT_ERROR."""
        known = self.code == "GATEWAY_TIMEOUT_ERROR" and isinstance(self.data, dict)
        return self.data.get("runId") if known else None

    @property
    def issues(self) -> List[Any]:
        """What is wrong with the request, one entry for each fault."""
        known = self.code == "VALIDATION_ERROR" and isinstance(self.data, dict)
        return self.data.get("issues", []) if known else []


class ConnectionLost(PromptdError):
    """No answer of promptd arrived. Whether the server acted is unknown."""


class RunFailed(PromptdError):
    """The run was made and failed; it costs nothing."""

    def __init__(self, run: "Run") -> None:
        errors = [item["data"] for item in run.outputs if item["type"] == "error"]
        super().__init__(errors[0] if errors else "The run failed.")
        self.run = run
        self.request_id = run.request_id
