"""Runs prompts: creates each run once, then waits for it or follows it."""

from __future__ import annotations

import dataclasses
import json
import re
import secrets
import time
import urllib.parse
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ._batches import Batches
from ._errors import ApiError, ConnectionLost, RunFailed
from ._generated import ID_FORM, OutputItem, PromptVersion, SearchRow
from ._inputs import Image, Value, to_images, to_texts
from ._transport import Transport, warn

#: Below the timeout of common proxies (60 seconds).
_WAIT_SECONDS = 30
_ID = re.compile(ID_FORM, re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Run:
    """A run. Its outputs are empty until it has succeeded or failed."""

    run_id: str
    run_status: str
    outputs: List[OutputItem]
    #: Credits charged.
    tokens: int
    #: Names of inputs and options that had no effect.
    ignored: List[str]
    #: Identifies the request that created the run, or that read it.
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
    """One event of a run: status, text, output, or done."""

    event: str
    data: Dict[str, Any]
    id: Optional[str] = None


class Client:
    """A client for one server.

    base_url: such as http://127.0.0.1:8787.
    retry_for: how many seconds to retry while the server is unreachable or asks to retry later.
    timeout: seconds to wait for a response, not counting the server's own wait for a run.
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
        self._transport = Transport(base_url, api_key, retry_for=retry_for, timeout=timeout, sleep=sleep)
        #: Many runs of one prompt.
        self.batches = Batches(self)

    # Prompts and credits.

    def search(self, words: str) -> List[SearchRow]:
        """Published prompts that match the words, best match first."""
        rows: List[SearchRow] = self._transport.call("searchPrompts", query={"q": words}).data["rows"]
        return rows

    def prompt(self, name: str) -> PromptVersion:
        """The version that a slug, a slug with a label (slug@label), or an id refers to."""
        if not _ID.fullmatch(name):
            slug, at, label = name.partition("@")
            query = {"label": label} if at else {}
            found: PromptVersion = self._transport.call("resolveSlug", {"slug": slug}, query=query).data
            return found
        try:
            version: PromptVersion = self._transport.call("getPromptVersion", {"promptVersionId": name}).data
        except ApiError as error:
            if error.code != "NOT_FOUND_ERROR":
                raise
            version = self._transport.call("getPrompt", {"promptId": name}).data
        return version

    def credits(self) -> int:
        """The credits that can be spent now."""
        amount: int = self._transport.call("getCredits").data["credits"]
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
        """Run a prompt once and wait for its outputs, even if requests fail in between.

        Raises RunFailed if the run fails, ApiError if the server rejects it.
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
        """Run a prompt and yield each event as it happens; the last event is "done", with the run. Raises like run."""
        body = self._body(prompt, inputs, images, options)
        run, request_id, ignored = self._create(body, "respond-async, stream", idempotency_key)
        status: Optional[str] = None
        shown: Set[int] = set()
        for event in self._events(run):
            if event.event == "status":
                if event.data["runStatus"] == status:
                    continue
                status = event.data["runStatus"]
            elif event.event == "output":
                if event.data["index"] in shown:
                    continue
                shown.add(event.data["index"])
            elif event.event == "done":
                run = event.data
            yield event
        _finish(run, request_id, ignored)

    def get(self, run_id: str) -> Run:
        """A run as it is now, in any state, even a failed one."""
        answer = self._transport.call("getRun", {"runId": run_id})
        return _to_run(answer.data, answer.headers.get("x-request-id"), [])

    def cancel(self, run_id: str) -> None:
        """Cancel a run that is not final; it costs nothing."""
        self._transport.call("cancelRun", {"runId": run_id}, repeatable=True)

    def _body(
        self,
        prompt: str,
        inputs: Optional[Mapping[str, Value]],
        images: Sequence[Image],
        options: Optional[Mapping[str, Value]],
    ) -> Dict[str, Any]:
        given = {
            "inputs": {"textInputs": to_texts("Input", inputs), "imageInputs": to_images(images)},
            "runOptions": to_texts("Option", options),
        }
        return {"promptVersionId": self.prompt(prompt)["promptVersionId"], **given}

    def _create(self, body: Dict[str, Any], prefer: str, key: Optional[str]) -> Tuple[Dict[str, Any], Optional[str], List[str]]:
        headers = {"prefer": prefer, "idempotency-key": key or secrets.token_hex(16)}
        try:
            answer = self._transport.call("createRun", body=body, headers=headers, repeatable=True, timeout=self._transport.timeout + _WAIT_SECONDS)
        except ApiError as error:
            if error.run_id is None:
                raise
            # The run continues; creating it again would run and charge twice.
            return {"runId": error.run_id, "runStatus": "running"}, error.request_id, []
        ignored = [urllib.parse.unquote(name.strip()) for name in answer.headers.get("x-ignored", "").split(",") if name.strip()]
        if ignored:
            names = ", ".join(repr(name) for name in ignored)
            warn(f"The run {answer.data['runId']} ignored {names}: the prompt has no such input or option.")
        return answer.data, answer.headers.get("x-request-id"), ignored

    def _poll(self, run_id: str) -> Dict[str, Any]:
        wait = {"prefer": f"wait={_WAIT_SECONDS}"}
        answer = self._transport.call("getRun", {"runId": run_id}, headers=wait, timeout=self._transport.timeout + _WAIT_SECONDS)
        run: Dict[str, Any] = answer.data
        is_final = run["runStatus"] in ("succeeded", "failed")
        if not is_final:
            self._transport.sleep(0.25 if "wait" in answer.headers.get("preference-applied", "") else 2.0)
        return run

    def _events(self, run: Dict[str, Any]) -> Iterator[Event]:
        """All events of a run, from its streams and from polls, which may repeat states and outputs."""
        last_id: Optional[str] = None
        yield _status(run)
        while run["runStatus"] not in ("succeeded", "failed"):
            for event in self._follow(run["runId"], last_id):
                last_id = event.id or last_id
                if event.event == "done":
                    run = event.data
                else:
                    yield event
            if run["runStatus"] not in ("succeeded", "failed"):
                run = self._poll(run["runId"])
                yield _status(run)
        yield _status(run)
        for index, item in enumerate(run["outputs"]):
            yield Event("output", {**item, "index": index})
        yield Event("done", run)

    def _follow(self, run_id: str, last_id: Optional[str]) -> Iterator[Event]:
        """The events of one connection. If it ends early, a poll then reads the run's state."""
        headers = {} if last_id is None else {"last-event-id": last_id}
        fields: Dict[str, str] = {}
        try:
            for raw in self._transport.lines("followRun", {"runId": run_id}, accept="text/event-stream", headers=headers):
                line = raw.decode("utf-8").rstrip("\r\n")
                if line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                    continue
                if "event" in fields:
                    yield Event(fields["event"], json.loads(fields.get("data", "null")), fields.get("id"))
                fields = {}
        except (ApiError, ConnectionLost):
            return


def _status(run: Mapping[str, Any]) -> Event:
    return Event("status", {"runId": run["runId"], "runStatus": run["runStatus"]})


def _to_run(run: Mapping[str, Any], request_id: Optional[str], ignored: List[str]) -> Run:
    return Run(run["runId"], run["runStatus"], list(run["outputs"]), run["tokens"], ignored, request_id)


def _finish(run: Mapping[str, Any], request_id: Optional[str], ignored: List[str]) -> Run:
    finished = _to_run(run, request_id, ignored)
    if finished.run_status == "failed":
        raise RunFailed(finished)
    return finished
