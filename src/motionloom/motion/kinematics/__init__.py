"""Forward and two-bone inverse kinematics, body measurements, and carrier joints above the hips."""
