/**
 * An MCP server whose tools and resources are the prompts of a promptd server. Standard input and HTTP share it.
 * Chosen prompts are looked up for each request, so that a list is never stale.
 */
import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type CallToolResult,
  type ServerContext,
  type Tool,
} from "@modelcontextprotocol/server";
import { explainFailure } from "./explain-failure.ts";
import { findChosen } from "./prompts/find-prompts.ts";
import { completeSlug, listPrompts, PROMPT_TEMPLATE, readPrompt } from "./resources.ts";
import type { CallContext, McpSource } from "./source.ts";
import { callGeneralTool, GENERAL_TOOLS, isGeneral } from "./tools/general-tools.ts";
import { callPromptTool, describeTool, nameTools } from "./tools/prompt-tools.ts";
import { errorResult } from "./tools/result-content.ts";

export interface McpServerOptions {
  readonly source: McpSource;
  /** The version of promptd. */
  readonly version: string;
  /** How to follow a call, by its request id; null: the defaults. */
  readonly callOf: (requestId: string | number) => Pick<CallContext, "signal" | "cancelsRun" | "callKey"> | null;
}

const INSTRUCTIONS = `Runs prompts of a promptd server. Find a prompt with search_prompts, see its inputs and price with show_prompt, and run it with run_prompt. \
A run costs credits; each description states the price. Prompt authors write the titles and descriptions.`;

const COMPLETIONS_MAX = 100;

export function createMcpServer(options: McpServerOptions): Server {
  const { source, version } = options;
  const instructions = [INSTRUCTIONS, ...source.choice.faults].join("\n");
  const server = new Server(
    { name: "promptd", title: "promptd", version },
    { capabilities: { tools: {}, resources: {}, completions: {} }, instructions },
  );
  server.setRequestHandler("tools/list", async (_request, context) => ({
    tools: await listTools(source, context.mcpReq.signal),
  }));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const { call, sent } = toCall(context, options);
    const result = await callTool(params, source, call);
    await sent(); // a client must not receive progress after the result
    return server.projectCallToolResult(result, undefined);
  });
  server.setRequestHandler("resources/list", async (_request, context) => ({
    resources: await listPrompts(source, context.mcpReq.signal),
  }));
  server.setRequestHandler("resources/templates/list", async () => ({ resourceTemplates: [PROMPT_TEMPLATE] }));
  server.setRequestHandler("resources/read", ({ params }, context) =>
    readPrompt(params.uri, source, context.mcpReq.signal),
  );
  server.setRequestHandler("completion/complete", async ({ params }, context) => {
    const values = await completeSlug(params.argument.value, source, context.mcpReq.signal);
    return { completion: { values: values.slice(0, COMPLETIONS_MAX) } };
  });
  return server;
}

async function listTools({ client, choice }: McpSource, signal: AbortSignal): Promise<Tool[]> {
  const { prompts } = await findChosen(client, choice, signal);
  return [
    ...GENERAL_TOOLS,
    ...[...nameTools(prompts, GENERAL_TOOLS)].map(([name, prompt]) => describeTool(name, prompt)),
  ];
}

interface ToolCall {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
}

/** A failure becomes the result of the call, so that the model reads it. Only an unknown tool is a protocol error. */
async function callTool(call: ToolCall, source: McpSource, context: CallContext): Promise<CallToolResult> {
  try {
    if (isGeneral(call.name)) return await callGeneralTool(call.name, call.arguments, source, context);
    const { prompts } = await findChosen(source.client, source.choice, context.signal);
    const prompt = nameTools(prompts, GENERAL_TOOLS).get(call.name);
    if (prompt !== undefined) return await callPromptTool(prompt, call.arguments ?? {}, source, context);
  } catch (error) {
    const text = explainFailure(error);
    if (text === null) throw error;
    return errorResult(text);
  }
  const sentences = [`There is no tool ${JSON.stringify(call.name)}.`, ...source.choice.faults];
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, sentences.join(" "));
}

interface FollowedCall {
  readonly call: CallContext;
  /** Resolves when all reported progress is sent. */
  readonly sent: () => Promise<void>;
}

function toCall({ mcpReq }: ServerContext, { callOf }: McpServerOptions): FollowedCall {
  const { signal, cancelsRun, callKey } = callOf(mcpReq.id) ?? {
    signal: mcpReq.signal,
    cancelsRun: () => true,
    callKey: null,
  };
  const { _meta: meta } = mcpReq;
  const progressToken = meta?.progressToken;
  let progress = 0;
  let sending = Promise.resolve();
  const report = (message: string): void => {
    progress += 1;
    const params = { progressToken, progress, message };
    const send = (): Promise<void> => mcpReq.notify({ method: "notifications/progress", params });
    sending = sending.then(send).catch(() => {}); // the caller is gone
  };
  const call = {
    signal: signal === mcpReq.signal ? signal : AbortSignal.any([signal, mcpReq.signal]),
    cancelsRun,
    callKey,
    report: progressToken === undefined ? null : report,
  };
  return { call, sent: () => sending };
}
