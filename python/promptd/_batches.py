"""Batches: many runs of one prompt, each made once."""

from __future__ import annotations

import http.client
import json
import secrets
import time
import urllib.error
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ._errors import ApiError, ConnectionLost
from ._generated import Batch, BatchResult

if TYPE_CHECKING:
    from ._client import Client, Value

#: Ten thousand items are checked and stored before the answer.
_CREATE_TIME = 60.0
#: The server reads a page of results in far less.
_SILENCE_MAX = 30.0
_POLL = 1.0


class Batches:
    """The batches of an account, as client.batches."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def create(
        self,
        prompt: str,
        items: Sequence[Mapping[str, Any]],
        *,
        options: Optional[Mapping[str, "Value"]] = None,
        name: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Batch:
        """Create a batch of up to 10,000 runs; the server starts them a few at a time.

        items: each has inputs, and may have images and a key of its own, which its result has too.
        idempotency_key: names the batch; the same call with the same key finds it. Raises ApiError when items cannot
        be run: its issues name each by its index, and nothing is created then.
        """
        given = {
            "items": [self._item(item) for item in items],
            "runOptions": self._client._texts("Option", options),
            "name": name,
        }
        body = {"promptVersionId": self._client.prompt(prompt)["promptVersionId"], **given}
        headers = {"idempotency-key": idempotency_key or secrets.token_hex(16)}
        timeout = self._client._timeout + _CREATE_TIME
        created: Batch = self._client._call(
            "createBatch", body=body, headers=headers, repeatable=True, timeout=timeout
        ).data
        return created

    def run(
        self,
        prompt: str,
        items: Sequence[Mapping[str, Any]],
        *,
        options: Optional[Mapping[str, "Value"]] = None,
        name: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        on_progress: Optional[Callable[[Batch], None]] = None,
    ) -> Batch:
        """The same, and wait until nothing of it is open any more. Read what came of it with results."""
        created = self.create(prompt, items, options=options, name=name, idempotency_key=idempotency_key)
        return self.wait(created["batchId"], on_progress=on_progress)

    def wait(self, batch_id: str, *, on_progress: Optional[Callable[[Batch], None]] = None) -> Batch:
        """Poll a batch until its end, also while it is paused."""
        seen: Optional[Batch] = None
        while True:
            batch = self.get(batch_id)
            if batch != seen and on_progress is not None:
                on_progress(batch)
            if batch["finishedAt"] is not None:
                return batch
            seen = batch
            self._client._sleep(_POLL)

    def get(self, batch_id: str) -> Batch:
        batch: Batch = self._client._call("getBatch", {"batchId": batch_id}).data
        return batch

    def list(self, *, limit: int = 10, starting_after: Optional[str] = None) -> List[Batch]:
        """A page of batches, newest first."""
        query = {"limit": str(limit), **({} if starting_after is None else {"startingAfter": starting_after})}
        rows: List[Batch] = self._client._call("listBatches", query=query).data["rows"]
        return rows

    def results(self, batch_id: str, *, starting_after: Optional[int] = None) -> Iterator[BatchResult]:
        """Items that have ended, in their order. After a lost connection or a 429 it goes on behind the last item."""
        failed_before, paused, failing_since = 0, 0.0, 0.0
        while True:
            try:
                for result in self._read(batch_id, starting_after):
                    yield result
                    starting_after, failed_before, paused = result["index"], 0, 0.0
                return
            except (ApiError, ConnectionLost) as error:
                if failed_before == 0:
                    failing_since = time.monotonic()
                pause = self._client._pause(error, True, failed_before)
                if pause is None:
                    raise
                paused += pause
                if max(paused, time.monotonic() - failing_since) > self._client._retry_for:
                    raise
            failed_before += 1
            self._client._sleep(pause)

    def cancel(self, batch_id: str) -> Batch:
        """Nothing of it is started any more, and its runs are canceled."""
        batch: Batch = self._client._call("cancelBatch", {"batchId": batch_id}, repeatable=True).data
        return batch

    def resume(self, batch_id: str) -> Batch:
        """Go on with a paused batch, with this client's API key."""
        batch: Batch = self._client._call("resumeBatch", {"batchId": batch_id}, repeatable=True).data
        return batch

    def _item(self, item: Mapping[str, Any]) -> Dict[str, Any]:
        unknown = sorted(set(item) - {"inputs", "images", "key"})
        if unknown:
            raise ValueError(f"An item has inputs, images and key, not {', '.join(unknown)}.")
        images = [self._client._image(image) for image in item.get("images", ())]
        inputs = {"textInputs": self._client._texts("Input", item.get("inputs")), "imageInputs": images}
        return {"inputs": inputs, "key": item.get("key")}

    def _read(self, batch_id: str, starting_after: Optional[int]) -> Iterator[BatchResult]:
        query = {} if starting_after is None else {"startingAfter": str(starting_after)}
        headers = {"accept": "application/x-ndjson"}
        request = self._client._request("getBatchResults", {"batchId": batch_id}, query, None, headers)
        try:
            try:
                response = self._client._opener.open(request, timeout=_SILENCE_MAX)
            except urllib.error.HTTPError as error:
                with error:
                    self._client._read(error.code, error.headers, error.read())
                return
            with response:
                for line in response:
                    if not line.endswith(b"\n"):
                        raise OSError("the last line was cut")
                    result: BatchResult = json.loads(line)
                    yield result
                if getattr(response, "length", None):  # bytes that were announced and have not come
                    raise OSError("the answer was cut")
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionLost(f"The results of the batch {batch_id} broke off: {error}") from error
