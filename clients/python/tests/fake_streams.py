"""A fake service of ``WatchUsers``, whose streams end on purpose."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from rolegate.auth.v1 import auth_pb2 as pb

SERVING = b"\x08\x01"


class Refusal:
    """An item that ends its stream with an error of this reason."""

    def __init__(self, reason, retry_after=None):
        details = [ErrorInfo(reason=reason, domain="rolegate")]
        if retry_after:
            details.append(RetryInfo(retry_delay=Duration(seconds=retry_after)))
        status = Status()
        for detail in details:
            packed = Any()
            packed.Pack(detail)
            status.details.append(packed)
        self.details = status.SerializeToString()


class Streams(grpc.GenericRpcHandler):
    """Answers each call of ``WatchUsers`` with the next of these streams. After the last one, streams hang.

    A stream ends with ``UNAVAILABLE``, or with the `Refusal` in it.
    """

    def __init__(self, *streams):
        self.streams = list(streams)
        #: The revision after which each stream began, its metadata, and the seconds until its deadline.
        self.begun, self.metadata, self.time = [], [], []
        #: The seal with which each stream was requested.
        self.seals = []
        self.hanging, self.ended = threading.Event(), threading.Event()
        #: Set as soon as the caller of the last stream has left.
        self.left = threading.Event()

    def service(self, details):
        if details.method == "/grpc.health.v1.Health/Watch":
            return grpc.unary_stream_rpc_method_handler(self.health)
        assert details.method == "/rolegate.auth.v1.AuthService/WatchUsers"
        self.metadata.append(dict(details.invocation_metadata))
        return grpc.unary_stream_rpc_method_handler(
            self.watch, pb.WatchUsersRequest.FromString, pb.WatchUsersResponse.SerializeToString
        )

    def health(self, request, context):
        yield SERVING
        self.ended.wait()

    def watch(self, request, context):
        self.begun.append(request.from_revision if request.HasField("from_revision") else None)
        self.seals.append(request.seal)
        self.time.append(context.time_remaining())
        self.left = threading.Event()
        context.add_callback(self.left.set)
        if not self.streams:
            self.hanging.set()
            self.ended.wait()
            return
        for item in self.streams.pop(0):
            if isinstance(item, Refusal):
                context.set_trailing_metadata((("grpc-status-details-bin", item.details),))
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, "as the test wants")
            yield item
        context.abort(grpc.StatusCode.UNAVAILABLE, "the replica stops")


@contextmanager
def served(streams):
    server = grpc.server(ThreadPoolExecutor(8), [streams])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        streams.ended.set()
        server.stop(None).wait()


def change(revision, user_id, **fields):
    fields = {"username": f"user {user_id}", "role_name": "user", **fields}
    return pb.WatchUsersResponse(change={"revision": revision, "user_id": user_id, **fields})


def progress(revision):
    return pb.WatchUsersResponse(progress={"revision": revision})
