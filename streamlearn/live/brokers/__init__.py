"""Adapters on brokers' ordinary clients, each a module with a ``Source`` and a ``Sink``.

What these must do is said in ``streamlearn.live.ports``. Each but the pipe is an extra of the package:
``streamlearn[nats]``, ``[redis]``, ``[kafka]``.
"""
