"""Motion annotations: labels, beats and captions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motionloom.dance.settings import BeatSettings
from motionloom.errors import InvalidInput
from motionloom.settings import takes
from motionloom.store.ingest.labels import checked_labels

if TYPE_CHECKING:
    from motionloom.dance.motion_beats.beats import Beats
    from motionloom.dance.motion_beats.manual_beats import GivenBeats
    from motionloom.motion.segment import Segment
    from motionloom.parallel import Progress
    from motionloom.store import Store
    from motionloom.text.captions import Event
    from motionloom.text.label_files import LabelRow


def count_segment_rows(path: str) -> int:
    """Count the rows of a label file that label a segment. Other files have none."""
    from motionloom.text.label_files import SUFFIXES, read_labels

    if not path.lower().endswith(SUFFIXES) or not Path(path).is_file():
        return 0
    try:
        return sum(row.start is not None for row in read_labels(path))
    except InvalidInput:  # a table with other columns
        return 0


class LabelCollection(Mapping[str, tuple[str, ...]]):
    """Mapping from motion names in a library to sorted labels.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> lib.add_motion(ml.demo.clip("take_locomotion"), name="take")
    >>> lib.labels["take"] = ["walk", "calm"]
    >>> lib.labels["take"], lib.labels.counts(), lib.labels.motions("calm")
    (('calm', 'walk'), {'calm': 1, 'walk': 1}, ('take',))
    >>> lib.labels.add("take:268-421", "jog")
    >>> [(str(segment), label) for segment, label in lib.labels.segments("take")]
    [('take:268-421', 'jog')]
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getitem__(self, name: str) -> tuple[str, ...]:
        return self._store.labels(name)

    def __setitem__(self, name: str, labels: Iterable[str]) -> None:
        self._store.set_labels(name, labels)

    def __iter__(self) -> Iterator[str]:
        return iter(self._store.names)

    def __len__(self) -> int:
        return len(self._store)

    def labeled(self) -> dict[str, tuple[str, ...]]:
        """Return the labels of all labeled motions, using a single database query."""
        return self._store.catalogue.labels()

    def counts(self) -> dict[str, int]:
        """Return the number of motions with each label."""
        return self._store.label_counts()

    def motions(self, label: str) -> tuple[str, ...]:
        """Return the names of the motions with this label."""
        return self._store.with_label(label)

    def segments(self, name: str) -> list[tuple[Segment, str]]:
        """Return the labeled segments of a motion, in temporal order."""
        return self._store.segment_labels(name)

    def add(self, place: str, *labels: str) -> None:
        """Add labels to a motion (``NAME``) or a segment (``NAME:START-END``)."""
        self._store.label(place, *labels)

    def remove(self, place: str, *labels: str) -> None:
        """Remove labels from a motion or from a segment."""
        self._store.label(place, *labels, remove=True)

    def read(self, path: str | Path) -> dict[str, int]:
        r"""Add the labels in a CSV file, an ELAN file or a BABEL-style JSON file.

        Parameters
        ----------
        path : str or Path
            File to read; see `motionloom.text.label_files`. Each row refers to a motion by its name
            in the library, or by the end of that name.

        Returns
        -------
        report : dict
            ``labels``, the number of labels added; ``motions``, the number of motions that received
            them; ``unmatched``, the number of rows whose motion is not in the library.

        Raises
        ------
        InvalidInput
            If the file is damaged or no row matches a motion. The library is then unchanged.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = ml.Library.create(f"{folder}/takes.loom")
        ...     made.add_motion(ml.demo.clip("walk"), name="walk")
        ...     _ = (made.path / "a.csv").write_text("motion,start,end,label\nwalk,1,2,calm\n")
        ...     print(made.labels.read(made.path / "a.csv"))
        {'labels': 1, 'motions': 1, 'unmatched': 0}
        """
        from motionloom.text.label_files import read_labels

        store, rows = self._store, read_labels(path)
        by_end: dict[str, list[str]] = {}
        for each in store.names:
            by_end.setdefault(each.rpartition("/")[2], []).append(each)
        whole: dict[str, list[str]] = {}
        parts: list[tuple[str, int, int, str]] = []
        unmatched = 0
        for row in rows:
            short = by_end.get(row.motion.rpartition("/")[2], [])
            name = row.motion if row.motion in store else short[0] if len(short) == 1 else None
            if name is None:
                unmatched += 1
            elif row.start is None or row.end is None:
                whole.setdefault(name, []).append(row.label)
            else:
                parts.append((name, *self._frames(name, row), row.label))
        if not whole and not parts:
            raise InvalidInput(
                f"{path}: no label in this file refers to a motion of the library "
                f"(labels read: {len(rows)})"
            )
        with store.change("label"):
            merged = {name: [*self[name], *labels] for name, labels in whole.items()}
            store.catalogue.put(labels={name: checked_labels(merged[name]) for name in merged})
            if parts:
                store.catalogue.put_segment_labels(parts)
        return {
            "labels": sum(map(len, whole.values())) + len(parts),
            "motions": len({*whole, *(name for name, *_ in parts)}),
            "unmatched": unmatched,
        }

    def write(
        self,
        path: str | Path,
        *,
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
    ) -> int:
        """Write the labels of motions and segments to a CSV, ELAN or BABEL-style JSON file.

        Returns
        -------
        labels : int
            Number of labels written.
        """
        from motionloom.search.filters import chosen_names
        from motionloom.text.label_files import LabelRow, write_labels

        store = self._store
        rows = []
        for name in chosen_names(store, label=label, only=only, exclude=exclude):
            rows += [LabelRow(name, text) for text in self[name]]
            rows += [
                LabelRow(name, text, round(part.start, 4), round(part.end, 4))
                for part, text in self.segments(name)
            ]
        if not rows:
            raise InvalidInput(f"{store.path}: there are no labels to write")
        lengths = {entry.name: entry.frames / entry.fps for entry in store.entries()}
        write_labels(rows, path, lengths)
        return len(rows)

    def _frames(self, name: str, row: LabelRow) -> tuple[int, int]:
        """Return the frames ``[start, end)`` of a motion that a label covers."""
        entry = self._store.entry(name)
        rate = 1.0 if row.in_frames else entry.fps
        start = round((row.start or 0.0) * rate)
        end = min(max(round((row.end or 0.0) * rate), start + 1), entry.frames)
        if start >= end:
            raise InvalidInput(
                f"{name}: the label {row.label!r} starts at frame {start}, but the motion "
                f"has only {entry.frames} frames"
            )
        return start, end


class BeatCollection:
    """Motion beats of a library's takes, detected or set by hand.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> lib.add_motion(ml.demo.clip("dance_groove"), name="groove")
    >>> lib.beats["groove"].rhythmic
    True
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getitem__(self, take: str) -> Beats:
        return self.of(take)

    @takes(BeatSettings)
    def of(
        self, take: str | Sequence[str], settings: BeatSettings | None = None, **options: Any
    ) -> Beats:
        """Return the beats of a take, or of several takes danced together; see `motionloom.beats`.

        A tempo, first beat and partners saved with `set` are taken into account.

        Parameters
        ----------
        take : str or sequence of str
        settings : BeatSettings, optional
        """
        from motionloom.dance.motion_beats.manual_beats import beats_in

        together = [take] if isinstance(take, str) else list(take)
        beats_of = beats_in(self._store, self._store.__getitem__)
        motions = [self._store[name] for name in together]
        return beats_of(motions, BeatSettings.given(settings, options))

    def is_rhythmic(self, take: str) -> bool:
        """Return whether a take is rhythmic; False if it is too short or lacks feet."""
        return self.tempos([take])[take] is not None

    def tempos(
        self, takes: Iterable[str] | None = None, *, progress: Progress | None = None
    ) -> dict[str, float | None]:
        """Return the tempo of each take in beats per minute; None if it is not rhythmic.

        Tempos are stored with the library, so each take is analyzed only once.

        Parameters
        ----------
        takes : iterable of str, optional
            Default: all takes.
        progress : callable, optional
            Called with 1 for every take.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> lib.add_motion(ml.demo.clip("dance_groove"), name="groove")
        >>> lib.add_motion(ml.demo.clip("kick_front_mid_right"), name="kick")
        >>> {take: tempo is not None for take, tempo in lib.beats.tempos().items()}
        {'groove': True, 'kick': False}
        """
        from motionloom.dance.motion_beats.stored_rhythms import stored_tempos

        return stored_tempos(self._store, self._store.names if takes is None else takes, progress)

    def events(self, takes: Sequence[str]) -> dict[str, list[float]]:
        """Return the times of the beats of takes in seconds; takes without rhythm are absent."""
        times = {}
        for name in takes:
            if self.is_rhythmic(name):
                times[name] = [float(time) for time in self[name].times]
        return times

    def manual(self) -> dict[str, GivenBeats]:
        """Return the beats, tempos and partners saved with `set`, by take."""
        from motionloom.dance.motion_beats.manual_beats import given_beats

        return given_beats(self._store)

    def set(
        self,
        takes: str | Sequence[str],
        *,
        bpm: float | None = None,
        first_beat: float | None = None,
        times: Sequence[float] | None = None,
    ) -> tuple[str, ...]:
        """Set the tempo, first beat and partners of takes, for use by all methods.

        Parameters
        ----------
        takes : str or sequence of str
            Name of a take. Names in a list, or joined with ``+``, refer to takes of one
            performance, whose beats are detected together. Wildcards pair corresponding names:
            ``"60_*+61_*"``.
        bpm : float, optional
            Tempo, in beats per minute. Default: detected.
        first_beat : float, optional
            Time of the first beat, in seconds. Default: detected.
        times : sequence of float, optional
            All beat times, in seconds, instead of detected beats. See `edit`.

        Returns
        -------
        names : tuple of str
            The takes that were changed. For a single take without any values, saved values are
            deleted.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> lib.add_motion(ml.demo.clip("dance_groove"), name="groove")
        >>> lib.beats.set("groove", bpm=100.0, first_beat=0.5)
        ('groove',)
        >>> lib.beats["groove"].times[:3]
        array([0.5, 1.1, 1.7])
        """
        from motionloom.dance.motion_beats.manual_beats import (
            GivenBeats,
            checked_times,
            save_given_beats,
        )
        from motionloom.search.filters import expanded

        BeatSettings(bpm=bpm, first_beat=first_beat)  # raises if the values are invalid
        store, manual = self._store, self.manual()
        text = takes if isinstance(takes, str) else "+".join(takes)
        changed: list[str] = []
        for group in expanded(text, store.names):
            together = group.split("+")
            for name in together:
                entry = store.entry(name)  # raises if there is no such take
                beats = () if times is None else checked_times(times, entry.frames / entry.fps)
                partners = tuple(other for other in together if other != name)
                _keep(manual, name, GivenBeats(bpm, first_beat, partners, beats))
                changed.append(name)
        with store.change(f"beats of {text}"):
            save_given_beats(store, manual)
        return tuple(changed)

    def edit(
        self,
        take: str,
        *,
        times: Sequence[float] | None = None,
        move: Mapping[int, float] | None = None,
        add: Sequence[float] = (),
        remove: Sequence[int] = (),
    ) -> Beats:
        """Move, add and remove single beats of a take, and save them in the library.

        Parameters
        ----------
        take : str
        times : sequence of float, optional
            All beat times, in seconds, which replace the current ones. An empty sequence deletes
            saved beats, so that beats are detected again.
        move : mapping of int to float, optional
            New times in seconds, by the index of the beat; the first beat is 0.
        add : sequence of float
            Times of new beats, in seconds.
        remove : sequence of int
            Indices of beats to remove.

        Returns
        -------
        beats : Beats
            All beats after the change. A saved tempo, first beat and partners are kept.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> lib.add_motion(ml.demo.clip("dance_groove"), name="groove")
        >>> before = lib.beats["groove"].times
        >>> after = lib.beats.edit("groove", move={2: before[2] + 0.05}, remove=[0])
        >>> len(before) - len(after), round(float(lib.beats["groove"].times[1] - before[2]), 3)
        (1, 0.05)
        """
        from motionloom.dance.motion_beats.manual_beats import (
            GivenBeats,
            checked_times,
            edited_times,
            save_given_beats,
        )

        entry = self._store.entry(take)
        before = self[take].times.tolist() if times is None else times
        changed = edited_times(before, move=move, add=add, remove=remove)
        kept = checked_times(changed, entry.frames / entry.fps) if len(changed) else ()
        manual = self.manual()
        _keep(manual, entry.name, replace(manual.get(entry.name, GivenBeats()), times=kept))
        with self._store.change(f"beats of {entry.name}"):
            save_given_beats(self._store, manual)
        return self[take]


def _keep(manual: dict[str, GivenBeats], name: str, beats: GivenBeats) -> None:
    """Store the settings of a take, or delete its row if there are none."""
    manual.pop(name, None)
    if beats != type(beats)():
        manual[name] = beats


class CaptionCollection:
    """Motion captions: events found by fixed rules, and words learned from labels.

    Examples
    --------
    >>> "kick" in [event.name for event in lib.captions["kick_front_high_right"]]
    True
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getitem__(self, name: str) -> list[Event]:
        """Return the events of a motion in temporal order, each with its start, end and phrase.

        Raises
        ------
        RoleError
            If the skeleton lacks a joint of the trunk, arms or legs.
        """
        from motionloom.text.captions import captions

        return captions(self._store[name])

    def describe(self, *, workers: int | None = None, progress: Progress | None = None) -> int:
        """Caption and index all motions in advance; otherwise `Library.find` does so when needed.

        Returns
        -------
        motions : int
            Number of motions in the index.
        """
        from motionloom.text.text_index import open_index

        return len(open_index(self._store, workers=workers, progress=progress))

    def words(self, name: str, max: int = 5) -> list[tuple[str, float]]:
        """Predict words for a motion from descriptions of similar motions, with confidences.

        The words are learned from described takes of the CMU database, which come with motionloom,
        and from the labels in the library. Their confidence is the proportion of correct
        predictions, measured on other performers and labels.

        Returns
        -------
        words : list of (str, float)
            Most likely first; empty if the motion lacks body joints.
        """
        from motionloom.text.text_index import open_index

        place = self._store.entry(name).name
        index = open_index(self._store)
        return index.predicted_words(index.names.index(place), max)
