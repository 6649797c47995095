"""Start the app: `python -m app.main --port 7860`."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # both read when gradio is imported; no requests outside
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

import gradio as gr
import torch
import uvicorn
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from app.api.result_files import result_files
from app.components.words import page_words
from app.page import build_page
from app.paths import STATIC
from app.routes import bundles, router
from app.routes.errors import add_error_handlers
from app.service.checkpoints.checkpoint_cache import DEFAULT_BUDGET, GIGABYTE
from app.service.checkpoints.checkpoint_runs import configure_checkpoints
from app.service.checkpoints.locations import default_root
from app.service.runs.job_service import JobSettings, default_folder, job_service, lifespan
from core import ConfigError
from core.allocator import keep_freed_memory


def head() -> str:
    """HTML for the page's <head>; style sheets are linked as files, since Gradio would rewrite their rules."""
    sheets = sorted(path.name for path in (STATIC / "css").glob("*.css"))
    links = [f'<link rel="stylesheet" href="ours/css/{name}">' for name in sheets]
    return "\n".join([*links, (STATIC / "head.html").read_text("utf-8")])


@asynccontextmanager
async def app_lifespan(app: FastAPI) -> AsyncIterator[None]:
    try:
        async with lifespan(app):
            yield
    finally:
        result_files.close()


def make_app(mcp: bool = False) -> FastAPI:
    """The page and its routes; `mcp`: the endpoints of `app.api` are the tools of an MCP server, too."""
    page = build_page()
    theme = gr.themes.Base(
        primary_hue="teal", neutral_hue="slate", font=["system-ui", "sans-serif"], font_mono=["monospace"]
    )
    app = FastAPI(lifespan=app_lifespan, openapi_url=None)  # /docs would load its scripts from a CDN
    app.include_router(bundles.router)  # before the static folder that its path falls into
    app.mount("/ours", StaticFiles(directory=STATIC), name="ours")
    app.include_router(router)
    add_error_handlers(app)
    return gr.mount_gradio_app(
        app,
        page,
        path="/",
        i18n=gr.I18n(**page_words()),
        theme=theme,
        head=head(),
        favicon_path=str(STATIC / "icons/favicon.svg"),
        footer_links=[],
        ssr_mode=False,  # scripts draw the page in the browser
        max_file_size=1,  # byte: files are uploaded to the app's own routes, which check them, and never to Gradio
        show_error=False,  # only what is said by gr.Error: other exceptions may quote what is nobody's business
        mcp_server=mcp,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="InnerView: see inside sequence models.")
    parser.add_argument("--port", type=int, default=7860)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--no-open", action="store_true", help="do not open a browser")
    parser.add_argument("--store", type=Path, default=default_folder(), help="the folder of trained runs")
    parser.add_argument("--workers", type=int, help="processes that train (two, or as many as the cluster has)")
    parser.add_argument("--ray", metavar="ADDRESS", help='train on a Ray cluster: "auto", or host:port of its head')
    parser.add_argument("--checkpoints", type=Path, default=default_root(), help="the folder of pretrained models")
    parser.add_argument(
        "--checkpoint-memory",
        type=float,
        default=DEFAULT_BUDGET / GIGABYTE,
        metavar="GB",
        help="memory set aside for them",
    )
    parser.add_argument(
        "--mcp",
        action="store_true",
        default=os.environ.get("INNERVIEW_MCP", "") not in ("", "0"),
        help="be an MCP server, too, at /gradio_api/mcp (or set INNERVIEW_MCP=1)",
    )
    options = parser.parse_args()
    configure_checkpoints(options.checkpoints, round(options.checkpoint_memory * GIGABYTE))
    try:
        job_service.open(JobSettings(options.store, options.workers, options.ray))
    except ConfigError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    keep_freed_memory()
    torch.set_num_threads(1)  # the models shown are small: a second thread would only wait for the first
    address = f"http://{options.host}:{options.port}"
    if not options.no_open:
        threading.Timer(1.5, webbrowser.open, [address]).start()
    print(f"InnerView runs at {address}", flush=True)
    uvicorn.run(
        make_app(options.mcp), host=options.host, port=options.port, log_level="warning", timeout_graceful_shutdown=1
    )


if __name__ == "__main__":
    main()
