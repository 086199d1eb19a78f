"""A connection to Redis, and what its complaints mean."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

from streamlearn.errors import BrokerError, MissingExtraError, ParameterError, StreamlearnError

CONNECT: Final = 2.0
ANSWER: Final = 10.0
"""Seconds to wait for a connection, and for an answer; then the broker counts as away."""


class Server:
    """A connection, and what its complaints mean."""

    def __init__(self, url: str) -> None:
        redis = client()
        retry = redis.retry.Retry(redis.backoff.NoBackoff(), 0)  # the pump tries again, and says so
        try:
            self.client: Any = redis.Redis.from_url(
                url, socket_connect_timeout=CONNECT, socket_timeout=ANSWER, retry=retry, protocol=2
            )
            # Options in the address come first with redis-py; answers must be those that are read here.
            self.client.connection_pool.connection_kwargs.update(protocol=2, decode_responses=False)
            self.client.connection_pool.make_connection()  # it connects to nothing, and knows its options
        except (ValueError, TypeError, redis.exceptions.RedisError):
            raise ParameterError("url must be redis://[user:password@]host:port/DB") from None
        self._database = self.client.connection_pool.connection_kwargs.get("db", 0)
        self._errors = redis.exceptions

    @contextlib.contextmanager
    def asked(self, what: str) -> Iterator[None]:
        """Turn the client's complaints about ``what`` into ours. They name no address: it may hold a password."""
        errors = self._errors
        try:
            yield
        except (errors.AuthenticationError, errors.NoPermissionError, errors.AuthorizationError):
            raise StreamlearnError(
                f"Redis refuses this user for {what}; check the credentials of the address"
            ) from None
        except (
            errors.ConnectionError,
            errors.TimeoutError,
            errors.ReadOnlyError,
            errors.OutOfMemoryError,
            OSError,
        ) as error:
            raise BrokerError(f"Redis does not serve {what} ({type(error).__name__})") from None
        except errors.InvalidResponse:
            raise StreamlearnError(
                f"what answers for {what} is no Redis server; check host and port of the address"
            ) from None
        except errors.ResponseError as error:
            said = str(error).rpartition(" of pipeline caused error: ")[2]  # which the client puts before it
            code = said.partition(" ")[0]
            if "DB index" in said:
                raise StreamlearnError(
                    f"Redis has no database {self._database} for {what}; the database number of the address must be "
                    "below the server's setting 'databases', 16 by default"
                ) from None
            if code in {
                "LOADING",
                "MASTERDOWN",
                "TRYAGAIN",
                "CLUSTERDOWN",
                "BUSY",
                "OOM",
                "NOREPLICAS",
                "MISCONF",
                "UNBLOCKED",
            }:
                raise BrokerError(f"Redis does not serve {what} ({code})") from None
            remedy = {
                "WRONGTYPE": "the key holds something else: name another stream",
                "NOGROUP": "the group was removed while it was read: create it anew, or start again",
            }.get(code, "ask who runs the server")
            raise StreamlearnError(f"Redis refuses {what} with {code}; {remedy}") from None

    def identity(self) -> tuple[str, int] | None:
        """Return what tells a server's database from others, whatever the address; None where it must not be asked."""
        try:
            return str(self.client.info("server")["run_id"]), int(self._database)
        except (self._errors.RedisError, OSError, KeyError):
            return None

    def close(self) -> None:
        """Disconnect. Never raises."""
        with contextlib.suppress(Exception):  # it may be broken in any way, and is not needed any more
            self.client.close()


def client() -> ModuleType:
    """Return the client's module.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        import redis.backoff  # noqa: PLC0415 - an extra
        import redis.exceptions  # noqa: PLC0415 - as above
        import redis.retry  # noqa: PLC0415 - as above
    except ImportError:
        raise MissingExtraError(
            'Redis needs redis-py; install it with: pip install "streamlearn[redis]"'
        ) from None
    return redis
