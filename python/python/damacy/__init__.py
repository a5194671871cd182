"""Training batches out of Zarr arrays, in the element type the model wants.

Push samples (a URI and a box each), pop batches of ``(samples, *shape)`` that any DLPack consumer takes
without a copy. Planning runs in a WebAssembly sandbox; reading, decoding and conversion in the background.

>>> import damacy
>>> spec = damacy.BatchSpec(samples=2, shape=(4, 4), dtype="bfloat16")
>>> with damacy.Pipeline(spec) as pipeline:
...     pipeline.push(damacy.Sample(store, [(y, y + 4), (0, 4)], tag=y) for y in (0, 2, 4, 6))
...     for batch in pipeline:
...         print(batch.info.tags, np.asarray(batch).dtype)
(0, 2) bfloat16
(4, 6) bfloat16
"""

from damacy import cuda
from damacy._batch import Batch, BatchInfo, Device
from damacy._convert import convert
from damacy._cost import (
    Certainty,
    DeviceMemory,
    Estimate,
    HostMemory,
    Layout,
    LayoutAdvice,
    LookAheadAdvice,
    LookAheadStep,
)
from damacy._dtype import Dtype
from damacy._errors import (
    BudgetExceeded,
    DamacyError,
    DecodeError,
    DtypeMismatch,
    InternalError,
    InvalidArgument,
    NativeCudaError,
    NotFound,
    OutOfMemory,
    PoolError,
    PoolStarved,
    RankMismatch,
    RefusalKind,
    ShutdownError,
    Status,
    StorageError,
    TryAgain,
    Unsupported,
    WrongType,
)
from damacy._estimate import Grid, Uniform, estimate
from damacy._inspect import ArrayInfo, Axis, ChunkKey, GroupArray, GroupInfo, Level, Multiscale, Refusal, inspect
from damacy._native import __version__
from damacy._pipeline import Pipeline, Stats
from damacy._plan import ChunkUse, Plan, PlannedArray, PlannedChunk, PlanTotals, plan
from damacy._pool import Cancel, PlannerPool, Tenant
from damacy._pool_answers import ParsedArray, PoolEstimate, PoolPlan, Validated
from damacy._pool_values import Document, MetadataLimits, TenantLimits, TenantMetrics
from damacy._used import Used
from damacy._values import (
    BatchSpec,
    CpuExecutor,
    CpuLimits,
    CudaExecutor,
    CudaLimits,
    Engine,
    PlanLimits,
    Planner,
    QueueLimits,
    Sample,
)

__all__ = [
    "ArrayInfo",
    "Axis",
    "Batch",
    "BatchInfo",
    "BatchSpec",
    "BudgetExceeded",
    "Cancel",
    "Certainty",
    "ChunkKey",
    "ChunkUse",
    "CpuExecutor",
    "CpuLimits",
    "CudaExecutor",
    "CudaLimits",
    "DamacyError",
    "DecodeError",
    "Device",
    "DeviceMemory",
    "Document",
    "Dtype",
    "DtypeMismatch",
    "Engine",
    "Estimate",
    "Grid",
    "GroupArray",
    "GroupInfo",
    "HostMemory",
    "InternalError",
    "InvalidArgument",
    "Layout",
    "LayoutAdvice",
    "Level",
    "LookAheadAdvice",
    "LookAheadStep",
    "MetadataLimits",
    "Multiscale",
    "NativeCudaError",
    "NotFound",
    "OutOfMemory",
    "ParsedArray",
    "Pipeline",
    "Plan",
    "PlanLimits",
    "PlanTotals",
    "PlannedArray",
    "PlannedChunk",
    "Planner",
    "PlannerPool",
    "PoolError",
    "PoolEstimate",
    "PoolPlan",
    "PoolStarved",
    "QueueLimits",
    "RankMismatch",
    "Refusal",
    "RefusalKind",
    "Sample",
    "ShutdownError",
    "Stats",
    "Status",
    "StorageError",
    "Tenant",
    "TenantLimits",
    "TenantMetrics",
    "TryAgain",
    "Uniform",
    "Unsupported",
    "Used",
    "Validated",
    "WrongType",
    "__version__",
    "convert",
    "cuda",
    "estimate",
    "inspect",
    "plan",
]
