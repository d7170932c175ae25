"""Forward kinematics by recursion, one frame and one point at a time, with matrices."""

from naive.rotations import applied, product, quaternion_matrix


def point_position(frame, point, parents, offsets, rotations, root):
    """World position of one point; points beyond the rotations are end sites.

    `offsets` are those of this frame.
    """
    if parents[point] < 0:
        return [float(value) for value in root[frame]]
    parent = int(parents[point])
    base = point_position(frame, parent, parents, offsets, rotations, root)
    turned = applied(global_matrix(frame, parent, parents, rotations), offsets[point])
    return [base[axis] + turned[axis] for axis in range(3)]


def global_matrix(frame, joint, parents, rotations):
    own = quaternion_matrix(rotations[frame][joint])
    if parents[joint] < 0:
        return own
    return product(global_matrix(frame, int(parents[joint]), parents, rotations), own)
