"""Payloads can be unpacked here and by a browser."""

import json

import numpy as np

from app import payload

NAN, INF = float("nan"), float("inf")


def read_strictly(data: bytes) -> dict:
    """As a browser's JSON.parse, which refuses NaN."""

    def refuse(constant: str):
        raise ValueError(constant)

    return json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")], parse_constant=refuse)


def test_numbers_that_are_not_finite_are_null_in_the_header_and_themselves_in_arrays():
    header = {"share": NAN, "answers": [{"shares": [0.5, INF]}, (np.float64(-INF), 1)], "of": {"n": 3, "text": "NaN"}}
    sent = payload.pack(header, {"values": np.array([NAN, 1.0], np.float32)})
    received = read_strictly(sent)
    assert received["share"] is None and received["answers"] == [{"shares": [0.5, None]}, [None, 1]]
    assert received["of"] == {"n": 3, "text": "NaN"}
    np.testing.assert_array_equal(payload.unpack(sent)[1]["values"], [NAN, 1.0])


def test_finite_headers_are_sent_unchanged():
    header = {"said": ["偶", True, None], "share": 0.1}
    received = read_strictly(payload.pack(header, {}))
    assert {name: received[name] for name in header} == header
