"""Runs of prompts: created once, waited for, followed."""

from __future__ import annotations

import base64
import collections.abc
import dataclasses
import http.client
import json
import math
import os
import random
import re
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request
import warnings
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._batches import Batches
from ._errors import ApiError, ConnectionLost, RunFailed
from ._generated import ENDPOINTS, RETRY_RULES, OutputItem, PromptVersion, SearchRow

Value = Union[str, int, float, bool, Sequence[Union[str, int, float]]]
Image = Union[str, "os.PathLike[str]", bytes]

#: A server that wants a longer pause is better shown to the caller than waited for.
_RETRY_AFTER_MAX = 60.0
_BACKOFF_BASE = 0.5
_BACKOFF_CAP = 8.0
#: Below the time after which common proxies give up (60 seconds).
_WAIT_SECONDS = 30
#: The server sends something on a stream every ten seconds.
_SILENCE_MAX = 30.0
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Run:
    """A run that is final."""

    run_id: str
    run_status: str
    outputs: List[OutputItem]
    #: Credits charged.
    tokens: int
    #: Names of inputs and options that had no effect.
    ignored: List[str]
    #: Names the request that created the run.
    request_id: Optional[str]

    def _of(self, kind: str) -> List[str]:
        return [item["data"] for item in self.outputs if item["type"] == kind]

    @property
    def text(self) -> str:
        """The text outputs, with a blank line between them."""
        return "\n\n".join(self._of("text"))

    @property
    def images(self) -> List[str]:
        """Addresses of generated images, valid for 24 hours."""
        return self._of("image")

    @property
    def videos(self) -> List[str]:
        """Addresses of generated videos, valid for 24 hours."""
        return self._of("video")


@dataclasses.dataclass(frozen=True)
class Event:
    """One event of a run: status, text, output or done."""

    event: str
    data: Dict[str, Any]
    id: Optional[str] = None


@dataclasses.dataclass
class _Answer:
    data: Any
    headers: Mapping[str, str]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect could carry the key to another host; the server never sends one."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Client:
    """A client of one server.

    base_url: such as http://127.0.0.1:8787.
    retry_for: how many seconds a request is sent again while the server cannot be reached or says to come back.
    timeout: seconds for one answer, not counting the server's own wait for a run.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        retry_for: float = 120.0,
        timeout: float = 30.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not re.match(r"https?://", base_url):
            raise ValueError(f"The base URL must begin with http:// or https://, got {base_url!r}.")
        self._base = re.sub(r"/+$", "", base_url)
        self._base = re.sub(r"/v1$", "", self._base)
        self._key = api_key
        self._retry_for = retry_for
        self._timeout = timeout
        self._sleep = sleep
        self._opener = urllib.request.build_opener(_NoRedirect)
        #: Many runs of one prompt.
        self.batches = Batches(self)

    # What there is.

    def search(self, words: str) -> List[SearchRow]:
        """Published prompts that fit the words, best first."""
        rows: List[SearchRow] = self._call("searchPrompts", query={"q": words}).data["rows"]
        return rows

    def prompt(self, name: str) -> PromptVersion:
        """The version that a slug, a slug with a label (slug@label) or an id leads to."""
        if not _ID.fullmatch(name):
            slug, at, label = name.partition("@")
            query = {"label": label} if at else {}
            found: PromptVersion = self._call("resolveSlug", {"slug": slug}, query=query).data
            return found
        try:
            version: PromptVersion = self._call("getPromptVersion", {"promptVersionId": name}).data
        except ApiError as error:
            if error.code != "NOT_FOUND_ERROR":
                raise
            version = self._call("getPrompt", {"promptId": name}).data
        return version

    def credits(self) -> int:
        """What can be spent now."""
        amount: int = self._call("getCredits").data["credits"]
        return amount

    # Runs.

    def run(
        self,
        prompt: str,
        *,
        inputs: Optional[Mapping[str, Value]] = None,
        images: Sequence[Image] = (),
        options: Optional[Mapping[str, Value]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Run:
        """Run a prompt once and wait for its outputs, whatever breaks in between.

        Raises RunFailed when the run fails, ApiError when the server refuses it.
        """
        body = self._body(prompt, inputs, images, options)
        created, request_id, ignored = self._create(body, f"respond-async, wait={_WAIT_SECONDS}", idempotency_key)
        while created["runStatus"] not in ("succeeded", "failed"):
            created = self._poll(created["runId"])
        return _finish(created, request_id, ignored)

    def stream(
        self,
        prompt: str,
        *,
        inputs: Optional[Mapping[str, Value]] = None,
        images: Sequence[Image] = (),
        options: Optional[Mapping[str, Value]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Iterator[Event]:
        """The same, with each event as it happens; the last one is "done", with the run. Raises as run does."""
        body = self._body(prompt, inputs, images, options)
        created, request_id, ignored = self._create(body, "respond-async, stream", idempotency_key)
        run_id = created["runId"]
        last_id: Optional[str] = None
        while created["runStatus"] not in ("succeeded", "failed"):
            for event in self._follow(run_id, last_id):
                last_id = event.id or last_id
                if event.event == "done":
                    created = event.data
                else:
                    yield event
            if created["runStatus"] not in ("succeeded", "failed"):
                created = self._poll(run_id)
        yield Event("done", created)
        _finish(created, request_id, ignored)

    def cancel(self, run_id: str) -> None:
        """Cancel a run that is not final; it costs nothing."""
        self._call("cancelRun", {"runId": run_id}, repeatable=True)

    def _body(
        self,
        prompt: str,
        inputs: Optional[Mapping[str, Value]],
        images: Sequence[Image],
        options: Optional[Mapping[str, Value]],
    ) -> Dict[str, Any]:
        given = {
            "inputs": {"textInputs": self._texts("Input", inputs), "imageInputs": [self._image(image) for image in images]},
            "runOptions": self._texts("Option", options),
        }
        return {"promptVersionId": self.prompt(prompt)["promptVersionId"], **given}

    def _create(self, body: Dict[str, Any], prefer: str, key: Optional[str]) -> Tuple[Dict[str, Any], Optional[str], List[str]]:
        headers = {"prefer": prefer, "idempotency-key": key or secrets.token_hex(16)}
        try:
            answer = self._call("createRun", body=body, headers=headers, repeatable=True, timeout=self._timeout + _WAIT_SECONDS)
        except ApiError as error:
            if error.run_id is None:
                raise
            # The run goes on; creating it again would run and charge twice.
            return {"runId": error.run_id, "runStatus": "running"}, error.request_id, []
        ignored = [urllib.parse.unquote(name.strip()) for name in answer.headers.get("x-ignored", "").split(",") if name.strip()]
        if ignored:
            names = ", ".join(repr(name) for name in ignored)
            warnings.warn(f"The run {answer.data['runId']} ignored {names}: the prompt has no such input or option.", stacklevel=3)
        return answer.data, answer.headers.get("x-request-id"), ignored

    def _poll(self, run_id: str) -> Dict[str, Any]:
        wait = {"prefer": f"wait={_WAIT_SECONDS}"}
        answer = self._call("getRun", {"runId": run_id}, headers=wait, timeout=self._timeout + _WAIT_SECONDS)
        run: Dict[str, Any] = answer.data
        is_final = run["runStatus"] in ("succeeded", "failed")
        if not is_final:
            self._sleep(0.25 if "wait" in answer.headers.get("preference-applied", "") else 2.0)
        return run

    def _follow(self, run_id: str, last_id: Optional[str]) -> Iterator[Event]:
        """The events of one connection; it may end early, and a poll then says how the run is."""
        headers = {"accept": "text/event-stream", **({} if last_id is None else {"last-event-id": last_id})}
        request = self._request("followRun", {"runId": run_id}, {}, None, headers)
        fields: Dict[str, str] = {}
        try:
            with self._opener.open(request, timeout=_SILENCE_MAX) as response:
                if "text/event-stream" not in response.headers.get("content-type", ""):
                    return
                for raw in response:
                    line = raw.decode("utf-8").rstrip("\r\n")
                    if line:
                        name, _, value = line.partition(": ")
                        fields[name] = value
                        continue
                    if "event" in fields:
                        yield Event(fields["event"], json.loads(fields.get("data", "null")), fields.get("id"))
                    fields = {}
        except (OSError, http.client.HTTPException):
            return

    # Requests, shared with the batches.

    @staticmethod
    def _texts(what: str, values: Optional[Mapping[str, Value]]) -> Dict[str, str]:
        """what: what they are called in an error, such as "Input"."""
        return {name: _text(f'{what} "{name}"', value) for name, value in (values or {}).items()}

    @staticmethod
    def _image(image: Image) -> Dict[str, str]:
        if isinstance(image, str) and re.match(r"https?:", image, re.IGNORECASE):
            return {"type": "url", "url": image}
        if not isinstance(image, bytes):
            with open(image, "rb") as file:
                image = file.read()
        return {"type": "base64", "base64": base64.b64encode(image).decode("ascii")}

    @staticmethod
    def _read(status: int, headers: Any, content: bytes) -> _Answer:
        """Raises ApiError for an error envelope."""
        return _read(status, headers, content)

    @staticmethod
    def _pause(error: Union[ApiError, ConnectionLost], may_repeat: bool, failed_before: int) -> Optional[float]:
        """Seconds until it is tried again; None: it is not."""
        return _pause(error, may_repeat, failed_before)

    def _call(
        self,
        name: str,
        params: Optional[Mapping[str, str]] = None,
        *,
        query: Optional[Mapping[str, str]] = None,
        body: Any = None,
        headers: Optional[Mapping[str, str]] = None,
        repeatable: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> _Answer:
        """One call, sent again as the specification says (see RETRY_RULES)."""
        request = self._request(name, params or {}, query or {}, body, headers or {})
        may_repeat = ENDPOINTS[name][0] != "POST" if repeatable is None else repeatable
        started, paused, failed_before = time.monotonic(), 0.0, 0
        while True:
            try:
                return self._send(request, timeout or self._timeout)
            except (ApiError, ConnectionLost) as error:
                pause = _pause(error, may_repeat, failed_before)
                if pause is None:
                    raise
                paused += pause
                if max(paused, time.monotonic() - started) > self._retry_for:
                    raise
            failed_before += 1
            self._sleep(pause)

    def _request(
        self, name: str, params: Mapping[str, str], query: Mapping[str, str], body: Any, headers: Mapping[str, str]
    ) -> urllib.request.Request:
        method, path = ENDPOINTS[name]
        for key, value in params.items():
            if value in ("", ".", ".."):
                raise ValueError(f"{key} must be an id, got {value!r}.")
            path = path.replace(f":{key}", urllib.parse.quote(value, safe=""))
        url = self._base + path + (f"?{urllib.parse.urlencode(query)}" if query else "")
        data = None if body is None else json.dumps(body).encode("utf-8")
        all_headers = {"authorization": f"Bearer {self._key}", "accept": "application/json", **headers}
        if data is not None:
            all_headers["content-type"] = "application/json"
        return urllib.request.Request(url, data=data, headers=all_headers, method=method)

    def _send(self, request: urllib.request.Request, timeout: float) -> _Answer:
        try:
            try:
                response = self._opener.open(request, timeout=timeout)
            except urllib.error.HTTPError as error:
                response = error
            with response:
                return _read(response.status, response.headers, response.read())
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionLost(f"No connection to {self._base}: {getattr(error, 'reason', error)}") from error


def _read(status: int, headers: Any, content: bytes) -> _Answer:
    lower = {name.lower(): value for name, value in headers.items()}
    try:
        envelope = json.loads(content)
        code, data = envelope["status"], envelope["data"]
    except (ValueError, KeyError, TypeError):
        code = None
    if code == "SUCCESS" and 200 <= status < 300:
        return _Answer(data, lower)
    if code not in RETRY_RULES or 200 <= status < 300:
        start = content[:200].decode("utf-8", "replace")
        lost = ConnectionLost(f"The answer is not one of a promptd server (HTTP {status}): {start}")
        setattr(lost, "final", status < 500)
        raise lost
    error = ApiError(
        envelope["message"], code=code, http_status=status, data=data, request_id=lower.get("x-request-id")
    )
    setattr(error, "retry_after", _seconds(lower))
    setattr(error, "final", lower.get("x-should-retry") == "false")
    raise error


def _pause(error: Union[ApiError, ConnectionLost], may_repeat: bool, failed_before: int) -> Optional[float]:
    """Seconds until the request is sent again; None: it is not."""
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


def _finish(run: Mapping[str, Any], request_id: Optional[str], ignored: List[str]) -> Run:
    finished = Run(run["runId"], run["runStatus"], list(run["outputs"]), run["tokens"], ignored, request_id)
    if finished.run_status == "failed":
        raise RunFailed(finished)
    return finished


def _text(what: str, value: Value) -> str:
    """The server takes the items of a list one a line or separated by commas.

    what: whose value it is. Raises TypeError for what has no text of its own: that would be run, and charged, as nonsense.
    """
    plain = _plain(value)
    if plain is not None:
        return plain
    is_bytes = isinstance(value, (bytes, bytearray, memoryview))
    if is_bytes or not isinstance(value, collections.abc.Sequence):
        raise _refusal(what, _kind(value))
    items = []
    for item in value:
        text = _plain(item)
        if text is None:
            raise _refusal(what, f"a list with {_kind(item)}")
        items.append(text)
    return ("\n" if any("," in item for item in items) else ",").join(items)


def _plain(value: object) -> Optional[str]:
    """None: it is neither a text, a number nor a boolean."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, (str, int, float)) else None


def _kind(value: object) -> str:
    return "None" if value is None else str(value) if isinstance(value, float) else type(value).__name__


def _refusal(what: str, kind: str) -> TypeError:
    return TypeError(f"{what} must be a text, number, boolean or list, got {kind}.")
