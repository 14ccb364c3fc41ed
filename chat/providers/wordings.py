"""How services word their failures: what a text means, the pattern that finds it, and texts that were seen.

Services reword their errors from month to month, so a pattern is a fragment and never a whole sentence. A new wording
is one more example at the row that should recognise it. Rows are tried in order; the plainest come first.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from chat.providers.base import Code, Reason

_NOT = (
    r"(?:(?:not|n[’']t|never) (?:\w+ ){0,2}?(?:support|allow|permit|enabl|accept|implement"
    r"|provid(?:e[sd]?|ing)\b|compatib|availab|be used)|unsupported|disabled|incompatible)"
)
_UNSUPPORTED = (
    r"unsupported|not support|only supported|unknown|unrecognized|unexpected|extra_forbidden|not (?:permitted|allowed)"
    r"|invalid[ _]value|invalid reasoning|must be one of|should be|(?:supported|allowed|valid) values|expected one of"
)
_THINKING = r"reasoning_content|reasoning_details|\breasoning\b|\bthinking\b"
_THINKING_FIELD = r"reasoning_content|reasoning_details|thought[ _]signature"
_ABSENT = (
    r"missing|\brequire[sd]?\b|must (?:also )?be (?:passed|sent|provided|included|present|kept|preserved|returned|set)"
    r"|must (?:also )?(?:have|include|contain|provide|carry|keep|preserve)|(?:pass|send)\w* (?:it )?back"
    r"|without (?:(?:its|the|any|a) )?[`'\"]?(?:reasoning|thinking)|not (?:set|present|provided|passed|found in)\b"
    r"|\bno [`'\"]?(?:reasoning|thinking)|expect\w* [`'\"]?(?:reasoning|thinking)_?"
    r"|omitted|\blacks?\b|absent|\b(?:return|need)s? (?:its |the )?[`'\"]?reasoning_|got null|必须|缺少|(?:must|can|may"
    r"|should)(?:not| not)? be (?:empty|blank|null|none)"
)
_TOOLS = (
    r"(?<!parallel[ _])\b(?:tools?|tool[ _-]?(?:use|calls?|calling|choice)|function[ _-]?(?:use|calls?|calling)"
    r"|functions)\b"
)
_IMAGES = r"(?:\bimages?\b|image_url|input_image|\bvision\b|\bmulti-?modal\b|\bpictures?\b)"
_CALL_ID = (
    r"(?:\btool[ _-]?(?:call|use)?[ _-]?ids?\b|\bcall[ _-]?ids?\b|tool_use\W{1,2}ids?\b"
    r"|tool_calls\W{1,2}\d+\W{1,2}(?:id|function\W{1,2}name)\b|input\W{1,2}\d+\W{1,2}(?:id|call_id|name)\b)"
)
_CONTENT = r"(?<![\w-])contents?\b(?!\W?(?:type|policy|filter|length|management|moderation))"
_NOT_OUTPUT = r"(?<!produced )(?<!generated )(?<!emitted )(?<!wrote )(?<!returned )"
_TOO_LONG = r"(?:too (?:long|large|big)|over(?:flow|long))"
_CHINESE_TOO_LONG = r"(?:[长長]度)?(?:超[过過出长長]|[过過太][长長])"
_EXCEEDS = r"(?:exceed\w*|over the|beyond the|above the|(?:longer|larger|greater|more)(?: tokens)? than)"


@dataclass(frozen=True, slots=True)
class Wording:
    """Texts that mean ``kind``. All of ``patterns`` must be found.

    ``any_status``: the words are plain enough to count although the HTTP status blames the service (5xx), or is unknown
    inside a stream.
    """

    kind: Code | Reason
    patterns: tuple[str, ...]
    examples: tuple[str, ...]
    any_status: bool = False

    def fits(self, text: str) -> bool:
        """Say whether a text, with its codes behind it, is worded so."""
        return all(re.search(pattern, text, re.IGNORECASE | re.DOTALL) for pattern in self.patterns)


def kind_of(text: str, kinds: Collection[Code | Reason], *, only_any_status: bool = False) -> Code | Reason:
    """Return the first of ``kinds`` that a text is worded as; empty where it is none."""
    rows = (row for row in WORDINGS if row.kind in kinds and (row.any_status or not only_any_status))
    return next((row.kind for row in rows if row.fits(text)), "")


WORDINGS: tuple[Wording, ...] = (
    # The conversation is too long.
    Wording(
        "context_overflow",
        (
            r"context_?length_?exceeded|context_?window_?exceeded|exceed_context_size"
            # Of a text; an id or a ciphertext that is too long is another thing.
            r"|\A(?!.*\b(?:id|call_id|encrypted_content|name)\W{1,3}string too long).*string_above_max_length"
            r"|max_prompt_tokens_exceeded|exceeded model token limit|token limit exceeded|prompt exceeds"
            r"|tokens_limit_reached|(?:input_(?:length|tokens)|prompt_tokens|context_size)_exceeded",
        ),
        (
            "the request exceeds the available context size, try increasing it\nexceed_context_size_error",
            "no\ncontext_length_exceeded",
            "Invalid 'input[3].content[0].text': string too long.\nstring_above_max_length",
            "ContextWindowExceededError: OpenAIException",
            "Your request exceeded model token limit: 262144 (requested: 300000)",
            "No\ntokens_limit_reached",
            "No\ninput_length_exceeded",
        ),
    ),
    Wording(
        "context_overflow",
        (
            r"(?:maximum|max|available|model'?s?|allowed) (?:model )?(?:context|prompt|sequence) (?:length|size|window)"
            r"|exceeds? (?:the |your |its )?(?:\w+ )?context|context (?:window|length|size|limit)\W+(?:\w+ ){0,3}"
            r"(?:exceed|limit|reached)|(?:exceed\w*|over|beyond) (?:\w+ ){0,3}context (?:window|length|size|limit)"
            r"|context size has been exceeded|context length of only|context (?:the )?overflow"
            rf"|(?:上下文|[输輸]入|提示[词詞]?|prompt|tokens?)\s?\S{{0,12}}{_CHINESE_TOO_LONG}"
            r"|超[过過出](?:最大\s?tokens?|\S{0,8}(?:上下文|[长長]度))"
            rf"|(?:文本|[对對][话話]|[内內]容|消息|[讯訊]息)\S{{0,4}}{_CHINESE_TOO_LONG}"
            r"|tokens?\s?\S{0,4}超限|\bkv[ _]cache\b"
            r"|(?:上下文|输入|文本|对话|内容|消息)(?:的?长度)?超限|tokens?\s?\S{0,8}大于\S{0,12}最大"
            r"|max_position_embeddings|max_(?:total|input)_(?:tokens|length)|tokens[^.\n]{0,12}> ?n_ctx"
            r"|max(?:imum)? context (?:was |is )?reached|size of the model context|context window is [\d,]+ tokens"
            r"|context (?:is )?full\b|exceed\w* (?:the )?(?:max\w* |model |allowed )+context"
            r"|not? (?:longer )?fit\w* (?:\w+ ){0,3}context|(?:sequence|prompt|input) length exceed"
            r"|max\w* (?:allowed |supported |permitted )?(?:input|prompt|sequence) (?:length|size|characters|tokens)"
            r"|prompt_tokens\W+[\d,]+ ?\+ ?max_(?:completion_)?tokens|max_tokens must be at least \d+, got -",
        ),
        (
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens.",
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
            "The model is loaded with context length of only 4096 tokens, which is not enough",
            "invalid params, context window exceeds limit",
            "Requested tokens (5000) exceed context window of 2048",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            "Context limit reached",
            "Context size has been exceeded.",
            "Prompt 超长",
            "超出最大上下文长度",
            "failed to find a memory slot for the batch: context full",
            "Exceeded maximum context: 8192",
            "对话内容过长",
            "Token 数量超限",
            "输入长度超限",
            "内容太长，请缩短后重试",
            "上下文長度超過限制",
            "超过最大token数限制",
            "请求的 token 总数大于模型支持的最大长度",
            "Requested tokens exceed KV cache capacity",
            "The prompt's length (9000) exceeds the model's max_position_embeddings (8192)",
            "n_prompt_tokens 9000 > n_ctx 8192",
            "Max context reached",
            "context window is 8192 tokens, prompt is 9000",
            "prompt exceeds max_input_length of 8192",
            "Prompt does not fit into the context",
            "Sequence length exceeds the maximum of the model",
            "Exceeds the maximum allowed input length",
            "the max input characters is 516096",  # Qianfan
            "prompt_tokens 140000 + max_tokens 8000 > 131072",
            "max_tokens must be at least 1, got -500.",  # vLLM, where the prompt leaves nothing
        ),
    ),
    Wording(
        "context_overflow",
        (
            r"(?:longer|greater|larger|more) (?:than|or equal to) the (?:model'?s? )?(?:maximum |max )?"
            r"(?:context|model length|number of)|too large for (?:the )?(?:model|context)\b"
            r"|\b(?:conversation|chat) has reached (?:its|the) max\w* length|トークン\S{0,12}超"
            r"|reduce the length of (?:the|your) (?:input |messages|prompt)"
            r"|(?:shorten|reduce) (?:the |your )?(?:prompt|input|messages|conversation)"
            r"|cannot truncate to [\d,]+, required [\d,]+",
        ),
        (
            "tokens to keep from the initial prompt (n_keep: 9000) is greater or equal to the context length",
            "Cannot truncate to 89998, required 355220: text:355351",  # Gemini
            "tokens to keep from the initial prompt is greater than the context length",
            "The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
            "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
            "Please reduce the length of the messages or completion.",
            "Please shorten your prompt.",
            "prompt (9000 tokens) too large for context (8192)",
            "This conversation has reached its maximum length",
            "最大トークン数を超えています",
        ),
    ),
    Wording(
        "context_overflow",
        (
            r"\b(?:prompt|input|request|messages?|conversation|context|history|content)s?\b"
            r"(?: (?!\w*(?:image|file|audio|video|name|id)\w* )\w+){0,3} (?:is|are|was|were) (?:much |far |way )?"
            rf"{_TOO_LONG}\b|\b(?:prompt|input|context|conversation|message|text|history)s?"
            rf"[ _-]?(?:length |size |window )?{_TOO_LONG}\b"
            r"|\b(?:input|prompt|context)_?too_?(?:long|large)",
        ),
        (
            "prompt is too long",
            "prompt is too long: 213462 tokens > 200000 maximum",
            "prompt is too long\ninvalid_request_error",
            "Input is too long for requested model.",
            "Prompt too long",
            "messages too long",
            "Nope\nprompt_too_long",
            "The conversation is too long (5000 tokens)",
            "Your messages are too long",
            "The input you sent is too long",
            "Requested context size too large",
        ),
    ),
    Wording(
        "context_overflow",
        (
            r"inputs?\W+tokens\W+max_(?:new_)?tokens\W+must be|inputs?\W+must have less than"
            r"|(?:input|prompt|total)(?: text)? (?:tokens?|length)(?: count|s)?\b.{0,60}"
            r"(?:exceed|larger than|over the|above the)"
            r"|(?:number|count|amount) of (?:input |prompt )?tokens\b.{0,40}(?:exceed|larger than|over the)"
            r"|(?<!rate of )\btokens?(?: count)? exceeds? (?:the )?(?:\w+ )?limit|requested [\d,]+ tokens"
            rf"|range of input length should be|{_NOT_OUTPUT}too many (?:\w+ ){{0,2}}(?:tokens|bytes)|max_seq_len"
            r"|input length limit|too much text\b|text is over the max\w* (?:size|length)",
        ),
        (
            "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
            "prompt token count of 70000 exceeds the limit of 64000",
            "Range of input length should be [1, 129024]",
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000",
            "Input tokens exceed the configured limit of 272000 tokens.",
            "Input length 5000 exceeds maximum length 4096",
            "The number of tokens in the prompt exceeds 4096",
            "Too many input tokens",
            "Token count exceeds the limit",
            "too many total text bytes",
            "length of prompt_tokens (40000) must be less than max_seq_len (32768).",
            "Request prompt has 5000 tokens in total, larger than the model input length limit 4096.",
            "The request contains too much text for the model",
            "Total input tokens 300000 is above the allowed 262144",
            "messages: the text is over the maximum size of 400000 characters",
        ),
    ),
    Wording(  # What exceeds what: the tokens or the length of what was sent.
        "context_overflow",
        (
            r"\b(?:prompts?|inputs?|requests?|messages?|conversation|history)\b(?! \w*(?:image|file))[^.\n]{0,60}?"
            rf"\b{_EXCEEDS}\b(?! \w*(?:image|file))[^.\n]{{0,30}}?(?:\btokens?\b|\bcontext\b|\blength\b|n_ctx"
            r"|max_(?:seq|model|num|prompt|input|context)\w*)"
            r"|(?<!output )(?<!completion )(?<!new )(?<!rate of )\btokens\b[^.\n]{0,40}"
            rf"\b{_EXCEEDS}\b[^.\n]{{0,20}}\b(?:limit|max)"
            r"|\btoken (?:length|count|limit|size)s?\W+(?:is |was )?exceed|\bmax(?:imum)? tokens? (?:limit )?exceeded",
        ),
        (
            "Input exceeds maximum token limit",
            "The conversation history exceeds the maximum number of tokens",
            "the prompt contains 140000 tokens, which is over the limit of 131072",
            "Invalid request: total message token length exceed model limit",
            "Maximum tokens exceeded: prompt has 9000 tokens but context is 8192",
            "This request has more tokens than the model's context can hold",
        ),
    ),
    Wording(  # Two numbers, in words of all kinds.
        "context_overflow",
        (
            r"\b(?:prompt|input|request|conversation)\b[^.\n]{0,20}\b(?:has|contains|is|of) [\d,]+ (?:input )?tokens\b"
            r"[^\n]{0,40}\b(?:max\w*|limit|only|at most|allowed)\b"
            r"|supports? (?:(?:only|at most|up to|a maximum of) )+[\d,]+ (?:(?:input|context|total|prompt) )?tokens"
            r"|\blimit(?:ed)? (?:your \w+ )?to [\d,]+ (?:\w+ )?tokens|max\w* number of (?:input |prompt )?tokens"
            r"|current length is [\d,]+ while limit"
            r"|too large for\b[^\n]{0,80}\bmax size\b|\bexpected maxlength\b",
        ),
        (
            "Your prompt has 9000 tokens, the maximum is 8192",
            "Your input is 12000 tokens which is more than the 8192 allowed",
            "This model supports at most 8192 tokens; your request has 9000",
            "maximum number of input tokens is 8192, got 9000",
            "This model is limited to 8192 tokens",
            "Current length is 70113 while limit is 65536",
            "Request body too large for kimi-k9 model. Max size: 8000 tokens.",
            "Malformed input request: expected maxLength: 42000, actual: 50311, please reformat your input.",  # Bedrock
        ),
    ),
    Wording(  # German and French, unless it is about a rate, a time, a file or the output.
        "context_overflow",
        (
            r"\A(?!.*(?:\b(?:pro|par) (?:minute|stunde|heure|tag|jour)|kontingent|quota|zeit|délai|temps|bild|image"
            r"|datei|fichier|ausgabe|sortie))",
            r"\b(?:eingabe|prompt|kontext\w*|nachricht\w*|anfrage|unterhaltung|\w*-?tokens?)\b[^.\n]{0,60}"
            r"(?:überschr\w+|übersteig\w+|zu lang\b|zu groß\b|(?:länger|größer) als\b|\bvoll\b)"
            r"|zu viele (?:\w+-)?tokens?\b|trop de (?:jetons|tokens)\b"
            r"|\d tokens?\b[^.\n]{0,60}\b(?:maximal|höchstens)\b|\d jetons\b[^.\n]{0,60}\b(?:au plus|maximum)\b"
            r"|(?:überschr|übersteig|zu lang|zu groß)\w*[^.\n]{0,40}\b(?:kontext\w*|eingabe\w*)"
            r"|\b(?:contexte|entrée|prompt|messages?|requête|conversation|jetons|tokens)\b[^.\n]{0,60}"
            r"(?:dépass\w+|excèd\w+|trop (?:long|grand)\w*)"
            r"|(?:dépass|excèd)\w+[^.\n]{0,60}\b(?:contexte|entrée|jetons|tokens)\b",
        ),
        (
            "Die Eingabe überschreitet die maximale Kontextlänge von 8192 Token.",
            "Der Prompt ist zu lang: 9000 Token, erlaubt sind höchstens 8192.",
            "Maximale Anzahl an Eingabe-Token überschritten",
            "Das Kontextfenster des Modells ist voll.",
            "Die Anfrage enthält 9000 Token, das Modell unterstützt maximal 8192",
            "Zu viele Eingabe-Token",
            "Trop de jetons dans la requête",
            "Votre demande contient 9000 jetons, le modèle en accepte au plus 8192",
            "La requête dépasse la longueur maximale du contexte (8192 jetons).",
            "Votre message est trop long pour ce modèle.",
            "Le nombre de jetons en entrée dépasse la limite autorisée.",
            "Fenêtre de contexte dépassée",
        ),
    ),
    Wording(  # A rate that one request exceeds by itself: no waiting helps against that.
        "context_overflow",
        (r"\brequest too large\b[^\n]*\blimit\W+[\d,]+\W+requested\b",),
        (
            "Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9000",  # Groq
            "Request too large for gpt-4o on tokens per min (TPM): Limit 30,000, Requested 31538. The input or output "
            "tokens must be reduced in order to run successfully.",
        ),
        any_status=True,
    ),
    # The quota, the rate, the key.
    Wording(
        "rate_limited",
        (
            r"per[ -](?:minute|min|day|hour|second)|\b(?:[tr]p[md]|qps)\b|rate.?limit|throttl"
            r"|\brate of (?:\w+ )?(?:tokens|requests)|\brequest rate\b|\b(?:daily|hourly) (?:\w+ )?limit\b"
            r"|too many (?:(?:concurrent|parallel|simultaneous) )?(?:requests|connections)"
            r"|\bconcurren\w+[ _](?:\w+ )?limit"
            r"|(?:频率|请求)\S{0,4}(?:过高|过快|频繁|限制)|速率限制",
        ),
        (
            "Rate limit reached",
            "Too many requests",
            "Too many concurrent requests",
            "Concurrency limit exceeded for this key",
            "请求频率过高",
            "Open api qps request limit reached",  # Baidu
            "Your rate of tokens exceeds the limit",
            "Request rate exceeded, slow down",
            "You exceeded your daily token limit",
        ),
    ),
    Wording(
        "quota",
        (
            r"insufficient_quota|exceeded_current_quota|exceeded your current quota"
            r"|insufficient[ _](?:balance|credit|funds)|credit balance is too low|requires more credits"
            r"|key limit exceeded|budget[ _](?:has been )?exceeded|exceeded ?budget|\bover (?:the |its |your )?budget\b"
            r"|\barrearage\b|(?:余额|额度)不足|欠费|balance is (?:insufficient|too low|negative)|overdue balance"
            r"|(?:spending|billing|hard|monthly|weekly|usage) (?:\w+ )?limit (?:has been |was |is )?(?:reached"
            r"|exceeded|hit)"
            r"|(?:reached|exceeded|hit) (?:your |its |the )?(?:monthly |weekly )?(?:spending|billing|usage|included)\b"
            r"|insufficient_?(?:\w+_)?quota|insufficient quota|(?:monthly|trial|user) quota (?:has been )?exceeded"
            r"|spending cap"
            r"|not enough credits|enough credits\b|add funds|trial (?:has |is )?(?:expired|ended)"
            r"|billing (?:is )?not active"
            r"|额度(?:失败|已?用尽|已?用完|已?耗尽)|\bsubscription (?:has |is )?expired"
            r"|billing_(?:hard_)?limit|\bpayment[ _]required"
            r"|insufficient (?:\w+ ){1,4}(?:balance|credits?|funds)"
            r"|(?:out of|no|used all|exceeded|exhausted)(?: \w+){0,4} (?:credits|points)\b|used up your"
            r"|credits? (?:\w+ )?deplet"
            r"|(?:tier|quota|plan|credits?|allowance)\b[^.\n]{0,30}\b(?:has been |is |are |was )?(?:exhausted|used up)"
            r"|(?:run|ran) out of (?:funds|money|balance)|(?:weekly|monthly) limit (?:has been )?exhausted"
            r"|allocated quota exceeded|free[ -](?:\w+-)?models-per-day",
        ),
        (
            "You exceeded your current quota, please check your plan and billing details.",
            "Insufficient Balance",
            "Your credit balance is too low to access the Anthropic API.",
            "This request requires more credits, or fewer max_tokens.",
            "Key limit exceeded (total limit).",
            "Budget has been exceeded! Current cost: 0.2, Max budget: 0.1",
            "账户余额不足",
            "账户已欠费",
            "该令牌额度已用尽",
            "账户额度已耗尽",
            "Your subscription has expired",
            "No\ninsufficient_user_quota",
            "Monthly quota exceeded",
            "Not enough credits",
            "Your trial has expired",
            "spending cap reached",
            "Account balance is insufficient",
            "The account has overdue balance",
            "Your team has used all available credits.",
            "You have reached your monthly spending limit",
            "Billing hard limit has been reached\nbilling_hard_limit_reached",
            "You have exceeded your monthly included credits for Inference Providers.",
            "You have run out of credits",
            "Insufficient USD or Diem balance to complete request",
            "ExceededBudget: user over budget",
            "Payment required: add a payment method",
            "You've used up your points!",
            "Your prepaid credits are depleted",
            "The free tier of the model has been exhausted.",
            "Monthly usage limit reached for your plan",
            "Your account has run out of funds",
            "Weekly/Monthly Limit Exhausted. Your limit will reset at 2027-01-01 00:00:00",  # Z.ai
            "Free allocated quota exceeded.",  # DashScope
            "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000",  # OpenRouter
        ),
    ),
    Wording(
        "authentication",
        (
            r"invalid_api_key|authentication (?:error|failed)|(?:incorrect|invalid|missing|expired|no) api[ _-]?key"
            r"|(?:incorrect|invalid|missing|expired|no) (?:api |access |auth\w* )(?:token|header|credentials)"
            r"|missing authori[sz]ation|\btoken (?:is |has |was )?(?:invalid|expired|revoked)\b|无效的(?:令牌|密钥)"
            r"|proxy authentication required|not authenticated|invalid (?:\w+ )?subscription key|invalid authentication"
            r"|api[ _-]?key (?:is |has been |was )?(?:not valid|invalid|incorrect|expired|revoked|disabled"
            r"|required)",
        ),
        (
            "API key not valid. Please pass a valid API key.",
            "Incorrect API key provided",
            "Unauthorized\ninvalid_api_key",
            "Authentication error",
            "Invalid API token provided",
            "Missing Authorization header",
            "Not authenticated",
            "Invalid Authentication",  # Moonshot
            "Access denied due to invalid subscription key",  # Azure
            "The token is invalid or has expired",
            "This API key has been revoked",
            "API key is required",
            "无效的令牌",
        ),
    ),
    Wording(  # llama.cpp, Hugging Face
        "loading",
        (
            r"\b(?:loading|initiali[sz]ing|pulling|downloading) (?:the |its )?(?:model|weights|checkpoint|shards)"
            r"|\bmodel\b[^.\n]{0,30}\b(?:being downloaded|warm-?up|scaling up|scaled? from zero)"
            r"|\b(?:scaling|scaled?) (?:up )?from (?:0|zero)\b|\b(?:pod|worker|replica) is starting"
            r"|\b(?:model|server|engine)\b.{0,120}?\b(?:is |still |currently )+"
            r"(?:being loaded|loading|initiali[sz]ing|starting|being (?:started|provisioned))"
            r"|\bmodel\b[^.\n]{0,60}\b(?:not (?:yet )?ready|not loaded yet|not yet loaded|load(?:ing)? in progress)"
            r"|\bmodel load(?:ing)?\s*(?:$|\n)|\bcold[ -]start|\bmodel (?:is|was) unloaded\b",
        ),
        (
            "Loading model",
            "Model x/y is currently loading",
            "Model is still initializing",
            "Loading checkpoint shards",
            "Initializing model",
            "The model is being downloaded",
            "model warmup in progress",
            "Model is scaling up from zero",
            "Endpoint is scaling from 0, please retry",
            "Pod is starting",
            "Model not ready yet",
            "The model is not loaded yet",
            "Model loading in progress",
            "The server is warming up, loading weights",
            "Cold start: the model is being provisioned",
            "Model was unloaded while the request was still in queue",  # LM Studio
        ),
    ),
    Wording(
        "server_error",
        (
            r"(?<![a-z])(?:at|over|insufficient|no|exceed\w*)[ _](?:\w+ ){0,2}capacity"
            r"|capacity[ _](?:is )?(?:exceed|reach)|\boverload"
            r"|\b(?:too|is|are|currently|temporarily|server|system|engine)[ _]busy\b"
            r"|high (?:demand|load)\b|\bqueue (?:\w+ )?(?:is )?full\b|warming up|过载|繁忙|负载已?饱和"
            r"|\bdegraded function\b|\b(?:instance|backend|upstream|server|service|endpoint|engine|worker) (?:is )?"
            r"(?:not ready|not available|unavailable)|\bupstream (?:request )?timed? ?out|timed out (?:while )?waiting"
            r"|\binternal (?:server )?(?:error|failure)\b(?!\.)|unexpected error occurred|\bupstream connect error"
            r"|\b(?:model|engine|worker|runner|process|server) (?:process )?(?:has |have )?"
            r"(?:crashed|(?:terminated|exited) unexpectedly)\b"
            # What the model wrote is no call, by the service's own parser; the next time it often is.
            r"|tool_use_failed|failed to call a function|tool call validation failed",
        ),
        (
            "The model is at capacity",
            "We're currently over our capacity.",
            "The engine is currently overloaded",
            "Nope\noverloaded_error",
            "Nope\nmodel_at_capacity",
            "The system is busy",
            "This model is currently experiencing high demand.",
            "The request queue is full",
            "The model is warming up",
            "服务器繁忙，请稍后再试",
            "当前分组上游负载已饱和",
            "Function id '0': DEGRADED function cannot be invoked",  # Nvidia
            "Instance is not ready",
            "Worker not ready",
            "Engine is not available",
            "Request timed out while waiting in queue",
            "upstream connect error or disconnect/reset before headers",  # Envoy
            "Failed to call a function. Please adjust your prompt.\ntool_use_failed",  # Groq
            "tool call validation failed: parameters for tool search did not match schema",
            "The backend is unavailable",
            "The model has crashed without additional information. (Exit code: 1)",  # LM Studio
            "Internal server error",
        ),
    ),
    # Thinking that was sent.
    Wording(
        "ciphertext",
        (
            r"invalid_encrypted_content"
            r"|(?:encrypted[ _]content|thought[ _]signature|`signature` in `thinking`).{0,160}?"
            r"(?:verified|decrypt|parsed|did not match|not match the|(?:is|are) (?:invalid|not valid|corrupt))"
            r"|encrypted_content\W{1,3}string too long"
            r"|(?:verify|decrypt|invalid|corrupted|malformed) (?:the )?"
            r"(?:encrypted[ _]content|thought[ _]signature|`signature` in `thinking`)",
        ),
        (
            "No.\ninvalid_encrypted_content",
            "The encrypted content for item rs_1 could not be verified. Reason: Encrypted content could not be "
            "decrypted or parsed.",
            "The encrypted content for item rs_1 could not be verified. Reason: Encrypted content item_id did not "
            "match the target item id.",
            "The encrypted content gAAA...x9Q= could not be verified.",
            "Invalid 'input[1].encrypted_content': string too long.\nstring_above_max_length",
            "messages.3.content.0: Invalid `signature` in `thinking` block",
            "Thought signature is not valid.",
        ),
        any_status=True,
    ),
    Wording(
        "not_found_item",
        (r"\bitem with id\b.{0,160}?not found|items are not persisted",),
        (
            "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. "
            "Try again with `store` set to true, or remove this item from your input.",
        ),
        any_status=True,
    ),
    Wording(
        "unpaired_item",
        (r"provided without its required",),
        (
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
            "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
            "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'.",
        ),
        any_status=True,
    ),
    Wording(
        "missing_reasoning",
        (
            r"missing (?:a |its )?`?thought[ _]signature|expected `?(?:thinking\b|redacted_thinking)"
            r"|ensure\b[^.\n]{0,40}\bhas (?:a |its )?`?thought[ _]signature|must start with a thinking block",
        ),
        (
            "Function call is missing a thought_signature in functionCall parts.",
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
            "Please ensure that function call `search` has thought_signature.",
            "When `thinking` is enabled, a final `assistant` message must start with a thinking block",
        ),
        any_status=True,
    ),
    Wording(
        "reasoning_refused",
        (r"\bboth content and thinking\b",),
        ("Cannot pass both content and thinking in an assistant message with tool calls!",),  # gpt-oss in llama.cpp
        any_status=True,
    ),
    # Parameters.
    Wording(
        "include",
        (r"encrypted[ _]content is not supported",),
        ("Encrypted content is not supported with this model.",),
    ),
    Wording(
        "enabled",
        (
            r"(?:reasoning|thinking)\b.{0,80}?(?:mandatory|cannot be disabled|can't be disabled"
            r"|not support disabl|only .{0,20}?enabled)",
        ),
        (
            "invalid thinking: this model does not support disabling it.",
            "Reasoning is mandatory for this endpoint and cannot be disabled.",
        ),
    ),
    Wording(
        "summary",
        (r"reasoning\W{1,3}summar(?:y|ies)\b|reasoning_summary", f"{_UNSUPPORTED}|must be verified"),
        (
            "Your organization must be verified to generate reasoning summaries.",
            "Invalid value: 'long'.\nreasoning.summary",
        ),
    ),
    Wording(
        "max_tokens",
        (r"reasoning\W{1,3}max_tokens|budget_tokens|thinking_budget", _UNSUPPORTED),
        ("Unknown parameter: 'reasoning.max_tokens'.", "Unexpected key thinking.budget_tokens"),
    ),
    Wording(
        "effort",
        (r"reasoning\W{1,3}effort|\b(?:reasoning_?|thinking_?|output_?)?effort\b", _UNSUPPORTED),
        (
            "Unsupported value: 'xhigh' is not supported with the 'gpt-5-mini' model. Use reasoning.effort low.",
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            "Unrecognized request argument supplied: reasoning_effort",
            "Model grok-4-latest does not support parameter reasoningEffort.",  # xAI
            "[{'type': 'extra_forbidden', 'loc': ('body', 'reasoning_effort')}]",
            "Unsupported value: 'high'. Supported values of the effort are: 'none'",
            "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. "
            "Please use /v1/responses instead.",
        ),
    ),
    Wording(
        "effort",
        (
            r"(?:invalid|unsupported) value\W{1,3}(?:none|minimal|low|medium|high|xhigh|max)\b"
            r"|\bnot a valid reasoning effort|\bthink value\b|does not support thinking\b"
            r"|\bthinking[ _](?:level|effort|budget)\b[^.\n]{0,30}\bnot supported",
        ),
        (
            "Invalid value: 'max'.",
            '"high" is not a valid reasoning effort for this model',
            'think value "high" is not supported for this model',  # Ollama
            '"x" does not support thinking',
            "Thinking level is not supported for this model.",
        ),
    ),
    Wording(
        "effort",
        (
            r"(?:parameter|argument)s?\b[^.]{0,20}[\s'\"`:](?:reasoning|thinking|chat_template_kwargs)(?=['\"`.\s]|$)"
            r"|\bbody (?:reasoning|thinking|chat_template_kwargs)\b",
            _UNSUPPORTED,
        ),
        ("Unknown parameter: 'reasoning'.", "Unknown parameter: 'thinking'.", "Extra\nextra_forbidden body reasoning"),
    ),
    # What the service, or the model's chat template, can't do.
    Wording(
        "user_after_tool",
        (
            r"role\W+user\W+(?:directly |immediately )?after (?:a |the )?(?:role\W+)?\W*tool\b"
            r"|\buser\b[^.\n]{0,40}\b(?:after|follow\w*|behind)\b[^.\n]{0,30}\btool\b"
            r"|\btool\b[^.\n]{0,40}(?:followed by|before)[^.\n]{0,30}\bassistant\b"
            r"|expected\W+assistant\b[^.\n]{0,30}after[^.\n]{0,30}\btool\b"
            r"|\bafter\b[^.\n]{0,20}\btool\b[^.\n]{0,60}\bassistant\b",
        ),
        (
            "Unexpected role 'user' after role 'tool'",
            "A user message cannot follow a tool message",
            "The tool message must be followed by an assistant message",
            "After a tool result the next message must be from the assistant",
        ),
        any_status=True,
    ),
    Wording(
        "roles",
        (
            r"\b(?:roles?|messages?|turns?|user)\b[^.\n]{0,40}\balternat|\balternat\w*[^.\n]{0,40}\b(?:user|roles?)\b"
            r"|\b(?:successive|consecutive)\b[^.\n]{0,30}\b(?:user|assistant|roles?|messages?|turns?)\b"
            r"|\bsame role\b[^.\n]{0,30}\b(?:row|twice|succession)|\b(?:roles?|messages?|turns?) in a row"
            r"|expected (?:an? )?assistant\b[^.\n]{0,30}\bafter\b[^.\n]{0,30}\buser\b"
            r"|unexpected role\W+\w+\W+after|incorrect role information"
            r"|expected \W?assistant\b[^.\n]{0,30}\bafter\b[^.\n]{0,30}\buser\b"
            r"|\buser\b[^.\n]{0,30}\b(?:must|should) be (?:followed by )?(?:an? )?\W?assistant"
            r"|\buser\b[^.\n]{0,30}(?:\bnot|\bcannot|n[’']t)\b[^.\n]{0,20}\b(?:follow|after)\b[^.\n]{0,20}\buser\b"
            r"|\b(?:user|assistant) messages?\b[^.\n]{0,30}\b(?:back to back|adjacent|succession|next to each other)"
            r"|\brole \W?(?:user|assistant)\b[^.\n]{0,20}\btwice\b|expected role \W?assistant\b[^.\n]{0,15} got \W?user"
            r"|\bsame role\b[^.\n]{0,30}\badjacent|\b(?:role|message)s? (?:sequence|order)\b[^.\n]{0,20}\binvalid"
            r"|\binvalid (?:role|message)s? (?:sequence|order)|(?:user|assistant|角色)[^.\n]{0,12}交替",
        ),
        (
            "Conversation roles must alternate user/assistant/user/assistant/...",
            "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
            'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
            "Please ensure that multiturn requests alternate between user and model.",
            "deepseek-reasoner does not support successive user or assistant messages (messages[1] and messages[2]).",
            "Unexpected role 'user' after role 'user'",
            "user and assistant messages should alternate",
            "Two user messages in a row are not allowed",
            "Unexpected role 'system' after role 'user'",
            "Expected 'assistant' role after 'user' role",
            "messages[1]: role 'user' must be followed by 'assistant'",
            "Invalid message order: user message cannot follow user message",
            "Messages with same role cannot be adjacent",
            "Found two user messages back to back",
            "expected role assistant but got user",
            "Expected role assistant at index 2, got user",
            "message role sequence is invalid",
            "messages 中的 user 和 assistant 需要交替出现",
        ),
        any_status=True,
    ),
    Wording(
        "roles",
        (
            r"\b(?:last|first|final)\b[^.\n]{0,20}\b(?:message|role|turn)\b[^.\n]{0,30}"
            r"\b(?:must|should|has to|needs? to)\b[^.\n]{0,30}\b(?:user|assistant|role)\b|expected last role"
            r"|system messages? (?:must|should) be (?:at the beginning|(?:the )?first)"
            r"|(?:conversations?|messages|chat|prompt)\b[^.\n]{0,20}\b(?:must|should|has to|needs? to) (?:start|begin)"
            r"\b[^.\n]{0,30}\b(?:user|role)\b|expected (?:the )?first (?:message|role|turn)\b[^.\n]{0,30}\buser\b"
            r"|turn comes immediately after|no user query found|no previous assistant message"
            r"|ends? with an? \W?(?:assistant|user|function)|assistant message prefill"
            r"|assistant messages at the end|\b(?:last|final) message\b[^.\n]{0,30}(?:not|n[’']t) be \W?assistant",
        ),
        (
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
            "Last message must have role `user`",
            "Jinja Exception: Conversation must start with a user prompt",
            "Expected first message to have role 'user', got 'system'",
            "System message must be at the beginning.",
            "Please ensure that function call turn comes immediately after a user turn or after a function response "
            "turn.",
            "No user query found in messages.",
            "Please ensure that multiturn requests ends with a user role or a function response.",
            "This model does not support assistant message prefill. The conversation must end with a user message.",
            "Cannot have 2 or more assistant messages at the end of the list.",
            "The last message in a conversation can't be assistant",
            "Message has tool role, but there was no previous assistant message with a tool call!",
        ),
        any_status=True,
    ),
    Wording(
        "system_role",
        (
            r"(?<!multiple )(?<!several )(?<!additional )(?<!two )\b(?:system|developer)[`'\"]?[ _]"
            r"(?:roles?|messages?|prompts?|instructions?)\b[^.\n]{0,40}?" + _NOT + r"|"
            r"\broles?\W{1,4}(?:system|developer)\b[^.\n]{0,40}?" + _NOT + r"|" + _NOT + r"[^.\n]{0,30}?"
            r"\b(?:system|developer)\b[`'\"]? ?(?:roles?|messages?|prompts?|instructions?)\b"
            r"|\brole\W{1,3}(?:does not|doesn[’']t) support\W+(?:system|developer)\b"
            r"|(?:unexpected|invalid|unknown|unsupported) (?:message )?role\W+(?:system|developer)\b"
            r"|(?:role\W+)?input should be [`'\"]?user[`'\"]?(?: or|,(?![^\n]{0,60}\bsystem\b))"
            r"|\bexpected\W+user\W+or\W+assistant\b[^.\n]{0,10}\bsystem\b"
            r"|\brole\W{1,3}system\W{1,3}(?:is )?(?:invalid|not valid)|\bno system (?:messages?|prompts?|role)\b"
            r"|\brole\W{1,3}system\b[^.\n]{0,10}\bunknown\b"
            r"|\broles? (?:are )?(?:allowed|supported)\W+(?:but )?(?:got|found|received) \W?system|handle (?:the "
            r"|a )?system role"
            r"|\brole\W{1,3}must be \W?user\W? or|expected one of\W+user\W+assistant\W+got\W+system"
            r"|\bfrom user\W+not system|first message (?:can ?not|can[’']t|must not) be \W?system"
            r"|\binvalid value\W+system\b|permitted\W+user\W+assistant\b|\brole must be in\W+user\W+(?:assistant"
            r"|model)\b"
            r"|only [`'\"]?user[`'\"]? and [`'\"]?(?:assistant|model)[`'\"]? roles are supported(?!,)"
            r"|\broles\W{1,3}user\W{1,4}(?:and |or )?\W?(?:assistant|model)\b(?![^\n]{0,60}\b(?:system|tool|altern))"
            r"|\brolle\W{1,3}(?:system|developer)\b[^.\n]{0,20}\bnicht\b|\br[oô]le\W{1,3}system\W{1,3}n[’']est pas\b"
            r"|\bonly\b[^.\n]{0,20}\buser\W{1,4}(?:and|or)\W{1,4}(?:assistant|model)\b\W{1,3}(?:messages?|turns?"
            r"|(?:roles? )?(?:is|are) (?:allowed|accepted|permitted|valid))\b(?![^\n]{0,60}\bsystem\b)"
            # Schemas: the values that a role may have.
            r"|unknown variant\W+system|[`'\"]system[`'\"] (?:is not one of|found using\W+role)"
            r"|\brole\b (?:must|should) be (?:one of|either)\W+user\W+(?:(?:and|or)\W+)?(?:assistant|model)\b"
            r"|" + _NOT + r" (?:the |a )?[`'\"]?system[`'\"]? (?:field|parameter)"
            r"|不支持\s?\S{0,4}(?:system|系统)|(?:system|系统)\s?\S{0,6}不支持"
            # The parameter of the Responses API.
            r"|(?:" + _NOT + r"|unknown|unrecognized|unexpected)\w*(?: (?:parameter|argument|field)s?)?(?: supplied)?"
            r"[\s:`'\"]{1,4}instructions\b|\binstructions\b[\s`'\"]{1,2}(?:(?:parameter|argument|field) )?(?:is |are )"
            + _NOT,
        ),
        (
            "System role not supported",
            "The system role is not supported by this model.",
            "For model `kimi-k9` the role system is not supported",
            "This model does not support system messages",
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            "Developer instruction is not enabled for models/gemma-3-27b-it",
            "Unexpected role 'system'",
            "Only user and assistant roles are supported!",
            "Only roles 'user' and 'assistant' are allowed",
            "This model only supports user and assistant messages",
            "Model only supports roles: user, assistant",
            "Die Rolle 'system' wird nicht unterstützt",
            "Le rôle 'system' n'est pas pris en charge",
            "role: Input should be 'user' or 'assistant'",
            "messages[0].role: unknown variant `system`, expected `user` or `assistant`",
            "'system' is not one of ['user', 'assistant'] - 'messages.0.role'",
            "Input tag 'system' found using 'role' does not match any of the expected tags: 'user', 'assistant'",
            "messages[0].role must be one of [user, assistant]",
            "This model doesn't support the system field. Remove system and try again.",
            "System prompts are not available for this model",
            "该模型不支持 system 角色",
            "系统消息不支持",
            "system_instruction is not supported by this model",
            "messages[0].role: expected 'user' or 'assistant', got 'system'",
            "Input should be 'user' or 'assistant' [type=literal_error, input_value='system']",
            "The role 'system' is invalid",
            "Only user/assistant roles allowed, got system",
            "Only user, assistant and tool roles are supported, got system.",
            "messages.0.role: Input should be 'user', 'assistant' or 'tool'",
            "role: must be user or assistant",
            "This template doesn't handle the system role",
            "No system messages allowed",
            "Input validation error: first message cannot be system",
            "Invalid value: 'system'. Supported values are: 'user' and 'assistant'.",
            "Role must be in ['user', 'assistant']",
            "Argument not supported: instructions",
            "Unknown parameter: 'instructions'.",
            "The `instructions` parameter is not supported",
        ),
        any_status=True,
    ),
    Wording(
        "parallel_calls",
        (
            r"\bsingle (?:tool|function)[ _-]?calls?\b|\b(?:only )?(?:one|1|a single) (?:tool|function)[ _-]?call\b"
            r"[^.\n]{0,40}\b(?:at (?:once|a time)|per|each|in (?:a|one)|allowed|supported)"
            r"|\btool_calls\b[^\n]{0,60}\b(?:at most|max\w*(?: \w+){0,2}) 1\b"
            r"|\b(?:multiple|parallel|several|more than one) (?:tool|function)[ _-]?calls?\b[^.\n]{0,60}"
            + _NOT
            + r"|"
            + _NOT
            + r"[^.\n]{0,30}\b(?:multiple|parallel|several|more than one) (?:tool|function)[ _-]?calls?\b",
        ),
        (
            "This model only supports single tool-calls at once!",  # the template of Llama 3
            "Only one tool call is supported per message",
            "tool_calls must contain at most 1 item",
            "Invalid 'tool_calls': array too long. Expected an array with maximum length 1",
            "Multiple tool calls in one assistant message are not supported",
            "This model does not support parallel tool calls",
        ),
        any_status=True,
    ),
    Wording(
        "result_names",
        (
            r"function_response\.name\b|\bfunction response\b[^.\n]{0,40}\bname\b"
            r"|(?:\brole\W+tool\b|\btool (?:message|result|response)s?\b)[^.\n]{0,60}\b(?:must|should|requires?|needs?"
            r"|missing|without|lacks?)\b[^.\n]{0,30}(?<![\w.])\W?name\b"
            r"|\bname\b[^.\n]{0,20}\b(?:is )?(?:required|missing)\b[^.\n]{0,30}\b(?:tool|function) (?:message|result)",
        ),
        (
            "* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.",  # Gemini
            "messages with role 'tool' must have a name",
            "tool message requires 'name'",
            "name is required for tool messages",
        ),
        any_status=True,
    ),
    Wording(
        "results",
        (
            r"(?:\btool_calls\W+|\bfunction call\w*|\btool_?use\b)[^\n]{0,40}must be followed by"
            r"|\brole\W+tool\b[^\n]{0,20}must (?:be a response to|follow)"
            r"|\b(?:tool|function)\b[ _](?:call )?(?:results?|responses?)\b[^.\n]{0,20}\b(?:not|n[’']t) follow"
            r"|number of function (?:calls and|response)|\btoolconfig\b[^.\n]{0,20}must be defined"
            r"|\btool_?result\b[^.\n]{0,60}\b(?:exceeds?|must have a)\b[^.\n]{0,40}\btool_?use"
            r"|without `?tools=`? param|did not have response messages|insufficient tool messages",
        ),
        (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each of them.",
            "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
            "invalid params, tool call result does not follow tool call (2013)",  # MiniMax
            "Please ensure that the number of function response parts is equal to the number of function call parts",
            "Not the same number of function calls and responses",  # Mistral
            "The following tool_call_ids did not have response messages: call_1",
            "insufficient tool messages following tool_calls message",  # DeepSeek
            "The toolConfig field must be defined when using toolUse and toolResult content blocks.",  # Bedrock
            "Bedrock doesn't support tool calling without `tools=` param specified.",  # LiteLLM
            "The number of toolResult blocks exceeds the number of toolUse blocks of previous turn",
            "`tool_use` ids were found without `tool_result` blocks; each `tool_use` must be followed by one",
        ),
        any_status=True,
    ),
    Wording(
        "call_ids",
        (
            rf"{_CALL_ID}[^\n]{{0,120}}?(?:must|should|too long|\blength\b|pattern|\binvalid\b|unique|duplicate"
            r"|alphanumeric|characters|begins with|\b(?:bad|wrong|illegal)\b|不合法|无效)"
            rf"|\b(?:invalid|duplicate\w*|too long|malformed|bad|wrong|illegal)\b[^\n]{{0,60}}?{_CALL_ID}"
            r"|\n[^\n]*\bmessages\W{1,2}\d+\W{1,2}tool_call(?:s\W{1,2}\d+\W{1,2}|_)id\b"  # the parameter at fault
            r"|function\W{1,2}name\b[^\n]{0,80}(?:pattern|too long)|\btooluseid\b"
            rf"|{_CALL_ID}[^\n]{{0,60}}?\bnot found\b|\bno tool call found\b|\bunexpected\W{{1,3}}{_CALL_ID}",
        ),
        (
            "Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9.",
            "Tool call IDs should be alphanumeric strings with length 9!",
            "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40.",
            "Invalid 'input[3].call_id': string too long.",
            "Invalid 'input[1].id': string too long. Expected 64.\nstring_above_max_length",  # Copilot
            "Invalid 'input[2].id': 'x'. Expected an ID that begins with 'fc'.",
            "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
            "Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern.",
            "messages.1.content: `tool_use` ids must be unique",
            "Bad tool call id",
            "Invalid value\ninvalid_request_error messages[2].tool_calls[0].id",
            "tool_call_id 参数不合法",
            "The value at messages.2.content.0.toolUse.toolUseId failed to satisfy constraint",  # Bedrock
            "tool_call_id not found in previous assistant message",
            "No tool call found for function call output with call_id x.",
            "unexpected `tool_use_id` found in `tool_result` blocks: x",
        ),
        any_status=True,
    ),
    Wording(
        "tools",
        (
            r"enable-auto-tool-choice|tool-call-parser|tool[ _]?call[ _]?parser|tools? param\w* requires?|--jinja"
            r"|(?:can ?not|can[’']t) (?:use|call) (?:tools|functions)|no (?:endpoints?|models?"
            r"|providers?)\b[^.\n]{0,60}(?:\btools?\b|\bfunction)"
            r"|\bno (?:tool|function)[ -]?(?:\w+ )?(?:support|use)|not capable of (?:tool|function)"
            r"|(?:not|n[’']t) have (?:an? )?(?:native )?(?:tool|function)"
            r"|(?:unable|(?:not|n[’']t) able) to (?:call|use) (?:tools|functions)"
            r"|(?:not|n[’']t) support (?:the )?\W?toolconfig|\btype mismatch of \W{0,2}tools\b"
            r"|tool[ -]?calling requires|unknown variant\W+tool\b"
            r"|\brole\b[^\n]{0,4} must be one of\W+system\W+user\W+assistant\W*(?:$|\n)"
            r"|\b(?:not |un)tool[ -]capable|not tool[ -]capable|\blacks? (?:tool|function)|(?:tool|function)_?(?:use"
            r"|calls?|calling)?_not_supported"
            r"|unsupported_(?:tools?|functions?)\b|--tool-parser|tool parser (?:is )?not|base model and"
            r"|template has no tools"
            r"|no (?:allowed )?providers\b[^\n]{0,60}\btools?\b|(?:tools?"
            r"|functions?)\b[^.\n]{0,20}\bonly supported (?:for|by|with)"
            r"|not (?:been )?trained (?:for|on|to use) (?:tool|function)"
            r"|(?:not compatible|incompatible) with (?:tool|function)|remove (?:the )?\W?(?:tools|functions)\b"
            r"|requires a model with (?:tool|function)"
            r"|\btools (?:must|should) (?:not be (?:set|sent)|be (?:empty|null|none|omitted|removed))"
            r"|\b(?:tools?|tool[ _](?:use|calls?|calling)) (?:is|are) (?:unavailable|invalid for)"
            r"|no (?:tool|function)[ -]?call(?! found)|only available for models with (?:tool|function)"
            r"|\bstream(?:ing)?\b[^.\n]{0,30}\bnot\b[^.\n]{0,20}\b(?:with|when|while)\b[^.\n]{0,20}\b(?:tools?|functions?)\b"
            r"|not supported for\b[^.\n]{0,20}\bfunction[ -]?call|不支持\s?\S{0,6}(?:工具|函数|tool|function)",
        ),
        (
            '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
            "No endpoints found that support tool use. To learn more about provider routing, visit: https://x.example",
            "tools param requires --jinja flag",
            "Cannot use tools with stream",
            "Streaming is not supported when using tools",
            "The requested model does not have tool support",
            "This model has no tool calling capability",
            "this model is unable to call tools",
            "This model isn't able to use tools",
            "Model does not have a tool parser configured",
            "This model doesn't support the toolConfig field. Remove toolConfig and try again.",  # Bedrock
            "oneOf at '/' not met, required properties at '/' are 'prompt', Type mismatch of '/tools'",  # Cloudflare
            "tool calling requires a chat template that supports it",
            "messages[2].role: unknown variant `tool`, expected one of `system`, `user`, `assistant`",
            "this model can not use tools",
            "The model cannot call functions",
            "this model only supports plain chat; remove 'tools'",
            "tool_choice: 'auto' requires a model with tool support",
            "Model is not tool-capable",
            "Model lacks tool support",
            "Tool parser not configured",
            "The `tools` parameter is only supported for chat models",
            "No allowed providers are available for the selected model with tool use",
            "No\ntool_use_not_supported",
            "The model was not trained for tool use",
            "The model is not compatible with tools",
            "Remove tools from the request; this is a completion model",
            "tools must be empty for this model",
            "the parameter tools is invalid for this model",
            "tools are only available for models with tool support",
            "x/y is not supported for JSON mode/function calling",
            "当前模型不支持 Function Call 功能",
        ),
        any_status=True,
    ),
    Wording(
        "tools",
        (
            # What is not supported together with tools is something else.
            r"(?:not|n[’']t|no)\b(?: \w+){0,2} support(?:ed|ing)?(?: for)?"
            r"(?! (?:with|when|while|if|alongside|together|in combination)\b(?! this))"
            r"(?: (?!parallel)\w+){0,3}[\s:\[({`'\"]+" + _TOOLS + r"|" + _TOOLS + r"[^.\n]{0,40}?" + _NOT,
        ),
        (
            "registry.ollama.ai/library/gemma:2b does not support tools",
            "This model doesn't support function calling.",
            "groq does not support parameters: ['tools'], for model=x",
            "ollama does not support parameters: {'tools': [...]}, for model=x",
            "Function calling is not supported by this model.",
            "`tool calling` is not supported with this model",
            "deepseek-reasoner does not support Function Calling",
            "Tool use is not enabled for this model",
            "tools are unsupported",
            "Function calling is not available for this model",
            "tools can't be used with this model",
            "Tools are incompatible with model x",
        ),
        any_status=True,
    ),
    Wording(
        "tools",
        (
            r"(?:unknown|unsupported|unrecognized|unexpected|extra(?:_forbidden| inputs)?)(?:_parameter)?\b[^\n]{0,60}?"
            r"(?:(?<![\w.\[])|(?<=\bbody\.))(?:tools|tool_choice|functions)\b(?!\[|\.\w)"
            r"|(?:unexpected|unsupported) role\W+tool\b(?!\W+after)|\brole\W{1,3}tool\b\W{1,3}(?:is )?not"
            r"|roles are supported, with the exception of an initial"
            r"|\binvalid (?:parameter|argument)s?\W+tools\b(?![\[.])"
            r"|\bparameter\W{1,3}tools\W{1,3}(?:is |was )?not recogni[sz]ed"
            r"|(?:not|n[’']t) accept (?:the )?(?:(?:parameter|argument)\W+)?tools\b(?![\[.])"
            r"|(?:^|\s)tools\s+extra inputs"  # pydantic
            r"|\('tools'[^)\n]{0,40}\b(?:was|were) unexpected|\btools\W{1,2}unexpected\b",
        ),
        (
            "Unknown parameter: 'tools'.",
            "Unrecognized request argument supplied: tools",
            "Extra inputs are not permitted\nextra_forbidden body tools",
            "Extra inputs are not permitted: body.tools",
            "Unexpected role 'tool'",
            "Invalid parameter: tools",
            "Parameter 'tools' not recognised",
            "unsupported_parameter: tools",
            "tools: unexpected property",
            "Model does not accept argument 'tools'",
            "This endpoint doesn't accept tools",
            "Additional properties are not allowed ('tools', 'tool_choice' were unexpected)",
            "1 validation error for ChatCompletionRequest: tools Extra inputs are not permitted",
            "Only user and assistant roles are supported, with the exception of an initial optional system message!",
        ),
    ),
    Wording(  # How many there are, or how one of them is defined: an answer without any is better than none.
        "tools",
        (
            r"\bmaximum tools limit\b|\b(?:more than|at most|up to|maximum of) \d+ (?:tools|functions)\b"
            r"|\btools\W{1,3}(?:array too long|maximum number of items)|\btoo many (?:tools|functions)\b"
            r"|\binvalid (?:json )?schema for (?:function|tool)\b|\b(?:invalid|unsupported) tool schema\b"
            r"|\btools\W\d+\W\w+\W{1,3}(?:for|input_schema)\b[^\n]{0,80}\b(?:not supported|invalid|must)\b"
            r"|unable to generate parser for this template|error parsing grammar|unsupported json schema"
            r"|unknown name\b[^\n]{0,60}\btools\W\d+\W+function_declarations\b"
            r"|not implement (?:function|tool)[ _-]call"
            r"|(?:unknown|unexpected|unrecognized|unsupported) (?:parameter|field|argument|key)\W{1,4}tools\W{1,2}\d+\W"
            r"|\btools\W{1,4}\d+\W{1,4}(?:\w+\W{1,4}){0,3}(?:type|function)\b[^\n]{0,80}"
            r"(?:input should be|field required|unknown|unsupported|invalid|expected)"
            r"|(?:invalid value|unknown variant|unsupported)\W{1,3}function\b[^\n]{0,80}"
            r"(?:web_search|file_search|code_interpreter|\bmcp\b)",
        ),
        (
            "Maximum tools limit reached. 520 tools have been provided but the maximum is 200.",  # xAI
            "You may not include more than 128 tools in your request.",
            "Invalid 'tools': array too long. Expected an array with maximum length 128, but got one with length 141.",
            "'tools': maximum number of items is 128",  # Groq
            "Invalid schema for function 'search': array schema missing items.",
            "tools.25.custom: For 'integer' type, properties maximum, minimum are not supported",  # Anthropic
            "unsupported tool schema: additionalProperties is only supported as false",
            "Unable to generate parser for this template. Automatic parser generation failed",  # llama.cpp
            "parse: error parsing grammar: expecting name at",
            "Unsupported JSON schema fields: {'minItems', 'items'}",  # Cerebras
            "Unknown name 'x' at 'tools[0].function_declarations[0].parameters': Cannot find field.",  # Gemini
            "Chat format 'llama-2' does not implement function calling",  # llama-cpp-python
            "Unknown parameter: 'tools[0].strict'.",
            "{'type': 'literal_error', 'loc': ('body', 'tools', 0, 'type'), 'msg': \"Input should be 'mcp'\"}",
            "Invalid value: 'function'. Supported values are: 'web_search_preview' and 'code_interpreter'.",
        ),
        any_status=True,
    ),
    Wording(
        "images",
        (
            r"at most 0 (?:image|multimodal)|no (?:endpoints?|models?|providers?)\b[^.\n]{0,60}\bimages?\b|mmproj"
            r"|\bno (?:vision|image|multi-?modal)\b|not have (?:a )?(?:vision|image|multi-?modal)|is text[- ]only"
            r"|image_url\W+is not|unknown content type\W+image|vision is (?:not |un)available"
            r"|only (?:png|jpe?g)\b|only text (?:content|input|is)|supports? (?:only text"
            r"|text only)|text-only (?:prompts|model|input)"
            r"|required for image input|not (?:a )?(?:multi-?modal|vision|vlm)\b"
            r"|unknown variant `?(?:image_url|input_image)|visual input|too many images|input should be 'text'"
            r"|image urls? (?:are|is) only|(?:not|n[’']t) see images"
            r"|(?:图片|图像)\S{0,6}(?:不支持|过大|无效)|不支持\s?\S{0,6}(?:图片|图像|多模态|视觉)",
        ),
        (
            "At most 0 image(s) may be provided in one prompt.",
            "No endpoints found that support image input",
            "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
            "Failed to deserialize: messages[0]: unknown variant `image_url`, expected `text`",
            "x/y is not a multimodal model",
            "this model is missing data required for image input",
            "This model supports text only",
            "Model has no vision capability",
            "image_url is not a valid content type",
            "unknown content type: image_url",
            "Only PNG and JPEG images are supported",
            "The model is not a VLM. Please use text-only prompts.",
            "Image URLs are only allowed for messages with role user",
            "Too many images in request",
            "Visual input is not supported",
            "该模型不支持图片输入",
            "图片格式不支持",
        ),
        any_status=True,
    ),
    Wording(
        "images",
        (
            rf"{_IMAGES}[^\n]{{0,80}}?(?:{_NOT}|\binvalid\b|exceed|too (?:large|big|many|small)|corrupt"
            r"|could not|cannot|unable to|only supported)"
            rf"|(?:{_NOT}|\binvalid\b|could not|cannot|unable to|failed to|not a valid|not represent)"
            rf"[^.\n]{{0,50}}?{_IMAGES}",
        ),
        (
            "Invalid content type. image_url is only supported by certain models.",
            "This model does not support image input.",
            "The image data you provided does not represent a valid image.",
            "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum",
            "Could not process image",
            "Unsupported image format",
            "Vision is not enabled for this model",
        ),
        any_status=True,
    ),
    Wording(
        "missing_reasoning",
        (_THINKING_FIELD, _ABSENT),
        (
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index 3",
            "Missing `reasoning_content` field in the assistant message at message index 2. "
            "For more information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls",
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            "ThinkingMode: thinking, invalid message without reasoning_content/tool_calls",
            "assistant message has no reasoning_content",
            "reasoning_content cannot be empty for an assistant message with tool calls",
            "Return reasoning_content with the tool calls",
            "reasoning_content must be a string, got null",
        ),
        any_status=True,
    ),
    Wording(
        "missing_reasoning",
        (_THINKING, _ABSENT),
        ("The assistant message must include its thinking", "reasoning is missing in message 3"),
    ),
    Wording(
        "reasoning_refused",
        (
            _THINKING,
            r"unsupported|unknown|unrecognized|unexpected|extra_forbidden|not (?:permitted|supported|allowed)"
            r"|remove (?:the )?`?reasoning|not be included|cannot find field",
        ),
        (
            "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported",
            "property 'messages.2.assistant.reasoning' is unsupported",
            "The reasoning_content is an intermediate result for display purposes only and will not be included in the "
            "context for inference. Please remove the reasoning_content from your message to reduce network traffic.",
            "Unknown parameter: 'input[4].reasoning_content'.",
            "Unknown name \"reasoning_content\" at 'messages[1]': Cannot find field.",
        ),
    ),
    Wording(
        "content",
        (
            rf"keyerror\W+content|missing\W+(?:field\W+)?content\b|is null\W+messages?\W+content"
            rf"|\bmessages?\b[^\n]{{0,40}}{_CONTENT}[^.\n]{{0,40}}"
            r"(?:required|missing|null\b|none\b|empty|blank)|messages?\b[^.\n]{0,40}non-?empty content",
        ),
        (
            "KeyError: 'content'",
            "Failed to deserialize: missing field `content` at line 1",
            "messages.1: all messages must have non-empty content except for the optional final assistant message",
            "messages[2].content is required",
            "Value is null: message.content",
            "Missing 'content'",
        ),
        any_status=True,
    ),
    Wording(
        "content",
        (
            rf"{_CONTENT}[^\n]{{0,60}}?(?:required|missing|null\b|none\b|nonetype|blank|empty|a (?:valid )?string\b"
            rf"|不能为空)|\bmust (?:have|contain) \W?{_CONTENT}|type must be string, but is null"
            rf"|(?:missing|required|requires?|null|none|empty|blank|without|valid string)\b[^\n]{{0,60}}?{_CONTENT}"
            r"|either content or tool_calls",
        ),
        (
            "Invalid value for 'content': expected a string, got null.",
            "Missing required field: content",
            "All non-assistant messages must contain 'content'",
            "[json.exception.type_error.302] type must be string, but is null",  # llama.cpp
            "Field required\nmissing body messages content",
            "json: cannot unmarshal null into Go struct field Message.messages.content of type string",
            "The text field in the ContentBlock object at messages.1.content.0 is blank.",
            "Assistant message must have either content or tool_calls, but not none.",
        ),
    ),
    # The model, and what was asked of it.
    Wording(
        "unknown_model",
        (
            r"model_not_(?:found|available|exist)|\binvalid_model\b|model_decommissioned|deploymentnotfound"
            r"|(?:unknown|no such|invalid) model(?! (?:config|parameter|output|input|response|state|provider))"
            r"|(?:not a valid|not found the|unable to access) model\b"
            # OpenRouter; Anthropic; Zhipu
            r"|no endpoints found for [\w.:-]+/|^model: \S+\s.*not_found_error|模型不存在|无可用渠道"
            r"|model_not_supported|model identifier is invalid|no models? (?:loaded|named)|model not supported"
            r"|not (?:have |been granted )?access to (?:the )?model\b|(?:could not|cannot|can't) find (?:the )?model\b"
            r"|(?:not|deployments?|channels?) (?:be )?found for (?:this )?model\b|no (?:available"
            r"|healthy) (?:channel|deployment)s? for"
            r"|entity was not found: models/|\bmodel \S+ could not be found|\bunsupported model \S+$"
            r"|\bmodel \S+ is not enabled"
            r"|\bmodel \S+ is not supported by any provider"
            r"|end of life|\bmodel\W{1,2}\S{1,100} is not recogni[sz]ed"
            r"|\bmodel\b[^.\n]{0,30}\b(?:was|been) (?:retired|sunset)"
            r"|\bmodel is not deployed|supported (?:api )?model names are|模型\s?\S{0,40}\s?不存在"
            r"|\bendpoint with name\b[^.\n]{0,100}\bdoes not exist"
            r"|\bmodel\b[^.\n]{0,40}(?:not|n[’']t) available in your region",
        ),
        (
            "kimi-k9 is not a valid model ID",
            "No endpoints found for vendor/kimi-k9.",
            "model: kimi-k9\nnot_found_error",
            "Invalid model: kimi-k9\ninvalid_model",
            "Invalid model name passed in model=kimi-k9. Call `/v1/models`.",
            "The provided model identifier is invalid.",
            "No models loaded. Please load a model first.",
            "You do not have access to model kimi-k9",
            "Could not find model kimi-k9",
            "The model kimi-k9 could not be found",
            "No deployment found for model kimi-k9",
            "There are no healthy deployments for this model: kimi-k9",
            "No available channel for model kimi-k9",
            "The requested model is not supported.\nmodel_not_supported",
            "Model kimi-k9 reached its end of life",
            "This model was retired on 2026-06-01",
            "Model is not deployed",
            "model kimi-k9 is not supported by any provider you have enabled",
            "The supported API model names are a or b, but you passed kimi-k9.",  # DeepSeek
            "模型 kimi-k9 不存在",
            "Endpoint with name 'kimi-k9' does not exist.",  # Databricks
            "Model 'kimi-k9' isn't available in your region",
            "当前分组 default 下对于模型 kimi-k9 无可用渠道",
            "The API deployment for this resource does not exist.\ndeploymentnotfound",
        ),
    ),
    Wording(
        "unknown_model",
        (
            r"\bmodels?\W(?:(?!\btools?\b|\bfunction|\bparameter|\bimages?\b|[.!?] ).){0,120}?"
            r"(?:(?:is |was )?not (?:found|exist|available)|does not exist|is unknown|decommissioned|no longer|"
            r"has been (?:deprecated|retired|removed))",
        ),
        (
            "The model `kimi-k9` does not exist or you do not have access to it.",
            "Model Not Exist",
            "The model `gpt-4-32k` has been deprecated",
            "model 'kimi-k9' not found",
            "models/x is not found for API version v1",
        ),
    ),
    Wording(
        # Only the model itself, not what it lacks: a quoted name, or one with a digit or a sign.
        "unknown_model",
        (
            r"\bmodels?\W{1,2}(?:['\"`“][^\s'\"`“”]{1,100}['\"`”]|(?=\S*[\d/:-])[^\s'\"`“”]{1,100})"
            r" (?:is )?not supported",
        ),
        ("The model `kimi-k9` is not supported.", "Model kimi-k9 not supported"),
    ),
    Wording(
        "policy",
        (
            r"\bflagged\b|\bmoderation\b|content[ _-]?(?:policy|filter|management)|responsible ai"
            r"|safety (?:system|polic)|data_inspection_failed"
            r"|(?:sensitive|inappropriate|unsafe|prohibited) (?:content|words|language)"
            r"|usage (?:polic|guideline)|terms of (?:service|use)|敏感|违规|content exists risk|prohibited_content"
            r"|sensitive \(\d"
            r"|\bmoderation_|responsibleai|safety settings|不合规|risk_content|\bunsafe (?:prompt|input|request)"
            r"|(?:contains?|deemed) (?:\w+ )?(?:harmful|inappropriate|unsafe|offensive)|new_sensitive|safety filter"
            r"|guardrails?\b|legal reasons|cyber_policy|considered high risk"
            r"|violat\w* (?:our|the|its) (?:\w+ )?polic|不符合\S{0,4}(?:安全|规范)",
        ),
        (
            "Your input was flagged as potentially violating our usage policy.",
            "kimi-k9 requires moderation on X. Your input was flagged for “violence”.",
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
            "Input data may contain inappropriate content.\ndata_inspection_failed",
            "Content Exists Risk",  # DeepSeek
            "input new_sensitive (1026)",  # MiniMax
            "The prompt was blocked: PROHIBITED_CONTENT",
            "Request blocked by safety filters",
            "Blocked by safety settings",
            "No\nmoderation_blocked",
            "ResponsibleAIPolicyViolation",
            "The input contains harmful content",
            "输入内容不合规",
            "Content violates usage guidelines.",  # xAI
            "This request violates our terms of service",
            "Your request was blocked by guardrails",
            "内容包含违规信息",
            "Unavailable for legal reasons",
            "Your prompt violates our policy",
            "内容不符合安全规范",
            "The request was rejected because it was considered high risk",  # Moonshot
        ),
    ),
    # Behind all others, since a service that names another reason may say so as well.
    Wording(
        "server_error",
        (
            r"\b(?:try|retry)\b[^.\n]{0,40}\b(?:later|in (?:a|some) (?:few|moment|minute|while|time))\b"
            r"|temporarily (?:unavailable|not available)|稍后(?:再|重)?试",
        ),
        (
            "Please try again later.",
            "Something went wrong. Retry your request in a few seconds",
            "The service is temporarily unavailable",
        ),
    ),
)
