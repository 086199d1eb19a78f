"""Where the draws of a synthetic stream come from."""

from __future__ import annotations

import numpy as np

from streamlearn.errors import ParameterError
from streamlearn.randomness import Key


def generator_of(key: Key | None, generator: np.random.Generator | None) -> np.random.Generator:
    """Return the generator given, or one seeded by the key; without either, by a fresh key.

    Raises
    ------
    ParameterError
        If both are given, or one has another type.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.replays.draws import generator_of
    >>> generator_of(Key.from_seed(1), None).random() == generator_of(Key.from_seed(1), None).random()
    True
    """
    if generator is None:
        if not isinstance(key, Key | None):
            raise ParameterError(f"key must be a Key, got {type(key).__name__}; Key.from_seed(n) makes one")
        root = Key.generate() if key is None else key
        return np.random.default_rng(int.from_bytes(root.derive("synthetic stream").secret))
    if key is not None:
        raise ParameterError("give key or generator, not both")
    if not isinstance(generator, np.random.Generator):
        raise ParameterError(
            f"generator must be a numpy Generator, got {type(generator).__name__}; np.random.default_rng(n) makes one"
        )
    return generator
