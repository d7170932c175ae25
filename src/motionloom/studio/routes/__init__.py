"""The requests, by job. Each module has one `router`; `ROUTERS` lists them."""

from motionloom.studio.routes import (
    crowd,
    dance,
    export,
    graph,
    grid,
    library,
    motions,
    movements,
    parametric,
    search,
    uploads,
)

ROUTERS = (
    crowd.router,
    dance.router,
    export.router,
    graph.router,
    grid.router,
    library.router,
    motions.router,
    movements.router,
    parametric.router,
    search.router,
    uploads.router,
)
