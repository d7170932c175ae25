"""What every request is given: the workshop, and bytes as an answer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request, Response
from numpy.typing import ArrayLike

from motionloom.errors import InvalidInput
from motionloom.studio import wire
from motionloom.studio.workshop import Workshop


def _workshop(request: Request) -> Workshop:
    return request.app.state.workshop


Shop = Annotated[Workshop, Depends(_workshop)]


def arrays(meta: dict[str, Any], **values: ArrayLike) -> Response:
    """An answer of arrays, packed by `wire.pack`."""
    return Response(wire.pack(meta, **values), media_type=wire.MEDIA_TYPE)


async def body_of(request: Request, largest: int, what: str) -> bytes:
    """The body of a request, read only as far as it is allowed to be long.

    Raises
    ------
    InvalidInput
        If it is longer than `largest` bytes, whatever its header says.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > largest:
            raise InvalidInput(f"{what} may have {largest >> 20} MB; this one has more")
        parts.append(part)
    return b"".join(parts)
