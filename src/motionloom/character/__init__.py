"""Characters: the neutral body and skinned meshes."""

from motionloom.character.body import FIGURES, body_mesh, figure_mesh, has_body, t_pose
from motionloom.character.skin_weights import bound_mesh
from motionloom.character.skinned_mesh import Material, SkinnedMesh, rest_pose, transform_matrices

__all__ = [
    "FIGURES",
    "Material",
    "SkinnedMesh",
    "body_mesh",
    "bound_mesh",
    "figure_mesh",
    "has_body",
    "rest_pose",
    "t_pose",
    "transform_matrices",
]
