"""What is done to documents: edits, and what is put where it does not belong."""

from __future__ import annotations

import pickle
import re

PAYLOADS = [  # each would make the name `executed` a file in the working folder, if anything ran it
    pickle.dumps({"a": 1}),
    b"cposix\nsystem\n(S'touch executed'\ntR.",
    b"!!python/object/apply:os.system ['touch executed']",
    b"__import__('os').system('touch executed')",
    b'{"__reduce__":["os:system","touch executed"]}',
    b"os:system",
    b"streamlearn.files:write_atomically",
]
FILLERS = [
    b"1e999", b"-1e999", b"1" + b"0" * 5000, b"-" + b"9" * 4299, b"9" * 400, b"NaN", b"Infinity", b"-Infinity",
    b"1e-999",
    b"[" * 100_000, b'{"a":' * 20_000, b"[" * 900 + b"]" * 900, b'{"tuple":[' * 400 + b"]}" * 400, b"(" * 3000,
    b'"\\ud800"', b'"\\udc00x"', b"\\ud800", b"\0", b'"\\u0000"', b"\xef\xbb\xbf", b"\xff\xfe",
    b"\xc2\xb2", b"\xd9\xa3",
    b'"' + b"x" * 5000 + b'"', b"y" * 5000, b"[" + b"0," * 5000 + b"0]", b"1," * 5000, b"\n" * 5000,
    b"{},", b"[]", b'""',
    b"null", b"true", b"false", b"0", b"-0.0", b"-1", b"1", b"2", b"0.5", b"1.0", b"1_0", b"18446744073709551617",
    b"9223372036854775808", b'"1"', b'"inf"', b'"a"', b'"key"', b"'", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":",
    b";",
    b"\n", b"\r", b"\t", b"/", b"@", b"%00", b"*", b"=", b"^", b"2024-01-01", b"9999-12-31T23:59:59+00:00", *PAYLOADS,
]  # fmt: skip

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\w.+-]+|.', re.DOTALL)

KINDS = (
    "flip",
    "cut",
    "double",
    "truncate",
    "insert",
    "splice",
    *("replace", "drop", "repeat", "swap", "nudge") * 2,
)
Edit = tuple[str, int, int, bytes]
"""A kind, a place, a second place or a size, and bytes to put there; the places wrap around."""


def edited(data: bytes, edit: Edit) -> bytes:
    """Return ``data`` with one edit: the first six kinds know bytes, the others what looks like fields."""
    kind, place, other, filler = edit
    at = place % (len(data) + 1)
    end = at + other % 64
    if kind == "flip":
        return data[:at] + bytes(b ^ 1 << other % 8 for b in data[at : at + 1]) + data[at + 1 :]
    if kind in {"cut", "double", "truncate", "insert"}:
        middle = {"cut": b"", "double": data[at:end] * 2, "truncate": b"", "insert": filler + data[at:end]}
        return data[:at] + middle[kind] + (b"" if kind == "truncate" else data[end:])
    if kind == "splice":
        return data[:at] + filler[other % (len(filler) + 1) :]
    tokens = _TOKEN.findall(data)
    words = [i for i, token in enumerate(tokens) if token[:1] == b'"' or token.isalnum()]
    if not words:
        return data + filler
    one, two = words[place % len(words)], words[other % len(words)]
    if kind == "swap":
        tokens[one], tokens[two] = tokens[two], tokens[one]
    elif kind == "nudge":
        number = re.sub(
            rb"[0-9]{1,20}", lambda it: b"%d" % (int(it[0]) + (-1) ** other), tokens[one], count=1
        )
        tokens[one] = number
    else:
        tokens[one] = {"replace": filler, "drop": b"", "repeat": tokens[one] + b"," + tokens[one]}[kind]
        if kind == "drop" and tokens[one + 1 : one + 2] == [b","]:
            del tokens[one + 1]
    return b"".join(tokens)
