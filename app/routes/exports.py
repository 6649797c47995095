"""Route of a run as a site: a ZIP of pages that scrub from disk."""

from __future__ import annotations

from fastapi import APIRouter, Response

from app.export.run_site import zipped_site
from app.routes.runs import InputRequest, file_name, load_input
from app.service.runs import run_registry
from app.service.runs.model_slots import MODEL_SLOTS

router = APIRouter()


@router.post("/site")
def run_site(request: InputRequest) -> Response:
    loaded = run_registry.open_run(request.run)
    with MODEL_SLOTS:
        data = zipped_site(loaded, load_input(request, loaded.run))
    headers = {"content-disposition": f'attachment; filename="{file_name(request.run)}.zip"'}
    return Response(data, media_type="application/zip", headers=headers)
