"""Forward kinematics, two-bone inverse kinematics, centre of mass."""
