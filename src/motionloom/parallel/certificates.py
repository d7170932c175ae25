"""Certificates of a cluster: whoever holds the key may connect, and nobody else.

A Dask cluster runs any code that a client sends it, and a client unpickles what the cluster
answers. With TLS both sides show the same certificate; without, everybody who reaches a port is
trusted. The key and the certificate are made once, by the command ``openssl``, in the user's
configuration; other machines of the cluster get a copy of the folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from motionloom.configuration import user_settings
from motionloom.errors import InvalidInput, MissingExtra

KEY, CERTIFICATE = "key.pem", "certificate.pem"
_DAYS = 3650


def certificate_folder() -> Path:
    """Where the key and the certificate of this user's clusters are."""
    return user_settings().with_name("tls")


def make_certificates(folder: Path | None = None) -> Path:
    """The folder with the key and the certificate, made if there are none.

    Raises
    ------
    MissingExtra
        If the command ``openssl`` is not installed.
    InvalidInput
        If it fails, or the folder cannot be written to.
    """
    folder = certificate_folder() if folder is None else folder
    if (folder / KEY).is_file() and (folder / CERTIFICATE).is_file():
        return folder
    openssl = shutil.which("openssl")
    if openssl is None:
        raise MissingExtra(
            f"certificates are made by openssl, which is not installed; put {KEY} and "
            f"{CERTIFICATE} into {folder} yourself"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            made = Path(scratch)
            command = [
                openssl, "req", "-x509", "-newkey", "rsa:3072", "-sha256", "-nodes", "-days",
                str(_DAYS), "-subj", "/CN=motionloom cluster", "-keyout", str(made / KEY), "-out",
                str(made / CERTIFICATE),
            ]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, umask=0o077)
            if done.returncode:
                raise InvalidInput(f"openssl failed: {done.stderr.strip().splitlines()[-1:]}")
            os.replace(made / KEY, folder / KEY)
            os.replace(made / CERTIFICATE, folder / CERTIFICATE)
    except OSError as error:
        raise InvalidInput(f"{folder}: cannot be written to: {error.strerror or error}") from None
    return folder


def security(folder: Path | None = None) -> Any:
    """Dask's security object with the certificates of a folder; encryption is required.

    Raises
    ------
    InvalidInput
        If there are no certificates.
    """
    from distributed.security import Security

    folder = certificate_folder() if folder is None else folder
    key, certificate = folder / KEY, folder / CERTIFICATE
    if not (key.is_file() and certificate.is_file()):
        raise InvalidInput(
            f"a cluster with TLS needs {key} and {certificate.name}: motionloom cluster --tls "
            "makes them; copy the folder from the machine of the scheduler"
        )
    roles = ("client", "scheduler", "worker")
    return Security(
        require_encryption=True,
        tls_ca_file=str(certificate),
        **{f"tls_{role}_cert": str(certificate) for role in roles},
        **{f"tls_{role}_key": str(key) for role in roles},
    )
