"""Ranking with verdicts, candidate by candidate."""


def distance(wanted, unwanted, contrast):
    """Distance of one candidate, given its distances to examples and to rejected matches."""
    total = 0.0
    for value in wanted:
        total += 1.0 / value**2
    near = (len(wanted) / total) ** 0.5
    if not unwanted:
        return near
    return near * (near / min(unwanted)) ** contrast
