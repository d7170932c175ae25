"""HTTP requests by subject. Each module has one `router`; `ROUTERS` lists them."""

from motionloom.studio.routes import (
    armatures,
    clusters,
    crowd,
    dance,
    export,
    graph,
    grid,
    library,
    motions,
    movements,
    parametric,
    poses,
    search,
    subjects,
    uploads,
    words,
)

ROUTERS = tuple(
    module.router
    for module in (
        armatures, clusters, crowd, dance, export, graph, grid, library, motions, movements,
        parametric, poses, search, subjects, uploads, words,
    )
)  # fmt: skip
