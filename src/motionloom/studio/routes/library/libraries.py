"""Other libraries: what this user may open, opening one, making a new one."""

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
    """What can be opened; nothing else can be where `allowed` is false."""

    allowed: bool
    folder: str
    libraries: list[KnownLibraryRow]


class LibraryId(BaseModel):
    """A library of the list."""

    id: str = Field(min_length=1, max_length=64)


class NewLibrary(BaseModel):
    """A library that is made in the folder of the list."""

    name: str = Field(min_length=1, max_length=2 * LONGEST_NAME)


class OpenedLibrary(BaseModel):
    """The library that all windows show now."""

    id: str
    name: str


@router.get("/libraries")
def libraries(state: State) -> Libraries:
    """Recent libraries of this user, and those in the folder where the studio was started."""
    choice = state.choice
    if choice is None:
        return Libraries(allowed=False, folder="", libraries=[])
    shown = state.library.path.absolute() if state.is_open else None
    rows = [
        KnownLibraryRow(
            id=one.id,
            name=one.name,
            folder=str(one.path.parent),
            place=one.place,
            open=one.path == shown,
        )
        for one in choice.known()
    ]
    return Libraries(allowed=True, folder=str(choice.folder), libraries=rows)


@router.post("/libraries/open")
def open_library(given: LibraryId, state: State, request: Request) -> OpenedLibrary:
    """Show another library in all windows; jobs of the present one are stopped."""
    path = _choice(state).path_of(given.id)
    return _exchange(request, Library(path))


@router.post("/libraries")
def new_library(given: NewLibrary, state: State, request: Request) -> OpenedLibrary:
    """Make a library in the folder where the studio was started, and show it in all windows."""
    choice = _choice(state)
    path = choice.new_path(given.name)
    try:
        made = Library.create(path)
    except OSError as error:
        raise LibraryError(
            f"{path.name} cannot be made in {choice.folder}: {error.strerror}; "
            "start the studio in another folder"
        ) from None
    return _exchange(request, made)


def _choice(state: AppState) -> LibraryChoice:
    if state.choice is None:
        raise InvalidInput(
            "this server shows one library, because others can use it as well; "
            "another is opened by: motionloom studio LIB"
        )
    return state.choice


def _exchange(request: Request, library: Library) -> OpenedLibrary:
    remember(library.path)
    app = request.app
    with app.state.exchanging:
        before: AppState = app.state.studio
        app.state.studio = before.successor(library)
    before.notify("library")  # windows load the page again; requests under way end as they began
    before.close()
    return OpenedLibrary(id=library.store.id, name=library.path.stem)
