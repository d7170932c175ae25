"""Pictures of moving bodies: figures, film strips, films, views from above."""
