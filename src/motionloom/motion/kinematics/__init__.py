"""Forward kinematics, two-bone inverse kinematics, center of mass."""
