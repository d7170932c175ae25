"""Forward and two-bone inverse kinematics, body measurements, and joints above the hips."""
