"""Converts the inputs of a run to the form that is sent."""

from __future__ import annotations

import base64
import collections.abc
import math
import os
import re
from typing import Dict, List, Mapping, Optional, Sequence, Union

Value = Union[str, int, float, bool, Sequence[Union[str, int, float]]]
Image = Union[str, "os.PathLike[str]", bytes]


def to_texts(what: str, values: Optional[Mapping[str, Value]]) -> Dict[str, str]:
    """what: the name of such a value in an error, such as "Input"."""
    if values is not None and not isinstance(values, collections.abc.Mapping):
        raise TypeError(f"{what.lower()}s must be a dict, got {type(values).__name__}.")
    return {name: _text(f'{what} "{name}"', value) for name, value in (values or {}).items()}


def to_images(images: Sequence[Image]) -> List[Dict[str, str]]:
    if isinstance(images, (str, bytes, os.PathLike)):  # each character would be an image
        raise TypeError(f"images must be a list of images, got {type(images).__name__}.")
    return [_to_image(image) for image in images]


def _to_image(image: Image) -> Dict[str, str]:
    if isinstance(image, str) and re.match(r"https?:", image, re.IGNORECASE):
        return {"type": "url", "url": image}
    if isinstance(image, str) and re.match(r"data:[^,]*;base64,", image, re.IGNORECASE):
        return {"type": "base64", "base64": image.partition(",")[2]}
    if not isinstance(image, bytes):
        with open(image, "rb") as file:
            image = file.read()
    return {"type": "base64", "base64": base64.b64encode(image).decode("ascii")}


def _text(what: str, value: Value) -> str:
    """Convert a value to a string. The server accepts list items one per line or separated by commas.

    what: the name of the value. Raises TypeError for other types: the run would be charged for a meaningless text.
    """
    plain = _plain(value)
    if plain is not None:
        return plain
    is_bytes = isinstance(value, (bytes, bytearray, memoryview))
    if is_bytes or not isinstance(value, collections.abc.Sequence):
        raise _refusal(what, _kind(value))
    items = []
    for item in value:
        text = _plain(item)
        if text is None:
            raise _refusal(what, f"a list with {_kind(item)}")
        items.append(text)
    return ("\n" if any("," in item for item in items) else ",").join(items)


def _plain(value: object) -> Optional[str]:
    """None: the value is not a string, number, or boolean."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, (str, int, float)) else None


def _kind(value: object) -> str:
    return "None" if value is None else str(value) if isinstance(value, float) else type(value).__name__


def _refusal(what: str, kind: str) -> TypeError:
    return TypeError(f"{what} must be a string, number, boolean, or list, got {kind}.")
