"""Nominal frame rates: what ``Frame Time: .0083333`` means to people."""

from __future__ import annotations

_NOMINAL = (
    12.0, 15.0, 23.976, 24.0, 25.0, 29.97, 30.0, 48.0, 50.0, 59.94, 60.0, 72.0, 75.0, 90.0,
    100.0, 119.88, 120.0, 144.0, 150.0, 180.0, 200.0, 239.76, 240.0, 250.0, 300.0, 360.0,
    480.0, 500.0, 1000.0,
)  # fmt: skip
_TOLERANCE = 3e-4  # .0083333 is 4e-6 off 1/120, 0.0083 is 4e-3 off; 59.94 is 1e-3 from 60


def nominal_rate(fps: float) -> float:
    """The rate people mean, if one is near enough; else `fps` itself.

    Examples
    --------
    >>> nominal_rate(1 / 0.0083333), nominal_rate(1 / 0.0333667), nominal_rate(31.7)
    (120.0, 29.97, 31.7)
    """
    nearest = min(_NOMINAL, key=lambda rate: abs(rate - fps))
    return nearest if abs(nearest - fps) <= _TOLERANCE * nearest else fps
