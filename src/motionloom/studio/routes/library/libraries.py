"""Routes that list, open and create libraries."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from motionloom.errors import InvalidInput, LibraryError
from motionloom.library import Library
from motionloom.studio.state.app_state import AppState, State
from motionloom.studio.state.library_choice import LONGEST_NAME, LibraryChoice, remember

router = APIRouter(tags=["libraries"])


class KnownLibraryRow(BaseModel):
    """A library that can be opened."""

    id: str
    name: str
    folder: str
    place: Literal["recent", "folder"]
    open: bool


class Libraries(BaseModel):
    """Libraries that can be opened; `allowed` is false if the server shows only one library."""

    allowed: bool
    folder: str
    libraries: list[KnownLibraryRow]


class LibraryId(BaseModel):
    """Id of a library in the list."""

    id: str = Field(min_length=1, max_length=64)


class NewLibrary(BaseModel):
    """Name of a library to create in the folder whose libraries are listed."""

    name: str = Field(min_length=1, max_length=2 * LONGEST_NAME)


class OpenedLibrary(BaseModel):
    """The library that all windows now show."""

    id: str
    name: str


@router.get("/libraries")
def libraries(state: State) -> Libraries:
    """List the user's recent libraries and those in the folder where the studio was started."""
    choice = state.choice
    if choice is None:
        return Libraries(allowed=False, folder="", libraries=[])
    shown = state.library.path.absolute() if state.is_open else None
    rows = [
        KnownLibraryRow(
            id=entry.id,
            name=entry.name,
            folder=str(entry.path.parent),
            place=entry.place,
            open=entry.path == shown,
        )
        for entry in choice.known()
    ]
    return Libraries(allowed=True, folder=str(choice.folder), libraries=rows)


@router.post("/libraries/open")
def open_library(given: LibraryId, state: State, request: Request) -> OpenedLibrary:
    """Show another library in all windows; the current library's jobs are stopped."""
    path = _choice(state).path_of(given.id)
    return _exchange(request, Library(path))


@router.post("/libraries")
def new_library(given: NewLibrary, state: State, request: Request) -> OpenedLibrary:
    """Create a library in the folder where the studio was started, and show it everywhere."""
    choice = _choice(state)
    path = choice.new_path(given.name)
    try:
        made = Library.create(path)
    except OSError as error:
        raise LibraryError(
            f"{path.name} cannot be created in {choice.folder}: {error.strerror}; "
            "start the studio in another folder"
        ) from None
    return _exchange(request, made)


def _choice(state: AppState) -> LibraryChoice:
    if state.choice is None:
        raise InvalidInput(
            "this server shows only one library, because other users can access it. Open another "
            "library with: motionloom studio LIB"
        )
    return state.choice


def _exchange(request: Request, library: Library) -> OpenedLibrary:
    remember(library.path)
    app = request.app
    with app.state.exchanging:
        before: AppState = app.state.studio
        app.state.studio = before.successor(library)
    before.notify(
        "library"
    )  # windows reload the page; pending requests finish with the previous library
    before.close()
    return OpenedLibrary(id=library.store.id, name=library.path.stem)
