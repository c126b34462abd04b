// Agents of the AI SDK and of Mastra with models that say what they are told, played by mapsat.mjs: node agents.mjs MAPSAT KIND
import { jsonSchema, Output, stepCountIs, tool, ToolLoopAgent } from "ai";
import { MockLanguageModelV3 } from "ai/test";

const [path, kind] = process.argv.slice(2);
const { caseTools, sandboxed, serve } = await import(path);
const usage = { inputTokens: { total: 100 }, outputTokens: { total: 10 } };
const call = (id, query) => ({ type: "tool-call", toolCallId: id, toolName: "find", input: JSON.stringify({ query }) });
const answers = [
  [[{ type: "reasoning", text: "Look." }, call("c1", "cafe"), call("c2", "tea")], "tool-calls"],
  [[{ type: "text", text: "Blue Door" }], "stop"],
];

function model() {
  let number = 0;
  const doGenerate = async () => {
    const [content, why] = answers[number++];
    return { content, finishReason: { unified: why, raw: why }, usage, warnings: [] };
  };
  return new MockLanguageModelV3({ doGenerate });
}

function streaming() {
  const made = model();
  made.doStream = async () => {
    const { content, finishReason, usage } = await made.doGenerate();
    const parts = content.flatMap((part) =>
      part.type === "tool-call" ? [part] : [
        { type: `${part.type}-start`, id: "1" },
        { type: `${part.type}-delta`, id: "1", delta: part.text },
        { type: `${part.type}-end`, id: "1" },
      ],
    );
    return { stream: ReadableStream.from([{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason, usage }]) };
  };
  return made;
}

const failing = async () => {
  throw new Error("this would have run for real");
};
const parameters = { type: "object", properties: { query: { type: "string" } }, required: ["query"] };

async function mastra() {
  const { Agent } = await import("@mastra/core/agent");
  const { createTool } = await import("@mastra/core/tools");
  const { z } = await import("zod");
  const find = createTool({ id: "find", description: "Find.", inputSchema: z.object({ query: z.string() }), execute: failing });
  const agent = new Agent({ id: "desk", name: "desk", instructions: "Find.", model: streaming(), tools: sandboxed({ find }) });
  return ({ messages }) => agent.generate(messages);
}

const agents = {
  own: ({ messages }) => {
    const find = tool({ description: "Find.", inputSchema: jsonSchema(parameters), execute: failing });
    return new ToolLoopAgent({ model: model(), tools: sandboxed({ find }) }).generate({ messages });
  },
  case: ({ messages, tools }) =>
    new ToolLoopAgent({ model: model(), tools: caseTools(tools, jsonSchema), stopWhen: stepCountIs(5) }).generate({ messages }),
  stream: ({ messages, tools }) => new ToolLoopAgent({ model: streaming(), tools: caseTools(tools, jsonSchema) }).stream({ messages }),
  data: ({ messages }) => {
    answers.splice(0, 2, [[{ type: "text", text: '{"place": "Blue Door"}' }], "stop"]);
    const schema = jsonSchema({ type: "object", properties: { place: { type: "string" } } });
    return new ToolLoopAgent({ model: model(), output: Output.object({ schema }) }).generate({ messages });
  },
  down: async () => {
    throw new Error("later", { cause: Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }) });
  },
  crash: async () => {
    console.log("this is no message");
    throw new TypeError("x is no y");
  },
};
serve(kind === "mastra" ? await mastra() : agents[kind]);
