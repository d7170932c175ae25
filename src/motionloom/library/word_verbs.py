"""Verbs of a library that use words: captions, finding by text, labels in files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from motionloom.errors import InvalidInput, MotionloomError
from motionloom.parallel import Progress
from motionloom.settings import motion_choice
from motionloom.store import Store
from motionloom.store.ingest.labels import checked_labels
from motionloom.text.settings import FINENESS

if TYPE_CHECKING:
    from motionloom.evaluation.captions import SentenceScores
    from motionloom.text.captions import Event
    from motionloom.text.clusters import Cluster
    from motionloom.text.label_files import LabelRow
    from motionloom.text.scripts.candidates import PhraseOptions
    from motionloom.text.scripts.plan import PlannedPhrase
    from motionloom.text.scripts.rehearsal import ActedScript
    from motionloom.text.settings import ClusterSettings, FindSettings
    from motionloom.text.text_search import TextMatches


class WordVerbs(Store):
    """Verbs that use words."""

    def captions(self, name: str) -> list[Event]:
        """What a motion shows, by rule: events with start, end and a phrase, in order of time.

        Raises
        ------
        RoleError
            If the skeleton lacks a joint of trunk, arms or legs.

        Examples
        --------
        >>> "kick" in [event.name for event in lib.captions("kick_front_high_right")]
        True
        """
        from motionloom.text.captions import captions

        return captions(self[name])

    def find(
        self,
        text: str,
        *,
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        max: int | None = 20,
        every: bool = False,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> TextMatches:
        """Find motions by describing them.

        Motions whose name or labels contain every word come first. The others are ranked by
        their names, labels and captions, and by words that were learnt from the labels of
        similar motions. Events in the order of the query ("kicks, then turns left", "waves while
        walking") give the segment. The first call describes all motions, which takes a moment.

        Parameters
        ----------
        text : str
            A description in English; upper and lower case are the same.
        label, only, exclude : str or several, optional
            Which motions to look at.
        max : int, optional
            Greatest number of results; None for all.
        every : bool
            Every segment of a motion that answers the text, not its best alone.
        workers : int, optional
            Processes that describe motions. Default: one per core, fewer for little work.
        progress : callable, optional
            Called with the number of motions described since the last call.

        Returns
        -------
        findings : TextMatches
            A sequence of `TextMatch`, best first: ``motion``, ``start_frame``, ``end_frame``,
            ``text``, ``words``; ``findings.motions`` are the names, ``findings.unknown`` the
            words that nothing is known of.

        Raises
        ------
        InvalidInput
            If the text has no words, or is too long.

        Examples
        --------
        >>> lib.find("kick high").motions[0]
        'kick_front_high_right'
        """
        from motionloom.text.settings import FindSettings
        from motionloom.text.text_index import open_index
        from motionloom.text.text_search import find

        settings = FindSettings.from_arguments(locals())
        if not text.strip():
            raise InvalidInput("text must have at least one word; got none")
        among = self._among(settings)
        index = open_index(self, workers=settings.workers, progress=progress)
        literal = self._literal(text)
        return find(index, text, among=among, literal=literal, most=settings.max, every=every)

    def plan(
        self, script: str, *, workers: int | None = None, progress: Progress | None = None
    ) -> tuple[PlannedPhrase, ...]:
        """The segments with which `act` would act a script, in order.

        Each row has the ``phrase``, ``motion``, ``start_frame``, ``end_frame``, the caption
        ``text``, the ``match`` (1: all of the phrase), the cost of the ``seam`` before it, the
        ``arms`` that are put on it, and whether captions of the result have ``shown`` it. Its
        text, ``take:30-90``, can stand for the phrase in another script.
        """
        return self.act(script, workers=workers, progress=progress).plan

    def phrase_options(
        self, script: str, *, workers: int | None = None, progress: Progress | None = None
    ) -> list[PhraseOptions]:
        """Segments that each phrase of a script may be acted with, to choose another than `plan`.

        Returns
        -------
        options : list of PhraseOptions
            ``phrase``, as written, its ``candidates``, best first, and what comes ``near`` where
            there are none. The text of a candidate, ``take:30-90``, can stand for the phrase.

        Examples
        --------
        >>> fly, kick = lib.phrase_options("fly, kick high")
        >>> len(fly.candidates), kick.candidates[0].motion
        (0, 'kick_front_high_right')
        """
        from motionloom.text.scripts.candidates import phrase_options
        from motionloom.text.text_index import open_index

        index = open_index(self, workers=workers, progress=progress)
        return phrase_options(index, self, script)

    def act(
        self, script: str, *, workers: int | None = None, progress: Progress | None = None
    ) -> ActedScript:
        """Act a script: phrases in words, one after the other, become one motion.

        Parameters
        ----------
        script : str
            "walk forward 3 s, sit down, wave twice with the right hand, stand up". A phrase may
            have a duration or a distance ("4 m") and a number of repetitions. "wave while walking"
            takes a segment that shows both, or else puts the arms of one on the legs of another;
            ``take:30-90`` asks for these very frames.
        workers : int, optional
            Processes that describe motions, the first time.
        progress : callable, optional
            Called with the number of motions described since the last call.

        Returns
        -------
        acted : ActedScript
            ``motion``, with its provenance and quality, and ``plan`` with the seconds of each
            phrase.

        Raises
        ------
        InvalidInput
            If the script is empty, too long, or has a phrase that no motion shows.

        Examples
        --------
        >>> acted = lib.act("walk 2 s, kick with the right foot")
        >>> [row.phrase for row in acted.plan]
        ['walk 2 s', 'kick with the right foot']
        """
        from motionloom.text.scripts.rehearsal import act_script
        from motionloom.text.text_index import open_index

        index = open_index(self, workers=workers, progress=progress)
        return act_script(index, self, script)

    def clusters(
        self,
        *,
        fineness: float = FINENESS,
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> list[Cluster]:
        """Put takes that are alike into clusters, and propose a name for each.

        For a first look at takes that nobody has labelled: label a cluster at once, walk, dance or
        parametrize it. Whole takes are compared; see `motionloom.text.clusters`.

        Parameters
        ----------
        fineness : float
            Greatest distance within a cluster, as a share of the median distance of two takes:
            less makes more clusters.
        label, only, exclude : str or several, optional
            Which motions.
        workers : int, optional
            Processes that describe motions, the first time. Default: one per core.
        progress : callable, optional
            Called with 1 for every motion that is described.

        Returns
        -------
        clusters : list of Cluster
            The largest first: ``name``, ``motions`` (the most typical first), ``kind``. Motions
            without the joints of a body are in none.

        Raises
        ------
        LibraryError, RoleError
            If the library is empty, or none of its motions can be compared.

        Examples
        --------
        >>> [cluster.motions for cluster in lib.clusters(only=["walk", "walk_fast", "jog"])]
        [('walk', 'walk_fast'), ('jog',)]
        """
        from motionloom.text.clusters import library_clusters
        from motionloom.text.settings import ClusterSettings

        settings = ClusterSettings.from_arguments(locals())
        return library_clusters(
            self, self._among(settings), settings, rhythmic=self._is_rhythmic, progress=progress
        )

    def _is_rhythmic(self, name: str) -> bool:
        from motionloom.dance.manual_beats import beats_in
        from motionloom.dance.settings import BeatSettings

        try:
            return beats_in(self, self.__getitem__)([self[name]], BeatSettings()).rhythmic
        except MotionloomError:  # too short, or without feet
            return False

    def learnt_words(self, name: str, max: int = 5) -> list[tuple[str, float]]:
        """Words that motions like this one are called, each with its confidence.

        They are learnt from the labels of the other motions of the library, and their confidence
        is measured on motions that have labels: the share of such predictions that are right.

        Returns
        -------
        words : list of (str, float)
            The most likely first; empty if too few motions have labels.
        """
        from motionloom.text.text_index import open_index

        place = self.entry(name).name
        index = open_index(self)
        if index.learnt is None:
            return []
        return index.learnt.words_of(index.names.index(place), max)

    def describe(self, *, workers: int | None = None, progress: Progress | None = None) -> int:
        """Describe all motions and index their words, as `find` does when needed.

        Returns
        -------
        motions : int
            How many motions the index has.
        """
        from motionloom.text.text_index import open_index

        return len(open_index(self, workers=workers, progress=progress))

    def evaluate_sentences(
        self,
        sentences: str | Path,
        *,
        same: str | Path | None = None,
        performer: str = r"^([^_/]+)_",
        folds: int = 2,
        seed: int = 0,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> SentenceScores:
        """Score finding by sentences: how often the take of a sentence is among the first ten.

        Parameters
        ----------
        sentences : str or Path
            CSV file with the columns ``take`` and ``sentence``.
        same : str or Path, optional
            CSV file with the columns ``file`` and ``duplicate_of``: takes that repeat another.
        performer : str
            Regular expression on the name of a take; its group is the performer.
        folds : int
            Parts into which the performers are divided. The takes of one part are ranked, and
            words are learnt from labels and sentences of the others only.
        seed : int
            Seed of the division.
        workers : int, optional
            Processes that describe motions.
        progress : callable, optional
            Called with the number of motions described since the last call.

        Returns
        -------
        scores : SentenceScores
            ``motion``: from captions and learnt words alone; ``with_labels``: with the labels of
            the takes, too; ``chance``.
        """
        from motionloom.evaluation.captions import score_sentences
        from motionloom.evaluation.settings import SentenceSettings

        settings = SentenceSettings.from_arguments(locals())
        return score_sentences(self, sentences, settings, progress)

    def import_labels(self, path: str | Path) -> dict[str, int]:
        r"""Add the labels of a file: CSV, ELAN or JSON as in BABEL.

        Parameters
        ----------
        path : str or Path
            See `motionloom.text.label_files`. A motion is named as in the library, or by the end
            of its name.

        Returns
        -------
        report : dict
            ``labels``: labels added; ``motions``: to how many motions; ``unmatched``: rows whose
            motion the library does not have.

        Raises
        ------
        InvalidInput
            If the file is damaged or no row names a motion; nothing is changed then.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = ml.Library.create(f"{folder}/takes.loom")
        ...     made.add_motion(ml.demo.clip("walk"), name="walk")
        ...     _ = (made.path / "a.csv").write_text("motion,start,end,label\nwalk,1,2,calm\n")
        ...     print(made.import_labels(made.path / "a.csv"))
        {'labels': 1, 'motions': 1, 'unmatched': 0}
        """
        from motionloom.text.label_files import read_labels

        rows = read_labels(path)
        by_end: dict[str, list[str]] = {}
        for each in self.names:
            by_end.setdefault(each.rpartition("/")[2], []).append(each)
        whole: dict[str, list[str]] = {}
        parts: list[tuple[str, int, int, str]] = []
        unmatched = 0
        for row in rows:
            short = by_end.get(row.motion.rpartition("/")[2], [])
            known = row.motion if row.motion in self else short[0] if len(short) == 1 else None
            if known is None:
                unmatched += 1
                continue
            if row.start is None or row.end is None:
                whole.setdefault(known, []).append(row.label)
            else:
                parts.append((known, *self._frames(known, row), row.label))
        if not whole and not parts:
            raise InvalidInput(
                f"{path}: none of its {len(rows)} labels names a motion of the library"
            )
        with self.change("label"):
            held = {name: [*self.labels(name), *labels] for name, labels in whole.items()}
            self.catalogue.put(labels={name: checked_labels(held[name]) for name in held})
            if parts:
                self.catalogue.put_segment_labels(parts)
        return {
            "labels": sum(map(len, whole.values())) + len(parts),
            "motions": len({*whole, *(name for name, *_ in parts)}),
            "unmatched": unmatched,
        }

    def export_labels(
        self,
        path: str | Path,
        *,
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
    ) -> int:
        """Write the labels of motions and segments to a CSV, ELAN or BABEL-like JSON file.

        Returns
        -------
        labels : int
            How many were written.
        """
        from motionloom.text.label_files import LabelRow, write_labels

        chosen = self.names
        if any(each is not None for each in (label, only, exclude)):
            from motionloom.search.filters import chosen_names

            chosen = tuple(chosen_names(self, label=label, only=only, exclude=exclude))
        rows = []
        for name in chosen:
            rows += [LabelRow(name, text) for text in self.labels(name)]
            rows += [
                LabelRow(name, text, round(part.start, 4), round(part.end, 4))
                for part, text in self.segment_labels(name)
            ]
        if not rows:
            raise InvalidInput(f"{self.path}: there are no labels to write")
        lengths = {e.name: e.frames / e.fps for e in self.entries()}
        write_labels(rows, path, lengths)
        return len(rows)

    def _frames(self, name: str, row: LabelRow) -> tuple[int, int]:
        """The frames ``[start, end)`` of a motion that a label is of."""
        entry = self.entry(name)
        rate = 1.0 if row.in_frames else entry.fps
        start = round((row.start or 0.0) * rate)
        end = min(max(round((row.end or 0.0) * rate), start + 1), entry.frames)
        if start >= end:
            raise InvalidInput(
                f"{name}: the label {row.label!r} starts at frame {start}, after the end of the "
                f"motion at {entry.frames}"
            )
        return start, end

    def _among(self, settings: FindSettings | ClusterSettings) -> set[str] | None:
        chosen = motion_choice(settings)
        if not any(chosen.values()):
            return None
        from motionloom.search.filters import chosen_names

        return set(chosen_names(self, **chosen))

    def _literal(self, text: str) -> dict[str, int]:
        """Motions whose name or labels contain every word: 2 as whole words, 1 as parts of some."""
        asked = text.casefold().split()
        labels = self.catalogue.labels()
        of_segments: dict[str, list[str]] = {}
        for name, _, _, label in self.catalogue.segment_labels():
            of_segments.setdefault(name, []).append(label)
        found = {}
        for name in self.names:
            known = " ".join([name, *labels.get(name, ()), *of_segments.get(name, ())]).casefold()
            if all(word in known for word in asked):
                whole = re.split(r"[\W_]+", known)
                found[name] = 2 if all(word in whole for word in asked) else 1
        return found
