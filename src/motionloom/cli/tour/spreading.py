"""A step beyond one process: the same answers from a cluster."""

from __future__ import annotations

from typing import Any

from motionloom.cli.tour.tour import Tour
from motionloom.errors import MissingExtra

_KICK = "kick_front_mid_right_p0"


def cluster(tour: Tour) -> dict[str, Any]:
    """Ask an index in four shards, held by two workers of a Dask cluster on this machine."""
    import numpy as np

    from motionloom.cluster import ClusterError, local_cluster
    from motionloom.engine import on_cluster
    from motionloom.search.neighbours import neighbours, open_index

    tour.command("cluster --workers 2")
    features = tour.lib.features("e15")
    rows = np.array(features.rows[features.motion_rows(_KICK)])
    single = neighbours(rows, features, open_index(tour.lib, features, "blocks"), k=16)
    try:
        with local_cluster(2) as started, on_cluster(started.scheduler_address):
            index = open_index(tour.lib, features, "shards", shards=4)
            sharded = neighbours(rows, features, index, k=16)
    except (MissingExtra, ClusterError) as error:
        tour.say(f"passed over: {error}")
        return {"cluster": None}
    differ = int(np.sum((sharded.rows != single.rows) | (sharded.distances != single.distances)))
    tour.say(
        f"{len(rows)} frames, the 16 nearest of {len(features)} to each, from 4 shards: "
        f"{differ} of {len(single.rows)} answers differ from one index's"
    )
    return {"cluster": {"answers": len(single.rows), "differ": differ}}
