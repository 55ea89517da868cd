"""Sends requests and retries them as the specification says (see RETRY_RULES)."""

from __future__ import annotations

import dataclasses
import http.client
import json
import os
import random
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import warnings
from typing import Any, Callable, Iterator, Mapping, Optional, Union

from ._errors import ApiError, ConnectionLost
from ._generated import ENDPOINTS, RETRY_RULES

#: If the server asks for a longer pause, the caller gets the error instead.
_RETRY_AFTER_MAX = 60.0
_BACKOFF_BASE = 0.5
_BACKOFF_CAP = 8.0
#: A longer wait is explained with a warning.
_QUIET_MAX = 5.0
#: The server sends something on a stream every ten seconds.
_SILENCE_MAX = 30.0
_PACKAGE = os.path.dirname(__file__)

_Failure = Union[ApiError, ConnectionLost]


def warn(message: str) -> None:
    """Warn, and attribute the warning to a line of the caller's program."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


@dataclasses.dataclass
class Answer:
    data: Any
    headers: Mapping[str, str]


def _has_host(url: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(url)
        return bool(parts.hostname) and parts.port != 0 and re.search(r"\s", url) is None
    except ValueError:  # for example, the port is not a number
        return False


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect could carry the key to another host; the server never sends one."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Retries:
    """Decides after each failure of an operation whether and when to retry it."""

    def __init__(self, retry_for: float, sleep: Callable[[float], None]) -> None:
        self._retry_for = retry_for
        self._sleep = sleep
        self._is_quiet = True
        self.restart()

    def restart(self) -> None:
        """Data has arrived: the next failure counts as the first."""
        self._started, self._paused, self._failed_before = time.monotonic(), 0.0, 0

    def next(self, error: _Failure, may_repeat: bool = True) -> None:
        """Wait before the next retry, or raise the error if there is none."""
        pause = _pause(error, may_repeat, self._failed_before)
        if pause is None:
            raise error
        self._paused += pause
        spent = max(self._paused, time.monotonic() - self._started)
        if spent > self._retry_for:
            raise error
        if self._is_quiet and spent > _QUIET_MAX:
            self._is_quiet = False
            warn(f"Still trying. {error}")
        self._failed_before += 1
        self._sleep(pause)


class Transport:
    """The endpoints of one server, called with one key."""

    def __init__(
        self, base_url: str, api_key: str, *, retry_for: float, timeout: float, sleep: Callable[[float], None]
    ) -> None:
        if not re.match(r"https?://", base_url):
            raise ValueError(f"The base URL must begin with http:// or https://, got {base_url!r}.")
        if not _has_host(base_url):
            raise ValueError(f"The base URL must name a host and, if any, a port such as 8787, got {base_url!r}.")
        if not api_key:
            raise ValueError(f"api_key must be an API key (pd_…), got {api_key!r}.")
        if not re.fullmatch(r"[!-~]+", api_key.strip()):
            raise ValueError(
                "api_key contains a space, a line break, or another character that is not allowed. Copy all of the key."
            )
        self._base = re.sub(r"/v1$", "", re.sub(r"/+$", "", base_url))
        self._key = api_key.strip()
        self._retry_for = retry_for
        self.timeout = timeout
        self.sleep = sleep
        self._opener = urllib.request.build_opener(_NoRedirect)

    def retries(self) -> Retries:
        return Retries(self._retry_for, self.sleep)

    def call(
        self,
        name: str,
        params: Optional[Mapping[str, str]] = None,
        *,
        query: Optional[Mapping[str, str]] = None,
        body: Any = None,
        headers: Optional[Mapping[str, str]] = None,
        repeatable: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> Answer:
        """Send one request, with retries."""
        request = self._request(name, params or {}, query or {}, body, headers or {})
        may_repeat = ENDPOINTS[name][0] != "POST" if repeatable is None else repeatable
        retries = self.retries()
        while True:
            try:
                with self._open(request, timeout or self.timeout) as response:
                    return _read(response.status, response.headers, response.read())
            except (OSError, http.client.HTTPException) as error:
                retries.next(self._lost(error), may_repeat)
            except (ApiError, ConnectionLost) as error:
                retries.next(error, may_repeat)

    def lines(
        self,
        name: str,
        params: Mapping[str, str],
        *,
        accept: str,
        query: Optional[Mapping[str, str]] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Iterator[bytes]:
        """The complete lines of one response as they arrive. Raises ConnectionLost if the response breaks off."""
        request = self._request(name, params, query or {}, None, {"accept": accept, **(headers or {})})
        try:
            with self._open(request, _SILENCE_MAX) as response:
                if accept not in response.headers.get("content-type", ""):
                    _read(response.status, response.headers, response.read())
                    raise OSError(f"the response is not {accept}")
                for line in response:
                    if not line.endswith(b"\n"):
                        raise OSError("the last line is incomplete")
                    yield line
                if getattr(response, "length", None):  # announced bytes that did not arrive
                    raise OSError("the response is incomplete")
        except (OSError, http.client.HTTPException) as error:
            raise self._lost(error) from error

    def _open(self, request: urllib.request.Request, timeout: float) -> Any:
        """A response of any status."""
        try:
            return self._opener.open(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            return error

    def _lost(self, error: BaseException) -> ConnectionLost:
        lost = ConnectionLost(f"No connection to {self._base}: {getattr(error, 'reason', error)}")
        lost.__cause__ = error
        return lost

    def _request(
        self, name: str, params: Mapping[str, str], query: Mapping[str, str], body: Any, headers: Mapping[str, str]
    ) -> urllib.request.Request:
        method, path = ENDPOINTS[name]
        for key, value in params.items():
            if value in ("", ".", ".."):
                raise ValueError(f"{key} must be an id or a name, got {value!r}.")
            path = path.replace(f":{key}", urllib.parse.quote(value, safe=""))
        url = self._base + path + (f"?{urllib.parse.urlencode(query)}" if query else "")
        data = None if body is None else json.dumps(body).encode("utf-8")
        all_headers = {"authorization": f"Bearer {self._key}", "accept": "application/json", **headers}
        if data is not None:
            all_headers["content-type"] = "application/json"
        return urllib.request.Request(url, data=data, headers=all_headers, method=method)


def _read(status: int, headers: Any, content: bytes) -> Answer:
    """Parse a response. Raises ApiError for an error envelope, ConnectionLost if it is not from a promptd server."""
    lower = {name.lower(): value for name, value in headers.items()}
    try:
        envelope = json.loads(content)
        code, data = envelope["status"], envelope["data"]
    except (ValueError, KeyError, TypeError):
        code = None
    if code == "SUCCESS" and 200 <= status < 300:
        return Answer(data, lower)
    if code not in RETRY_RULES or 200 <= status < 300:
        start = content[:200].decode("utf-8", "replace")
        shown = f": {start}" if start else "."
        lost = ConnectionLost(f"The response is not from a promptd server (HTTP {status}){shown}")
        setattr(lost, "final", status < 500)
        raise lost
    error = ApiError(
        envelope["message"], code=code, http_status=status, data=data, request_id=lower.get("x-request-id")
    )
    setattr(error, "retry_after", _seconds(lower))
    setattr(error, "final", lower.get("x-should-retry") == "false")
    raise error


def _pause(error: _Failure, may_repeat: bool, failed_before: int) -> Optional[float]:
    """Seconds until the retry; None: do not retry."""
    if getattr(error, "final", False):
        return None
    backoff = random.random() * min(_BACKOFF_CAP, _BACKOFF_BASE * 2**failed_before)
    rule = RETRY_RULES[error.code] if isinstance(error, ApiError) else "backoff"
    if rule == "after-delay":
        asked: Optional[float] = getattr(error, "retry_after", None)
        wait = 1.0 if asked is None else asked
        return None if wait > _RETRY_AFTER_MAX else wait + random.random() * 0.25
    return backoff if rule == "backoff" and may_repeat else None


def _seconds(headers: Mapping[str, str]) -> Optional[float]:
    exact = headers.get("retry-after-ms", "")
    if re.fullmatch(r"[0-9.]+", exact):
        return float(exact) / 1000
    plain = headers.get("retry-after", "")
    return float(plain) if re.fullmatch(r"[0-9.]+", plain) else None
