"""Whether the server is alive and ready, and its counters."""

from typing import Literal

from litestar import Response, Router, get
from litestar.openapi.datastructures import ResponseSpec

from holdfast.api.services import By, With, needs
from holdfast.core.errors import TryAgain
from holdfast.core.shapes import Record
from holdfast.store.query import query


class Health(Record, frozen=True, kw_only=True):
    status: Literal["ok", "stopping", "unavailable"]


@get("/healthz")
async def healthz() -> Health:
    """The process answers."""
    return Health(status="ok")


@get(
    "/readyz",
    responses={503: ResponseSpec(Health, description="Not now.", generate_examples=False)},
)
async def readyz(services: With) -> Response[Health]:
    """Ready for requests: the database answers and the server is not stopping. For load balancers."""
    if not services.ready():
        return Response(Health(status="stopping"), status_code=503)
    try:
        await services.store.read(query("SELECT 1", read=bool))
    except TryAgain:
        return Response(Health(status="unavailable"), status_code=503)
    return Response(Health(status="ok"), status_code=200)


@get("/metrics", guards=[needs("admin")], media_type="text/plain; version=0.0.4")
async def metrics(services: With, caller: By) -> bytes:
    """Counters for Prometheus."""
    return services.metrics.exposition()


open_router = Router("/", route_handlers=[healthz, readyz], tags=["health"])
router = Router("/", route_handlers=[metrics], tags=["health"])
