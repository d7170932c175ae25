"""HTTP requests by subject. Each module has one `router`; `ROUTERS` lists them."""

from motionloom.studio.routes import (
    acting,
    armatures,
    characters,
    clusters,
    crowd,
    dance,
    export,
    graph,
    grid,
    libraries,
    library,
    matching,
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
        acting, armatures, characters, clusters, crowd, dance, export, graph, grid, libraries,
        library, matching, motions, movements, parametric, poses, search, subjects, uploads, words,
    )
)  # fmt: skip
