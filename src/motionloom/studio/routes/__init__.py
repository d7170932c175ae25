"""HTTP routes, grouped by topic. Each module has one `router`; `ROUTERS` lists them."""

from motionloom.studio.routes.dancing import crowd, dance, movements
from motionloom.studio.routes.library import contents, libraries, motions, uploads, words
from motionloom.studio.routes.search import export, grid, poses, searches, shown
from motionloom.studio.routes.stage import armatures, characters, subjects
from motionloom.studio.routes.synthesis import acting, graph, matching, parametric

ROUTERS = tuple(
    module.router
    for module in (
        acting, armatures, characters, crowd, dance, export, graph, grid, libraries,
        contents, matching, motions, movements, parametric, poses, searches, shown, subjects,
        uploads, words,
    )
)  # fmt: skip
