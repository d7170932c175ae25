"""Verbs of a library that blend: blends, parametric motions, reconstruction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from motionloom.library.search_verbs import SearchVerbs

if TYPE_CHECKING:
    from motionloom.blending import Blend
    from motionloom.distance import FeatureSet
    from motionloom.motion import Motion, Skeleton
    from motionloom.motion.markers import Markers
    from motionloom.parallel import Progress
    from motionloom.parametric.parametric_motion import ParametricMotion
    from motionloom.reconstruction import Reconstruction
    from motionloom.search import Family


class BlendVerbs(SearchVerbs):
    """Verbs that make one motion from many: blends, parametric motions, reconstruction."""

    def blend(
        self, family: Family | str, *, leave_out_unmatched: bool = False, **options: Any
    ) -> Blend:
        """Weighted blends of the members of a family.

        Parameters
        ----------
        family : Family or str
            From `family`; or a query, whose family is found first.
        leave_out_unmatched : bool
            Leave out members whose feet stand when the query's do not, instead of raising.
        **options
            ``query``, ``skeleton``, ``fps``, ``distance`` of `motionloom.blending.register`.

        Returns
        -------
        blend : Blend
            ``blend(weights)`` is a `Motion`; one weight per node, summing up to 1.

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

        found = self.family(family) if isinstance(family, str) else family
        return Blend(register(self, found, leave_out_unmatched=leave_out_unmatched, **options))

    def parametrize(
        self,
        family: Family | str | Sequence[str],
        by: Any,
        *,
        samples: int = 1000,
        delta: float = 0.1,
        spacing: float = 0.0127,
        redundant: float | None = None,
        leave_out_unmatched: bool = False,
        seed: int = 0,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> ParametricMotion:
        """A family of motions that is asked for by what it should do.

        Parameters
        ----------
        family : Family, str or several
            From `family`; or a query, whose family is found first; or names of motions,
            each an example from start to end. The first is the query.
        by : Parameter, str, callable, or several
            What to ask it by: `motionloom.at`, `motionloom.final_root_position`, ..., their
            texts (``right_ankle@33``, ``lowest(hips)``), or any function of a motion.
        samples : int
            Blends that are tried to learn how parameters depend on blend weights.
        delta : float
            How far blend weights may leave 0..1.
        spacing : float
            Least distance of two samples, in the unit of the parameters.
        redundant : float, optional
            Leave out examples whose parameters the others reach within this distance.
        leave_out_unmatched : bool
            Leave out examples whose feet stand when the query's do not, instead of raising.
        seed : int
        name : str, optional
            Keep it in the library under this name; see `parametric`.
        progress : callable, optional
            Called with the number of samples since the last call.

        Returns
        -------
        motion : ParametricMotion
            ``motion(target)`` is a `Motion`; ``motion.accessible`` what it can reach.

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
        from motionloom.parametric.parametric_motion import parametrize as parametric_motion

        found = self.family(family) if isinstance(family, str) else family
        registration = (
            register([self[one] for one in found], leave_out_unmatched=leave_out_unmatched)
            if isinstance(found, Sequence)
            else register(self, found, leave_out_unmatched=leave_out_unmatched)
        )
        motion = parametric_motion(
            registration,
            by,
            samples=samples,
            delta=delta,
            spacing=spacing,
            redundant=redundant,
            seed=seed,
            name=name or "",
            progress=progress,
        )
        if name is not None:
            save_parametric(self, motion, name)
        return motion

    def parametric(self, name: str, *, by: Any = None) -> ParametricMotion:
        """A parametric motion that was kept under a name; `by` only where that is a function.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for performer in (0, 1, 2):
        ...     lib.add_motion(ml.demo.clip("kick_front_mid_right", performer=performer))
        >>> ankle = ml.at("right_ankle", frame=33)
        >>> _ = lib.parametrize(lib.names, by=ankle, samples=20, name="kick")
        >>> lib.parametric_names, lib.parametric("kick").accessible.shape[1]
        (('kick',), 3)
        """
        from motionloom.parametric.artifact import open_parametric

        return open_parametric(self, name, by=by)

    def reconstruct(
        self,
        markers: Markers | Motion,
        *,
        skeleton: Skeleton | Motion | None = None,
        roles: Mapping[str, str] | None = None,
        mode: Literal["offline", "online"] = "offline",
        features: str | FeatureSet = "e15",
        neighbours: int = 512,
        within: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        without: str | Iterable[str] | None = None,
        progress: Progress | None = None,
    ) -> Reconstruction:
        """A whole body from a few tracked points and how this library's people move.

        Parameters
        ----------
        markers : Markers or Motion
            At least three joints, best wrists, ankles, head and hips; gaps are NaN. Of a
            motion those six joints are taken.
        skeleton : Skeleton or Motion, optional
            The performer's. Default: one of the library's, scaled to the markers.
        roles : mapping, optional
            Role to label, where labels do not say.
        mode : {"offline", "online"}
            The whole sequence at once, or frame after frame knowing only the past.
        features : str or FeatureSet
            What neighbours in the library are found by.
        neighbours : int
            Poses in a local model.
        within, only, without : optional
            Which motions of the library count; as in `search`.
        progress : callable, optional
            Called with the number of frames done since the last call.

        Returns
        -------
        motion : Reconstruction
            A `Motion` of the performer, with ``confidence`` per frame and ``lost`` markers.

        Raises
        ------
        InvalidInput, RoleError
            If markers are too few, of unknown names or another unit, or the skeleton does
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
        from motionloom.reconstruction import reconstruct as reconstruction_of

        return reconstruction_of(
            self,
            markers,
            skeleton=skeleton,
            roles=roles,
            mode=mode,
            features=features,
            neighbours=neighbours,
            within=within,
            only=only,
            without=without,
            progress=progress,
        )
