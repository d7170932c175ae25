"""Forward and two-bone inverse kinematics, body measures, and carrier joints above the hips."""
