"""Library methods that synthesize motion, from blends to scripts and reconstruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from motionloom.blending.settings import BlendSettings, ExampleChoice
from motionloom.fat_graph.settings import FatGraphSettings
from motionloom.motion_graph.settings import GraphSettings
from motionloom.motion_matching.settings import MatchingSettings
from motionloom.parametric.settings import ParametrizeSettings
from motionloom.reconstruction.settings import ReconstructSettings
from motionloom.settings import motion_choice, takes

if TYPE_CHECKING:
    from motionloom.blending import Blend
    from motionloom.fat_graph import FatGraph
    from motionloom.motion import Motion
    from motionloom.motion.markers import Markers
    from motionloom.motion_graph.graph import MotionGraph
    from motionloom.motion_matching import MatchingDatabase
    from motionloom.parallel import Progress
    from motionloom.parametric.parametric_motion import ParametricMotion
    from motionloom.reconstruction import Reconstruction
    from motionloom.search import Family
    from motionloom.store import Store
    from motionloom.text.scripts.rehearsal import ActedScript


class MotionVerbs:
    """Library methods that synthesize a motion from many motions."""

    store: Store

    @takes(BlendSettings)
    def blend(
        self, family: Family | str, settings: BlendSettings | None = None, **options: Any
    ) -> Blend:
        """Create a weighted blend of the members of a family.

        Parameters
        ----------
        family : Family or str
            Result of `family`, or a query, whose family is then computed first.
        settings : BlendSettings, optional

        Returns
        -------
        blend : Blend
            Call ``blend(weights)`` for a `Motion`, with one weight per member; weights sum to 1.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for performer in (0, 1):
        ...     lib.add_motion(ml.demo.clip("kick_front_high_right", performer=performer))
        >>> blend = lib.blend("kick_front_high_right_p0:5-70")
        >>> blend([0.5, 0.5])
        Motion('blend', ... frames at 30 fps = ... s, 21 joints)
        """
        from motionloom.blending import Blend, register

        given = BlendSettings.given(settings, options)
        return Blend(register(self.store, self._family(family), given))

    @takes(ParametrizeSettings)
    def parametrize(
        self,
        family: Family | str | Sequence[str],
        by: Any,
        settings: ParametrizeSettings | None = None,
        *,
        name: str | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> ParametricMotion:
        """Learn a parametric motion: a family of motions controlled by parameters.

        Parameters
        ----------
        family : Family, str or several
            Result of `family`; a query, whose family is then computed first; or names of motions,
            each of which is used in full as an example. The first is the query.
        by : Parameter, str, callable, mapping, or several
            The parameters. Each is a `Parameter` from `motionloom.at` or `motionloom.parameters`;
            its name (``right_ankle@33``, ``lowest(hips)``); a function of a motion, or a reference
            to one (``MODULE:FUNCTION``); or scores of the examples, as a mapping from motion to
            number or as a CSV file (``styles.csv``, ``styles.csv:mood,age``).
        settings : ParametrizeSettings, optional
        name : str, optional
            Save the result in the library under this name, as ``lib.parametric[name]``.
        progress : callable, optional
            Called with the number of samples drawn since the last call.

        Returns
        -------
        motion : ParametricMotion
            Call ``motion(target)`` for a `Motion`; ``motion.accessible`` has the reachable
            parameters.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for performer in (0, 1, 2):
        ...     lib.add_motion(ml.demo.clip("kick_front_mid_right", performer=performer))
        >>> family = lib.family("kick_front_mid_right_p0:0-70")
        >>> kick = lib.parametrize(family, by=ml.at("right_ankle", frame=33), samples=20)
        >>> kick(kick.accessible[-1])
        Motion('blend', ... frames at 30 fps = ... s, 21 joints)
        """
        from motionloom.blending import register
        from motionloom.parametric.artifact import save_parametric
        from motionloom.parametric.parametric_motion import check_parameters, parametrize
        from motionloom.search.query import as_query

        given = ParametrizeSettings.given(settings, options)
        dropped = given.examples
        rules = BlendSettings(
            **{each.name: getattr(dropped, each.name) for each in fields(ExampleChoice)}
        )
        if isinstance(family, Sequence) and not isinstance(family, str):
            registration = register([self.store[each] for each in family], None, rules)
        else:
            if isinstance(family, str):
                check_parameters(by, as_query(self.store, family))
            registration = register(self.store, self._family(family), rules)
        motion = parametrize(registration, by, given, name=name or "", progress=progress)
        if name is not None:
            save_parametric(self.store, motion, name)
        return motion

    @takes(GraphSettings)
    def motion_graph(
        self,
        settings: GraphSettings | None = None,
        *,
        progress: Progress | None = None,
        **options: Any,
    ) -> MotionGraph:
        """Find transitions between motions, and save the motion graph for later calls.

        Parameters
        ----------
        settings : GraphSettings, optional
        progress : callable, optional
            Called with the number of motion pairs compared since the last call.

        Returns
        -------
        graph : MotionGraph
            A graph without dead ends; ``removed`` lists the dropped parts. Transitions removed or
            locked with ``lib.graphs.edit`` remain so.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> lib.add_motion(ml.demo.clip("take_locomotion"))
        >>> graph = lib.motion_graph()
        >>> graph.walk(seconds=10, seed=1).duration
        10.0
        """
        from motionloom.motion_graph.artifact import library_graph

        given = GraphSettings.given(settings, options)
        return library_graph(self.store, given, progress=progress).graph

    @takes(FatGraphSettings)
    def fat_graph(self, settings: FatGraphSettings | None = None, **options: Any) -> FatGraph:
        """Build a fat graph: base poses connected by motions that you steer by direction and speed.

        It works best with walks, runs and turns.

        Parameters
        ----------
        settings : FatGraphSettings, optional

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for kind in ("walk", "walk_left", "walk_right"):
        ...     lib.add_motion(ml.demo.clip(kind))
        >>> player = lib.fat_graph(examples=4).player(direction=0.5, speed=1.2)
        >>> player.record(seconds=3).duration
        3.0
        """
        from motionloom.fat_graph import fat_graph
        from motionloom.search.filters import chosen_names

        given = FatGraphSettings.given(settings, options)
        names = chosen_names(self.store, **motion_choice(given))
        return fat_graph([self.store[name] for name in names], given)

    @takes(MatchingSettings)
    def motion_matching(
        self,
        settings: MatchingSettings | None = None,
        *,
        progress: Progress | None = None,
        **options: Any,
    ) -> MatchingDatabase:
        """Build a motion matching database, and save it for later calls.

        It works best with takes of walking, running, turning, starting and stopping.

        Parameters
        ----------
        settings : MatchingSettings, optional
        progress : callable, optional
            Called with 1 after every take, if the database has to be built.

        Returns
        -------
        database : MatchingDatabase
            Its ``player(...)`` method returns a character that you can steer, and ``walk(...)``
            returns a motion.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for kind in ("walk", "walk_left", "walk_right"):
        ...     lib.add_motion(ml.demo.clip(kind))
        >>> player = lib.motion_matching().player(velocity=(0.0, 1.2))
        >>> player.record(seconds=3).duration
        3.0
        """
        from motionloom.motion_matching.artifact import library_database

        given = MatchingSettings.given(settings, options)
        return library_database(self.store, given, progress=progress)

    def act(
        self, script: str, *, workers: int | None = None, progress: Progress | None = None
    ) -> ActedScript:
        """Turn a written script, a sequence of phrases, into a motion.

        Parameters
        ----------
        script : str
            Phrases, such as "walk forward 3 s, sit down, wave twice with the right hand, stand up".
            A phrase may contain a duration or a distance ("4 m") and a number of repetitions. "wave
            while walking" uses a segment that shows both, or combines the arms of one segment with
            the legs of another; ``take:30-90`` uses exactly these frames.
        workers : int, optional
            Number of processes that caption motions on the first call.
        progress : callable, optional
            Called with the number of motions captioned since the last call.

        Returns
        -------
        acted : ActedScript
            ``motion``, with its provenance and quality, and ``plan``, with the times of each
            phrase.

        Raises
        ------
        InvalidInput
            If the script is empty or too long, or if no motion shows one of the phrases.

        Examples
        --------
        >>> acted = lib.act("walk 2 s, kick with the right foot")
        >>> [row.phrase for row in acted.plan]
        ['walk 2 s', 'kick with the right foot']
        """
        from motionloom.text.scripts.rehearsal import act_script
        from motionloom.text.text_index import open_index

        index = open_index(self.store, workers=workers, progress=progress)
        return act_script(index, self.store, script)

    @takes(ReconstructSettings)
    def reconstruct(
        self,
        markers: Markers | Motion,
        settings: ReconstructSettings | None = None,
        *,
        progress: Progress | None = None,
        **options: Any,
    ) -> Reconstruction:
        """Reconstruct a whole body from a few markers, using the library's poses as a prior.

        Parameters
        ----------
        markers : Markers or Motion
            At least three joints, ideally wrists, ankles, head and hips; gaps are NaN. For a
            motion, these six joints are used.
        settings : ReconstructSettings, optional
        progress : callable, optional
            Called with the number of frames done since the last call.

        Returns
        -------
        motion : Reconstruction
            Motion of the performer, with a ``confidence`` per frame and the ``lost`` markers.

        Raises
        ------
        InvalidInput, RoleError
            If there are too few markers, their labels or unit are unknown, or the skeleton does
            not fit them.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for performer in (0, 1):
        ...     lib.add_motion(ml.demo.clip("walk", performer=performer))
        >>> walk = ml.demo.clip("walk", performer=2)
        >>> body = lib.reconstruct(walk, skeleton=walk.skeleton)
        >>> len(body) == len(walk), body.confidence.shape == (len(walk),)
        (True, True)
        """
        from motionloom.formats import load
        from motionloom.reconstruction import reconstruct

        given = ReconstructSettings.given(settings, options)
        if isinstance(given.skeleton, str):
            named = given.skeleton
            body = self.store[named] if named in self.store else load(named)
            given = replace(given, skeleton=body.skeleton)
        return reconstruct(self.store, markers, given, progress=progress)

    def _family(self, family: Family | str) -> Family:
        if not isinstance(family, str):
            return family
        from motionloom.search.match_graph.growth import library_family
        from motionloom.search.settings import FamilySettings

        return library_family(self.store, family, FamilySettings())
