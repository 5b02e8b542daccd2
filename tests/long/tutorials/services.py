"""Follows docs/tutorials/fastapi-service.md and express-service.md as they are written."""

from stage import Stage


def check():
    for page, client in [("fastapi", "python"), ("express", "typescript")]:
        with Stage(f"tutorials/{page}-service.md", 8000, 50051, 3000) as stage:
            stage.copy(f"clients/{client}")
            stage.type()
