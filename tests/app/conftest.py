import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app import checkpoints
from app.checkpoint_shelf import BUDGET, Shelf
from app.routes import looks, router
from core import ConfigError, InputError


@pytest.fixture
def root(tmp_path, monkeypatch):
    """An empty root and an empty shelf, whose readers are in no hurry; what was there before comes back."""
    monkeypatch.setattr("app.checkpoint_shelf.PATIENCE", 60)
    before = checkpoints.settings.root, checkpoints.shelf
    checkpoints.shelf = Shelf()
    checkpoints.set_up(tmp_path / "root", BUDGET)
    (tmp_path / "root").mkdir()
    yield tmp_path / "root"
    checkpoints.settings.root, checkpoints.shelf = before


@pytest.fixture
def client(root):
    app = FastAPI()
    app.include_router(router)
    for refusal in (InputError, ConfigError):
        app.add_exception_handler(refusal, looks.say_problem)
    return TestClient(app)
