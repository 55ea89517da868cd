"""Batches: many runs of one prompt, each created once."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence

from ._errors import ApiError, ConnectionLost
from ._generated import Batch, BatchResult
from ._inputs import Value, to_images, to_texts

if TYPE_CHECKING:
    from ._client import Client

#: The server checks and stores up to ten thousand items before it responds.
_CREATE_TIME = 60.0
_POLL = 1.0


class Batches:
    """The account's batches, available as client.batches."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._transport = client._transport

    def create(
        self,
        prompt: str,
        items: Sequence[Mapping[str, Any]],
        *,
        options: Optional[Mapping[str, Value]] = None,
        name: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Batch:
        """Create a batch of up to 10,000 runs. The server starts a few at a time.

        items: each has inputs, and optionally images and a key, which its result repeats.
        idempotency_key: identifies the batch; the same call with the same key finds it. Raises ApiError if items are
        invalid: its issues name each item by its index, and no batch is created.
        """
        given = {
            "items": [self._item(item) for item in items],
            "runOptions": to_texts("Option", options),
            "name": name,
        }
        body = {"promptVersionId": self._client.prompt(prompt)["promptVersionId"], **given}
        headers = {"idempotency-key": idempotency_key or secrets.token_hex(16)}
        timeout = self._transport.timeout + _CREATE_TIME
        created: Batch = self._transport.call(
            "createBatch", body=body, headers=headers, repeatable=True, timeout=timeout
        ).data
        return created

    def run(
        self,
        prompt: str,
        items: Sequence[Mapping[str, Any]],
        *,
        options: Optional[Mapping[str, Value]] = None,
        name: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        on_progress: Optional[Callable[[Batch], None]] = None,
    ) -> Batch:
        """Create a batch and wait until all of its items have ended. Read the results with results()."""
        created = self.create(prompt, items, options=options, name=name, idempotency_key=idempotency_key)
        return self.wait(created["batchId"], on_progress=on_progress)

    def wait(self, batch_id: str, *, on_progress: Optional[Callable[[Batch], None]] = None) -> Batch:
        """Poll a batch until it has ended, even while it is paused."""
        seen: Optional[Batch] = None
        while True:
            batch = self.get(batch_id)
            if batch != seen and on_progress is not None:
                on_progress(batch)
            if batch["finishedAt"] is not None:
                return batch
            seen = batch
            self._transport.sleep(_POLL)

    def get(self, batch_id: str) -> Batch:
        batch: Batch = self._transport.call("getBatch", {"batchId": batch_id}).data
        return batch

    def list(self, *, limit: int = 10, starting_after: Optional[str] = None) -> List[Batch]:
        """A page of batches, newest first."""
        query = {"limit": str(limit), **({} if starting_after is None else {"startingAfter": starting_after})}
        rows: List[Batch] = self._transport.call("listBatches", query=query).data["rows"]
        return rows

    def results(self, batch_id: str, *, starting_after: Optional[int] = None) -> Iterator[BatchResult]:
        """The finished items, in order. After a lost connection or a 429, it continues after the last item."""
        retries = self._transport.retries()
        while True:
            query = {} if starting_after is None else {"startingAfter": str(starting_after)}
            try:
                for line in self._transport.lines(
                    "getBatchResults", {"batchId": batch_id}, accept="application/x-ndjson", query=query
                ):
                    result: BatchResult = json.loads(line)
                    yield result
                    starting_after = result["index"]
                    retries.restart()
                return
            except (ApiError, ConnectionLost) as error:
                retries.next(error)

    def cancel(self, batch_id: str) -> Batch:
        """Start no further items and cancel the batch's unfinished runs."""
        batch: Batch = self._transport.call("cancelBatch", {"batchId": batch_id}, repeatable=True).data
        return batch

    def resume(self, batch_id: str) -> Batch:
        """Resume a paused batch with this client's API key."""
        batch: Batch = self._transport.call("resumeBatch", {"batchId": batch_id}, repeatable=True).data
        return batch

    @staticmethod
    def _item(item: Mapping[str, Any]) -> Dict[str, Any]:
        unknown = sorted(set(item) - {"inputs", "images", "key"})
        if unknown:
            raise ValueError(f"An item accepts inputs, images, and key, not {', '.join(unknown)}.")
        images = to_images(item.get("images", ()))
        inputs = {"textInputs": to_texts("Input", item.get("inputs")), "imageInputs": images}
        return {"inputs": inputs, "key": item.get("key")}
