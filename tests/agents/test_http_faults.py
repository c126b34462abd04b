"""What a service may do wrong: what is observed, whose fault it is, and what to do. A connection is never the agent's failure."""

import gzip
import json
import socket
import threading
import time
import tracemalloc

import pytest
from http_services import Service, answers, events, play, said, source, texted

from pytest_mapsat.agents import http


@pytest.fixture(scope="module")
def service():
    with Service().running() as service:
        yield service


@pytest.fixture
def fault(service, tmp_path):
    """Play an episode and return the ending, the blame and the message."""

    def fault(behave, form="json", **limits):
        trajectory = play(source(service.at(behave), tmp_path, http_form=form), **limits)
        return trajectory.ending, trajectory.fault.blame, trajectory.fault.message

    return fault


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(http, "_PAUSES", (0.01, 0.02))


LOST = ("infrastructure_error", "infrastructure")


def raw(*parts, pause=0.0):
    """Return a behaviour that writes bytes as they are and hangs up."""

    def behave(request):
        for part in parts:
            request.raw.wfile.write(part)
            time.sleep(pause)
        request.raw.close_connection = True

    return behave


class TestStatus:
    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (
                texted("Internal Server Error", status=500),
                "answered 500 Internal Server Error: Internal Server Error; its own log",
            ),
            (
                answers({"error": {"message": "boom"}}, 500),
                "answered 500 Internal Server Error: boom; its own log says more; run again",
            ),
            (
                texted("<html><title>502 Bad Gateway</title>", "text/html", 502),
                "502 Bad Gateway with a page of HTML ('502 Bad Gateway')",
            ),
            (
                answers({"detail": "no such field: msg"}, 422),
                ": no such field: msg; does it want another form, or other fields?",
            ),
            (answers({}, 401), 'give its key in a service file: headers: {Authorization: "Bearer ${MY_TOKEN}"}'),
            (answers({}, 403), "answered 403 Forbidden"),
            (answers({}, 404), "is the path of the address right"),
            (answers({}, 405), "it takes no POST there"),
            (answers({}, 429), "run fewer episodes at once: --mapsat-concurrency=N"),
            ((204, {}, b""), "it answered 204 No Content; expected 200 with the whole answer"),
        ],
    )
    def test_is_told_with_what_to_do(self, fault, answer, message):
        ending, blame, told = fault(lambda _: answer)
        assert (ending, blame) == LOST
        assert message in told
        assert told.startswith("the service http://127.0.0.1:")

    def test_a_redirect_is_not_followed(self, service, fault):
        elsewhere = service.at(lambda _: answers({"text": "from elsewhere"}))
        ending, blame, told = fault(lambda _: (307, {"Location": elsewhere}, b""))
        assert (ending, blame) == LOST
        assert (
            f"it redirects to '{elsewhere}' (307 Temporary Redirect), which is not followed: use that address" in told
        )
        assert not service.asked(elsewhere)


class TestContent:
    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (texted("<!DOCTYPE html><title>Sign in</title>", "text/html"), "with a page of HTML ('Sign in')"),
            (texted(" <html>", "application/json"), "with a page of HTML"),
            (texted('{"text": "Here', "application/json"), "its answer is not JSON"),
            (texted('{"text": "a", "text": "b"}', "application/json"), "'text' occurs twice"),
            (texted("[" * 100_000, "application/json"), "nested more than 64 deep"),
            (texted('{"text": NaN}', "application/json"), "NaN is not a JSON value"),
            (texted("", "application/json"), "answered with nothing (status 200)"),
            (texted(b'{"text": "caf\xe9"}', "application/json"), "its answer is not UTF-8: byte 0xe9 at 13"),
            (answers([1, 2]), "expected a text under text, reply, message, content, found [1, 2]"),
            (answers({"text": 7}), "found an object with 'text'"),
            (events({"text": "Here."}), "it answers with a stream of events"),
            ((200, {"Content-Encoding": "gzip"}, b"no gzip"), "its answer cannot be unpacked: it is not 'gzip'"),
        ],
    )
    def test_that_is_no_answer_of_the_form_is_told(self, fault, answer, message):
        ending, blame, told = fault(lambda _: answer)
        assert (ending, blame) == LOST
        assert message in told
        assert len(told) < 700

    def test_a_packed_answer_is_unpacked(self, service, tmp_path):
        packed = gzip.compress(json.dumps({"text": "Here."}).encode())
        url = service.at(lambda _: (200, {"Content-Encoding": "gzip", "Content-Type": "application/json"}, packed))
        assert said(play(source(url, tmp_path))) == ["Here."]

    def test_a_large_answer_is_not_read_to_its_end(self, fault):
        def flood(request):
            request.raw.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n")
            for _ in range(1600):
                request.raw.wfile.write(b"x" * 65536)

        tracemalloc.start()
        told = fault(flood)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert told[:2] == LOST
        assert "its answer has more than 16,777,216 bytes, unpacked; the rest was not read" in told[2]
        assert peak < 60_000_000

    def test_a_gzip_bomb_is_not_unpacked_to_its_end(self, fault):
        bomb = gzip.compress(bytes(70_000_000), 1)
        tracemalloc.start()
        told = fault(lambda _: (200, {"Content-Encoding": "gzip"}, bomb))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert "its answer has more than 16,777,216 bytes, unpacked" in told[2]
        assert peak < 60_000_000

    def test_a_refusal_without_end_is_not_read_to_its_end(self, fault):
        def flood(request):
            request.raw.wfile.write(b"HTTP/1.1 500 Oh\r\nContent-Length: 104857600\r\n\r\n")
            for _ in range(1600):
                request.raw.wfile.write(b"x" * 65536)

        assert "answered 500 Oh: xxx" in fault(flood)[2]

    def test_a_text_that_is_too_long_is_the_agents(self, fault):
        ending, blame, told = fault(lambda _: answers({"text": "x" * 1_000_001}))
        assert (ending, blame) == ("agent_error", "agent")
        assert "a text of 1,000,001 characters" in told


class TestConnection:
    def test_nothing_that_listens_is_tried_three_times(self, tmp_path, quick):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        trajectory = play(source(f"http://127.0.0.1:{port}/chat", tmp_path))
        assert (trajectory.ending, trajectory.fault.blame) == LOST
        assert "no connection (Connection refused), after 3 tries: is it running?" in trajectory.fault.message

    def test_a_service_that_comes_up_late_is_reached(self, tmp_path, monkeypatch):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]

        def serve():
            time.sleep(0.3)
            with socket.create_server(("127.0.0.1", port)) as late:
                late.settimeout(5)
                client, _ = late.accept()
                with client:
                    client.recv(65536)
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nLate")

        monkeypatch.setattr(http, "_PAUSES", (0.2, 0.4))
        thread = threading.Thread(target=serve)
        thread.start()
        assert said(play(source(f"http://127.0.0.1:{port}/chat", tmp_path))) == ["Late"]
        thread.join()

    def test_an_unknown_host_is_told(self, tmp_path):
        trajectory = play(source("http://no-such-host.invalid/chat", tmp_path))
        assert (trajectory.ending, trajectory.fault.blame) == LOST
        assert "there is no host of this name: is the address right?" in trajectory.fault.message

    def test_a_certificate_that_is_not_trusted_is_told(self, service, tmp_path):
        trajectory = play(source(service.url.replace("http:", "https:") + "/chat", tmp_path))
        assert (trajectory.ending, trajectory.fault.blame) == LOST
        assert "its certificate is not accepted" in trajectory.fault.message

    @pytest.mark.parametrize(
        ("behave", "message"),
        [
            (raw(), "the connection was closed before an answer came; the service's log may say why"),
            (raw(b"nonsense\r\n\r\n"), "the connection broke before an answer came: BadStatusLine: nonsense"),
            (
                raw(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"te'),
                "the connection was closed within the answer; the service's log may say why",
            ),
            (
                raw(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"tex'),
                "the connection was closed within the answer",
            ),
            (
                raw(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{"\r\n'),
                "the connection was closed within the answer",
            ),
            (
                raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
                "the connection was closed within the answer",
            ),
        ],
    )
    def test_that_breaks_is_not_the_agents_and_not_tried_again(self, service, tmp_path, behave, message):
        url = service.at(behave)
        trajectory = play(source(url, tmp_path))
        assert (trajectory.ending, trajectory.fault.blame) == LOST
        assert message in trajectory.fault.message
        assert len(service.asked(url)) == 1


class TestTime:
    def test_a_service_that_does_not_answer_in_time_is_slow(self, fault):
        began = time.perf_counter()
        ending, blame, _ = fault(lambda _: time.sleep(1.5), timeout=0.3)
        assert (ending, blame) == ("timeout", "agent")
        assert time.perf_counter() - began < 1.2

    def test_an_answer_that_drips_is_let_go(self, service, tmp_path):
        gone = threading.Event()

        def drip(request):
            try:
                request.raw.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                for _ in range(100):
                    request.raw.wfile.write(b"x")
                    time.sleep(0.05)
            except OSError:
                gone.set()

        trajectory = play(source(service.at(drip), tmp_path), timeout=0.3)
        assert (trajectory.ending, trajectory.fault.blame) == ("timeout", "agent")
        assert gone.wait(2)

    def test_an_address_that_does_not_answer_is_not_a_slow_agent(self, tmp_path):
        # Its queue of connections is full: the next one waits for ever.
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            address = full.getsockname()
            waiting = [socket.socket() for _ in range(4)]
            for client in waiting:
                client.setblocking(False)
                client.connect_ex(address)
            trajectory = play(source(f"http://127.0.0.1:{address[1]}/chat", tmp_path), timeout=1.0)
            for client in waiting:
                client.close()
        assert (trajectory.ending, trajectory.fault.blame) == LOST
        assert "no connection within 0.8 s: is it running?" in trajectory.fault.message


class TestTryingAgain:
    @pytest.mark.parametrize("status", [429, 503])
    def test_a_service_that_asks_to_come_later_is_asked_later(self, service, tmp_path, status):
        times = iter(range(10))
        url = service.at(
            lambda _: answers({}, status, **{"Retry-After": "0"}) if next(times) < 2 else answers({"text": "Here."})
        )
        assert said(play(source(url, tmp_path))) == ["Here."]
        assert len(service.asked(url)) == 3

    @pytest.mark.parametrize("after", [None, "soon", "99999", "Wed, 21 Oct 2015 07:28:00 GMT", "-1"])
    def test_is_left_where_no_time_is_named_that_can_be_waited(self, service, tmp_path, after):
        url = service.at(lambda _: answers({}, 503, **({"Retry-After": after} if after else {})))
        trajectory = play(source(url, tmp_path))
        assert (trajectory.ending, trajectory.fault.blame) == LOST
        assert len(service.asked(url)) == 1

    def test_a_server_error_is_not_tried_again(self, service, tmp_path):
        url = service.at(lambda _: answers({}, 500, **{"Retry-After": "0"}))
        play(source(url, tmp_path))
        assert len(service.asked(url)) == 1


class TestSecrets:
    def test_none_stands_in_a_message(self, fault, monkeypatch):
        monkeypatch.setenv("MY_TOKEN", "very-secret-value")
        body = {"error": "bad key very-secret-value, Bearer abcdefghijklmnop, sk-abcdefghijklmnop123"}
        told = fault(lambda _: answers(body, 401))[2]
        assert "bad key [redacted MY_TOKEN], Bearer [redacted], [redacted]" in told

    def test_that_of_a_variable_with_another_name_is_known_once_a_service_file_takes_it(
        self, service, tmp_path, monkeypatch
    ):
        monkeypatch.setenv("MY_LOGIN", "login-1234567")
        url = service.at(lambda request: answers({"error": request.headers["A"]}, 403))
        (tmp_path / "s.yaml").write_text(f"url: {url}\nheaders: {{A: '${{MY_LOGIN}}'}}")
        told = play(source("http:s.yaml", tmp_path)).fault.message
        assert "login-1234567" not in told
        assert "[redacted MY_LOGIN]" in told

    def test_a_query_of_the_address_is_not_shown(self, service, tmp_path):
        url = service.at(lambda _: answers({}, 500)) + "?code=abc"
        assert "code" not in play(source(url, tmp_path)).fault.message


def test_proxies_of_the_environment_are_not_used(service, tmp_path, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert said(play(source(service.at(lambda _: answers({"text": "Here."})), tmp_path))) == ["Here."]
