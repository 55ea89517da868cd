"""Tests the client against a real HTTP server that answers from a script, line by line. Run: python3 -m unittest"""

from __future__ import annotations

import http.server
import itertools
import json
import pathlib
import pickle
import tempfile
import threading
import unittest
import unittest.mock
import warnings
from typing import Any, Dict, List, Optional, Tuple

from promptd import ApiError, Client, ConnectionLost, Run, RunFailed

ID = "01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a"
VERSION = "01a1f874-0000-7d21-a4c8-5b7e11f20d3a"
#: Status, body, headers; None breaks the connection.
Line = Optional[Tuple[int, str, Dict[str, str]]]


def success(data: Any, **headers: str) -> Line:
    return 200, json.dumps({"status": "SUCCESS", "data": data}), _named(headers)


def failure(status: int, code: str, data: Any = None, **headers: str) -> Line:
    return status, json.dumps({"status": code, "message": f"{code} happened.", "data": data}), _named(headers)


def page(status: int) -> Line:
    return status, "<html>Gateway</html>", {"content-type": "text/html"}


def _named(headers: Dict[str, str]) -> Dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def run(status: str) -> Dict[str, Any]:
    outputs = {"succeeded": [{"type": "text", "data": "Hello."}], "failed": [{"type": "error", "data": "Refused."}]}
    return {"runId": ID, "outputs": outputs.get(status, []), "runStatus": status, "tokens": 12}


FOUND = success({"promptVersionId": VERSION})


class Scripted:
    """A server that answers from the script and repeats its last line."""

    def __init__(self, script: List[Line]) -> None:
        self.seen: List[Tuple[str, str, Dict[str, str], Any]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def _answer(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                headers = {name.lower(): value for name, value in self.headers.items()}
                outer.seen.append((self.command, self.path, headers, body))
                line = script[min(len(outer.seen), len(script)) - 1]
                if line is None:
                    self.close_connection = True
                    return
                status, text, more = line
                self.send_response(status)
                for name, value in {"content-type": "application/json", **more}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(text.encode()) + int(more.get("x-cut", "0"))))
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = _answer

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.pauses: List[float] = []
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.client = Client(self.url + "/v1/", "pd_test", sleep=self.pauses.append)

    @property
    def lines(self) -> List[str]:
        return [f"{method} {path}" for method, path, _, _ in self.seen]

    def __enter__(self) -> "Scripted":
        return self

    def __exit__(self, *_: Any) -> None:
        self.server.shutdown()
        self.server.server_close()


class RunTest(unittest.TestCase):
    def test_sends_inputs_as_strings_and_warns_about_ignored_names(self) -> None:
        finished = success(run("succeeded"), x_request_id="r-7", x_ignored="topik, Child%27s%20Age")
        with Scripted([FOUND, finished]) as server, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            inputs = {"topic": "tea", "age": 7, "polite": True, "tags": ["a", "b"], "items": ["a,b", "c"]}
            result = server.client.run("cat-poem@production", inputs=inputs, options={"quality": "high"})
        self.assertEqual(("Hello.", "r-7", ["topik", "Child's Age"]), (result.text, result.request_id, result.ignored))
        self.assertIn("ignored 'topik', \"Child's Age\"", str(caught[0].message))
        self.assertEqual(__file__, caught[0].filename)
        self.assertEqual("GET /v1/prompt-slugs/cat-poem?label=production", server.lines[0])
        _, _, headers, body = server.seen[1]
        texts = {"topic": "tea", "age": "7", "polite": "true", "tags": "a,b", "items": "a,b\nc"}
        self.assertEqual(texts, body["inputs"]["textInputs"])
        self.assertEqual({"quality": "high"}, body["runOptions"])
        self.assertEqual("Bearer pd_test", headers["authorization"])

    def test_refuses_a_value_that_is_not_a_valid_input_by_name_before_sending_anything(self) -> None:
        wrong: Dict[str, Any] = {
            "bytes": b"abc", "dict": {"k": 1}, "None": None, "nan": float("nan"), "set": {1}, "a list with None": [1, None],
        }
        with Scripted([FOUND, success(run("succeeded"))]) as server:
            for kind, value in wrong.items():
                message = f'^Input "topic" must be a string, number, boolean, or list, got {kind}\\.$'
                with self.subTest(kind), self.assertRaisesRegex(TypeError, message):
                    server.client.run("cat-poem", inputs={"topic": value})
                with self.subTest(kind), self.assertRaisesRegex(TypeError, message):
                    server.client.batches.create("cat-poem", [{"inputs": {"topic": value}}])
            with self.assertRaisesRegex(TypeError, '^Option "quality" must'):
                server.client.run("cat-poem", options={"quality": wrong["None"]})
        self.assertEqual([], server.seen)

    def test_a_client_without_a_key_is_refused_immediately(self) -> None:
        with self.assertRaisesRegex(ValueError, "api_key must be an API key"):
            Client("http://127.0.0.1:8787", api_key="")

    def test_a_key_from_a_file_may_end_with_a_line_break(self) -> None:
        with Scripted([success({"credits": 5})]) as server:
            client = Client(server.url, api_key="pd_x\n")
            self.assertEqual(5, client.credits())
        self.assertEqual("Bearer pd_x", server.seen[0][2]["authorization"])

    def test_a_key_that_was_not_copied_completely_is_refused_immediately_and_not_printed(self) -> None:
        for key in ["pd_01234…6789", "pd_x y", "pd_x\ny"]:
            with self.subTest(key), self.assertRaisesRegex(ValueError, "^api_key contains a space, a line break, or"):
                Client("http://127.0.0.1:1", api_key=key)

    def test_a_base_url_without_a_valid_host_and_port_is_refused_immediately(self) -> None:
        for url in ["http://", "http://127.0.0.1:port", "http://127.0.0.1 x", "http://127.0.0.1:99999"]:
            with self.subTest(url), self.assertRaisesRegex(ValueError, "^The base URL must name a host"):
                Client(url, api_key="pd_x")

    def test_errors_can_leave_a_worker_process(self) -> None:
        failed = RunFailed(Run(ID, "failed", [{"type": "error", "data": "Refused."}], 0, [], "r"))
        refused = ApiError("m", code="NOT_FOUND_ERROR", http_status=404, data=None, request_id="r")
        for error in [failed, refused, ConnectionLost("m")]:
            copy = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(error), str(error), vars(error)), (type(copy), str(copy), vars(copy)))

    def test_leaves_it_to_the_server_to_refuse_an_empty_label(self) -> None:
        with Scripted([failure(422, "VALIDATION_ERROR")]) as server, self.assertRaises(ApiError):
            server.client.run("cat-poem@")
        self.assertEqual(["GET /v1/prompt-slugs/cat-poem?label="], server.lines)

    def test_creates_one_run_whatever_fails(self) -> None:
        busy = failure(429, "TOO_MANY_REQUESTS_ERROR", retry_after="1")
        timed_out = failure(504, "GATEWAY_TIMEOUT_ERROR", {"runId": ID}, x_should_retry="false", x_request_id="r-504")
        waited = success(run("running"), preference_applied="wait=30")
        script = [FOUND, *[busy] * 20, None, page(504), failure(500, "SERVER_ERROR"), timed_out]
        with Scripted([*script, None, *[busy] * 20, page(502), waited, success(run("succeeded"))]) as server:
            result = server.client.run("cat-poem")
        self.assertEqual(("Hello.", "r-504"), (result.text, result.request_id))
        creates = [headers for method, _, headers, _ in server.seen if method == "POST"]
        self.assertEqual(24, len(creates))
        self.assertEqual(1, len({headers["idempotency-key"] for headers in creates}))
        self.assertEqual({f"GET /v1/runs/{ID}"}, set(server.lines[25:]))

    def test_a_cut_off_error_response_is_a_lost_connection(self) -> None:
        cut = failure(503, "SERVER_ERROR", x_cut="10")
        with Scripted([FOUND, cut, success(run("succeeded"))]) as server:
            self.assertEqual("Hello.", server.client.run("cat-poem").text)
        self.assertEqual(["POST /v1/runs"] * 2, server.lines[1:])

    def test_gives_up_when_retry_for_has_passed(self) -> None:
        with Scripted([failure(429, "TOO_MANY_REQUESTS_ERROR", retry_after="50")]) as server:
            with self.assertRaises(ApiError) as raised:
                server.client.credits()
        self.assertEqual("TOO_MANY_REQUESTS_ERROR", raised.exception.code)
        self.assertEqual(3, len(server.seen))

    def test_warns_once_that_the_server_does_not_respond_and_keeps_trying(self) -> None:
        pauses: List[float] = []
        client = Client("http://127.0.0.1:1", "pd_test", sleep=pauses.append)
        with warnings.catch_warnings(record=True) as caught, self.assertRaises(ConnectionLost):
            warnings.simplefilter("always")
            client.run("cat-poem")
        self.assertGreater(sum(pauses), 60)
        self.assertEqual([__file__], [warning.filename for warning in caught])
        self.assertRegex(str(caught[0].message), "^Still trying. No connection to http://127.0.0.1:1: ")

    def test_warns_when_the_first_response_does_not_arrive(self) -> None:
        minutes = itertools.count(0.0, 60.0)
        with Scripted([None, success({"credits": 5})]) as server, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with unittest.mock.patch("promptd._transport.time.monotonic", lambda: next(minutes)):
                self.assertEqual(5, server.client.credits())
        self.assertRegex(str(caught[0].message), "^Still trying. No connection to ")

    def test_a_failed_run_raises_an_error_that_has_the_run(self) -> None:
        with Scripted([FOUND, success(run("failed"), x_request_id="r-3")]) as server:
            with self.assertRaisesRegex(RunFailed, "Refused.") as raised:
                server.client.run("cat-poem")
        self.assertEqual((ID, "r-3"), (raised.exception.run.run_id, raised.exception.request_id))

    def test_a_refused_request_is_not_retried(self) -> None:
        issue = {"path": ["body"], "code": "required", "message": "m"}
        with Scripted([FOUND, failure(422, "VALIDATION_ERROR", {"issues": [issue]})]) as server:
            with self.assertRaises(ApiError) as raised:
                server.client.run("cat-poem")
        self.assertEqual([issue], raised.exception.issues)
        self.assertEqual(2, len(server.seen))

    def test_another_service_is_not_mistaken_for_promptd(self) -> None:
        with Scripted([page(200)]) as server, self.assertRaisesRegex(ConnectionLost, "HTTP 200"):
            server.client.credits()
        self.assertEqual(1, len(server.seen))

    def test_reads_a_run_in_any_state(self) -> None:
        with Scripted([success(run("queued"), x_request_id="r-9"), success(run("failed"))]) as server:
            queued, failed = server.client.get(ID), server.client.get(ID)
        self.assertEqual([f"GET /v1/runs/{ID}"] * 2, server.lines)
        self.assertEqual((ID, "queued", []), (queued.run_id, queued.run_status, queued.outputs))
        self.assertEqual("failed", failed.run_status)

    def test_refuses_inputs_and_images_in_the_wrong_container_before_sending_anything(self) -> None:
        with Scripted([FOUND]) as server:
            with self.assertRaisesRegex(TypeError, "^inputs must be a dict, got str\\.$"):
                server.client.run("cat-poem", inputs="tea")  # type: ignore[arg-type]
            with self.assertRaisesRegex(TypeError, "^images must be a list of images, got str\\.$"):
                server.client.run("cat-poem", images="cat.jpg")
            with self.assertRaisesRegex(TypeError, "^images must be a list of images, got bytes\\.$"):
                server.client.batches.create("cat-poem", [{"images": b"cat"}])
        self.assertEqual([], server.seen)

    def test_images_can_be_urls_paths_or_bytes(self) -> None:
        with tempfile.TemporaryDirectory() as directory, Scripted([FOUND, success(run("succeeded"))]) as server:
            path = pathlib.Path(directory, "cat.png")
            path.write_bytes(b"\x01\x02\xfa")
            url = "https://x.example/cat.png"
            data_url = "data:image/png;base64,AQL6"
            server.client.run("cat-poem", images=[url, path, str(path), b"\x01\x02\xfa", data_url])
        encoded = {"type": "base64", "base64": "AQL6"}
        self.assertEqual([{"type": "url", "url": url}, *[encoded] * 4], server.seen[1][3]["inputs"]["imageInputs"])


class StreamTest(unittest.TestCase):
    @staticmethod
    def events(*events: Tuple[str, Any, Optional[str]]) -> Line:
        lines = [f"event: {name}\n{f'id: {id}' + chr(10) if id else ''}data: {json.dumps(data)}\n\n" for name, data, id in events]
        return 200, "".join(lines), {"content-type": "text/event-stream"}

    def test_continues_after_the_last_text_when_the_stream_breaks(self) -> None:
        text = lambda words, id: ("text", {"index": 0, "call": 1, "text": words}, id)
        first = self.events(("status", {"runId": ID, "runStatus": "running"}, None), text("Hel", "3"))
        second = self.events(text("lo.", "6"), ("done", run("succeeded"), None))
        waited = success(run("running"), preference_applied="wait=30")
        with Scripted([FOUND, success(run("queued")), first, waited, second]) as server:
            events = list(server.client.stream("cat-poem"))
        self.assertEqual(["queued", "running", "succeeded"], [event.data["runStatus"] for event in events if event.event == "status"])
        self.assertEqual(["status", "status", "text", "text", "status", "output", "done"], [event.event for event in events])
        self.assertEqual("Hello.", "".join(event.data["text"] for event in events if event.event == "text"))
        self.assertEqual("3", server.seen[4][2]["last-event-id"])

    def test_yields_the_state_and_outputs_of_a_run_that_ends_immediately(self) -> None:
        with Scripted([FOUND, success(run("succeeded"))]) as server:
            status, output, done = server.client.stream("cat-poem")
        self.assertEqual(("status", {"runId": ID, "runStatus": "succeeded"}), (status.event, status.data))
        self.assertEqual(("output", {**run("succeeded")["outputs"][0], "index": 0}), (output.event, output.data))
        self.assertEqual(("done", run("succeeded")), (done.event, done.data))

    def test_yields_each_output_once(self) -> None:
        output = ("output", {**run("succeeded")["outputs"][0], "index": 0}, None)
        done = ("done", run("succeeded"), None)
        with Scripted([FOUND, success(run("queued")), self.events(output, done)]) as server:
            names = [event.event for event in server.client.stream("cat-poem")]
        self.assertEqual(["status", "output", "status", "done"], names)


class BatchTest(unittest.TestCase):
    @staticmethod
    def lines(*indexes: int, cut: int = 0) -> Line:
        text = "".join(json.dumps({"index": index, "status": "succeeded"}) + "\n" for index in indexes)
        return 200, text, {"content-type": "application/x-ndjson", "x-cut": str(cut), "connection": "close"}

    def test_results_continue_after_a_429_an_outage_and_a_cut(self) -> None:
        limited = failure(429, "TOO_MANY_REQUESTS_ERROR", retry_after="2")
        with Scripted([limited, page(502), self.lines(0, 1, cut=5), failure(500, "SERVER_ERROR"), self.lines(2)]) as server:
            results = list(server.client.batches.results(ID))
        self.assertEqual([0, 1, 2], [result["index"] for result in results])
        self.assertGreaterEqual(server.pauses[0], 2)
        self.assertEqual(f"GET /v1/batches/{ID}/results?startingAfter=1", server.lines[-1])

    def test_results_that_do_not_exist_are_not_requested_again(self) -> None:
        with Scripted([failure(404, "NOT_FOUND_ERROR")]) as server:
            with self.assertRaises(ApiError):
                list(server.client.batches.results(ID))
        self.assertEqual(1, len(server.seen))

    def test_results_give_up_when_retry_for_has_passed(self) -> None:
        with Scripted([page(502)]) as server:
            with self.assertRaises(ConnectionLost):
                list(server.client.batches.results(ID))
        self.assertGreater(sum(server.pauses), 60)


if __name__ == "__main__":
    unittest.main()
