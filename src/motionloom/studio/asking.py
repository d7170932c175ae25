"""What every request is given: the workshop, and bytes as an answer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request, Response
from numpy.typing import ArrayLike

from motionloom.studio import wire
from motionloom.studio.workshop import Workshop


def _workshop(request: Request) -> Workshop:
    return request.app.state.workshop


Shop = Annotated[Workshop, Depends(_workshop)]


def arrays(meta: dict[str, Any], **values: ArrayLike) -> Response:
    """An answer of arrays, packed by `wire.pack`."""
    return Response(wire.pack(meta, **values), media_type=wire.MEDIA_TYPE)
