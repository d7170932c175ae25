"""Pictures of moving bodies: stick figures, film strips, animations, and views from above."""
