"""All randomness of agents and reporters: one keyed function of (purpose, round).

A draw depends on nothing but the key, the purpose and the round. So a round asked twice repeats its
answer and spends nothing twice, a checkpoint holds no generator state, and draws for two purposes are
independent to whoever does not hold the key.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Self

from streamlearn.errors import ParameterError

KEY_BYTES = 32


class Key:
    """A secret from which every random draw is derived.

    Parameters
    ----------
    secret
        Exactly 32 bytes. Use :meth:`generate` for a live key and :meth:`from_seed` for replays and tests.

    Raises
    ------
    ParameterError
        If ``secret`` is not 32 bytes.

    Notes
    -----
    The draw is BLAKE2b keyed with the secret, over the length of the purpose, the purpose and the round.
    Whoever lacks the key cannot tell draws from fair coins, provided BLAKE2b is a pseudorandom function.

    Examples
    --------
    >>> from streamlearn import Key
    >>> key = Key.from_seed(7)
    >>> key.uniform64("report", 1) == Key.from_seed(7).uniform64("report", 1)
    True
    >>> key.uniform64("report", 1) == key.uniform64("report", 2)
    False
    >>> key
    Key(<secret>)
    """

    __slots__ = ("_hash", "_secret")

    def __init__(self, secret: bytes) -> None:
        if type(secret) is not bytes or len(secret) != KEY_BYTES:
            raise ParameterError(
                f"secret must be exactly {KEY_BYTES} bytes; use Key.generate() for a fresh one "
                "or Key.from_seed(n) to reproduce a replay"
            )
        self._secret = secret
        self._hash = hashlib.blake2b(key=secret, digest_size=8)

    @classmethod
    def generate(cls) -> Self:
        """Return a fresh secret key from the operating system.

        Examples
        --------
        >>> from streamlearn import Key
        >>> Key.generate() == Key.generate()
        False
        """
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def from_seed(cls, seed: int) -> Self:
        """Return a reproducible key, for replays and tests only: its draws are no secret.

        Parameters
        ----------
        seed
            Any integer.

        Raises
        ------
        ParameterError
            If ``seed`` is not an integer.

        Examples
        --------
        >>> from streamlearn import Key
        >>> Key.from_seed(1).uniform64("x", 0) == Key.from_seed(2).uniform64("x", 0)
        False
        """
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise ParameterError(f"seed must be an integer, got {type(seed).__name__}")
        return cls(hashlib.blake2b(b"streamlearn seed %d" % seed, digest_size=KEY_BYTES).digest())

    def uniform64(self, purpose: str, round: int | str) -> int:  # noqa: A002 - the field's own word
        """Return the draw of one purpose at one round: an integer uniform on 0 .. 2^64 - 1.

        Parameters
        ----------
        purpose
            What the draw decides. Different purposes never share a draw.
        round
            The round, or any other identity within the purpose; 1 and ``"1"`` are the same one.

        Examples
        --------
        >>> from streamlearn import Key
        >>> 0 <= Key.from_seed(1).uniform64("coin", 3) < 2**64
        True
        """
        name = purpose.encode()
        draw = self._hash.copy()
        draw.update(b"%d:%b:%b" % (len(name), name, str(round).encode()))
        return int.from_bytes(draw.digest(), "big")

    def bernoulli(self, numerator: int, denominator: int, purpose: str, round: int | str) -> bool:  # noqa: A002 - the field's own word
        """Return True with probability numerator / denominator, exactly.

        The binary expansion of the probability is compared with that of a uniform number, 64 bits at a time, until
        they differ; nearly always the first 64 bits decide.

        Parameters
        ----------
        numerator, denominator
            Whole numbers, 0 <= numerator <= denominator, denominator >= 1; of any size.
        purpose, round
            As for :meth:`uniform64`.

        Examples
        --------
        >>> from streamlearn import Key
        >>> sum(Key.from_seed(1).bernoulli(1, 3, "coin", i) for i in range(3000))
        1010
        """
        word = 0
        while True:
            digits, numerator = divmod(numerator << 64, denominator)
            draw = self.uniform64(f"{purpose}/{word}" if word else purpose, round)
            if draw != digits:
                return draw < digits
            word += 1

    def below(self, bound: int, purpose: str, round: int | str) -> int:  # noqa: A002 - the field's own word
        """Return a whole number uniform on 0 .. bound - 1, exactly.

        Parameters
        ----------
        bound
            At least 1; of any size.
        purpose, round
            As for :meth:`uniform64`.

        Examples
        --------
        >>> from streamlearn import Key
        >>> [Key.from_seed(1).below(10**30, "pick", i) for i in range(2)]
        [846264509256843485897450846161, 953516161404263222401179166925]
        """
        bits = (bound - 1).bit_length()
        words = range(-(-bits // 64))
        attempt = 0
        while True:  # each attempt succeeds with probability above 1/2
            drawn = 0
            for word in words:
                drawn = drawn << 64 | self.uniform64(f"{purpose}/{attempt}/{word}", round)
            drawn >>= 64 * len(words) - bits
            if drawn < bound:
                return drawn
            attempt += 1

    def derive(self, purpose: str) -> Key:
        """Return a key for one part of a system, independent of this one's draws and of other parts'.

        Examples
        --------
        >>> from streamlearn import Key
        >>> root = Key.from_seed(1)
        >>> root.derive("alice") == root.derive("bob")
        False
        """
        part = hashlib.blake2b(b"derive:" + purpose.encode(), key=self._secret, digest_size=KEY_BYTES)
        return Key(part.digest())

    @property
    def fingerprint(self) -> str:
        """A public name of this key (64 bits, hex) that tells nothing about its draws."""
        return self.derive("fingerprint").secret[:8].hex()

    @property
    def secret(self) -> bytes:
        """The 32 secret bytes, for whoever must store the key."""
        return self._secret

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and secrets.compare_digest(self._secret, other._secret)

    def __hash__(self) -> int:
        return hash(self._secret)

    def __deepcopy__(self, memo: object) -> Self:
        return self  # immutable, and the running hash cannot be copied

    def __reduce__(self) -> tuple[type[Self], tuple[bytes]]:
        return type(self), (self._secret,)

    def __repr__(self) -> str:
        return "Key(<secret>)"


def checked_key(key: object) -> Key:
    """Return where an agent's draws come from: a fresh secret where none is given.

    Raises
    ------
    ParameterError
        If it is no key.

    Examples
    --------
    >>> from streamlearn.randomness import Key, checked_key
    >>> checked_key(Key.from_seed(1)) == Key.from_seed(1)
    True
    """
    if key is None:
        return Key.generate()
    if not isinstance(key, Key):
        raise ParameterError(
            f"key must be a Key, got {type(key).__name__}; Key.from_seed(n) makes one for tests"
        )
    return key
