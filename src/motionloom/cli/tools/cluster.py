"""``motionloom cluster``, and the ``--cluster`` option for slow commands."""

from __future__ import annotations

import inspect
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

from motionloom.cli.command import Option
from motionloom.cli.options import JSON
from motionloom.cli.terminal import print_json, remark
from motionloom.configuration import FILE as SETTINGS
from motionloom.configuration import section
from motionloom.errors import InvalidInput

_Address = Annotated[
    str | None,
    Option(
        "Run on the Dask cluster with this scheduler, such as tcp://host:8786. [cluster in "
        f"section engine of {SETTINGS}, or this machine]",
        metavar="ADDRESS",
        expert=True,
    ),
]


def cluster(
    workers: Annotated[int, Option("Number of worker processes, one thread each.", min=1)] = 4,
    port: Annotated[
        int, Option("Port of the scheduler; 0 selects a free port.", min=0, max=65535)
    ] = 8786,
    tls: Annotated[
        bool,
        Option(
            "Require your certificate for every connection; it is created on first use.", "--tls"
        ),
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Run a Dask cluster on this machine until Ctrl-C.

    Prints the scheduler address to pass to other commands with --cluster. Without --tls,
    every user of this machine can connect to the cluster and run code with your permissions.
    """
    from motionloom.parallel import local_cluster

    ended = threading.Event()
    with local_cluster(workers, port=port, tls=tls) as started:
        signal.signal(signal.SIGTERM, lambda *_: ended.set())
        address = started.scheduler_address
        if json:
            print_json({"cluster": address, "workers": workers})
        else:
            print(address)
        sys.stdout.flush()
        remark(f"{workers} workers; stop with Ctrl-C")
        try:
            while not ended.wait(0.5):
                pass
        except KeyboardInterrupt:
            pass


def on_clusters(command: Callable[..., None]) -> Callable[..., None]:
    """Add the ``--cluster`` option to a command."""

    @wraps(command)
    def run(*args: Any, cluster: str | None = None, **kwargs: Any) -> None:
        with _executing_on(cluster):
            command(*args, **kwargs)

    signature = inspect.signature(command, eval_str=True)
    extra = inspect.Parameter(
        "cluster", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_Address
    )
    parameters = [*signature.parameters.values(), extra]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def cluster_from(settings: Path) -> str | None:
    """Return the value of ``cluster`` in a settings file's ``[engine]`` section, or None."""
    address = section("engine", settings).get("cluster")
    if not isinstance(address, str | None):
        raise InvalidInput(
            f"{settings}: cluster in [engine] must be an address in quotes, "
            f'such as "tcp://host:8786"; got {address!r}'
        )
    return address or None


def _executing_on(cluster: str | None) -> AbstractContextManager[None]:
    address = cluster if cluster is not None else cluster_from(Path(SETTINGS))
    if not address:
        return nullcontext()
    from motionloom.parallel import on_cluster

    return on_cluster(address)
