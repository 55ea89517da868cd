"""Generated from the contract by `npm run docs`. Do not edit."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, Tuple, TypedDict, Union

#: Endpoint name -> method and path.
ENDPOINTS: Dict[str, Tuple[str, str]] = {
    "createRun": ("POST", "/v1/runs"),
    "getRun": ("GET", "/v1/runs/:runId"),
    "followRun": ("GET", "/v1/runs/:runId/events"),
    "cancelRun": ("POST", "/v1/runs/:runId/cancel"),
    "listRuns": ("GET", "/v1/runs"),
    "createBatch": ("POST", "/v1/batches"),
    "getBatch": ("GET", "/v1/batches/:batchId"),
    "listBatches": ("GET", "/v1/batches"),
    "getBatchResults": ("GET", "/v1/batches/:batchId/results"),
    "cancelBatch": ("POST", "/v1/batches/:batchId/cancel"),
    "resumeBatch": ("POST", "/v1/batches/:batchId/resume"),
    "searchPrompts": ("GET", "/v1/prompts/publish"),
    "getPrompt": ("GET", "/v1/prompts/:promptId"),
    "getPromptVersion": ("GET", "/v1/prompt-versions/:promptVersionId"),
    "resolveSlug": ("GET", "/v1/prompt-slugs/:slug"),
    "listSlugs": ("GET", "/v1/prompt-slugs"),
    "getResources": ("GET", "/v1/resources"),
    "getMe": ("GET", "/v1/me"),
    "getCredits": ("GET", "/v1/me/credits"),
}

#: The form of an id, in lower or upper case. Slugs never have this form.
ID_FORM = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"

#: Error code -> whether and when to retry the request.
RETRY_RULES: Dict[str, Literal["never", "after-delay", "backoff", "poll"]] = {
    "BAD_REQUEST_ERROR": "never",
    "UNAUTHORIZED_ERROR": "never",
    "PAYMENT_REQUIRED_ERROR": "never",
    "NOT_FOUND_ERROR": "never",
    "GONE_ERROR": "never",
    "VALIDATION_ERROR": "never",
    "TOO_MANY_REQUESTS_ERROR": "after-delay",
    "SERVER_ERROR": "backoff",
    "GATEWAY_TIMEOUT_ERROR": "poll",
}

class OutputItem(TypedDict):
    type: Literal["text", "image", "video", "error"]
    data: str


class BatchPause(TypedDict):
    reason: Literal["INSUFFICIENT_CREDITS", "KEY_CAP_REACHED", "ACCOUNT_FROZEN", "PLAN_REQUIRED", "PLAN_LAPSED", "KEY_NOT_VALID", "PROMPT_NOT_ALLOWED", "PROMPT_NOT_FOUND", "MODEL_RETIRED"]
    message: str


class BatchCounts(TypedDict):
    total: int
    notStarted: int
    queued: int
    running: int
    succeeded: int
    failed: int
    canceled: int


class Batch(TypedDict):
    batchId: str
    name: Optional[str]
    promptVersionId: str
    batchStatus: Literal["running", "paused", "canceled", "finished"]
    pause: Optional[BatchPause]
    counts: BatchCounts
    credits: int
    createdAt: str
    finishedAt: Optional[str]


class BatchResult(TypedDict):
    index: int
    key: Optional[str]
    status: Literal["succeeded", "failed", "canceled"]
    runId: Optional[str]
    outputs: List[OutputItem]
    credits: Optional[int]


class PromptVersionConfigTextInputsValueMultiple(TypedDict):
    min: int
    max: int


class _PromptVersionConfigTextInputsValue(TypedDict):
    position: int
    type: Literal["text", "select", "number", "boolean", "date", "list"]
    label: str
    description: str
    required: bool
    allowEmpty: bool
    default: Optional[str]
    maxLength: Optional[int]
    options: Optional[List[str]]
    multiple: Optional[PromptVersionConfigTextInputsValueMultiple]


class PromptVersionConfigTextInputsValue(_PromptVersionConfigTextInputsValue, total=False):
    min: float
    max: float


class PromptVersionConfigImageInputsItem(TypedDict):
    position: int
    label: str
    description: str


class PromptVersionConfigRunOptionsValue(TypedDict):
    default: Optional[str]
    options: List[str]


class _PromptVersionConfigOutput(TypedDict):
    type: Literal["text", "image", "video"]


class PromptVersionConfigOutput(_PromptVersionConfigOutput, total=False):
    schema: Dict[str, Any]


class PromptVersionConfigWebSearch(TypedDict):
    searchesMax: int


class _PromptVersionConfig(TypedDict):
    textInputs: Dict[str, PromptVersionConfigTextInputsValue]
    imageInputs: List[PromptVersionConfigImageInputsItem]
    imageCount: int
    model: str
    modality: Literal["text", "image", "video"]
    runOptions: Dict[str, PromptVersionConfigRunOptionsValue]
    output: PromptVersionConfigOutput
    inputSchema: Dict[str, Any]
    estimatedCredits: int
    creditsRequired: int


class PromptVersionConfig(_PromptVersionConfig, total=False):
    webSearch: PromptVersionConfigWebSearch


class PromptVersion(TypedDict):
    promptVersionId: str
    promptId: str
    title: str
    publishedAt: str
    config: PromptVersionConfig


class SearchRowSamplesInputsImageInputsItem1(TypedDict):
    type: Literal["url"]
    url: str


class SearchRowSamplesInputsImageInputsItem2(TypedDict):
    type: Literal["base64"]
    base64: str


class SearchRowSamplesInputs(TypedDict):
    textInputs: Dict[str, str]
    imageInputs: List[Union[SearchRowSamplesInputsImageInputsItem1, SearchRowSamplesInputsImageInputsItem2]]


class SearchRowSamples(TypedDict):
    inputs: SearchRowSamplesInputs
    outputs: List[OutputItem]


class SearchRow(TypedDict):
    promptId: str
    promptVersionId: str
    title: str
    description: str
    slug: str
    model: int
    modality: int
    estimatedCredits: int
    uses: int
    upVotes: int
    publishedAt: str
    samples: SearchRowSamples
    configs: PromptVersionConfig

