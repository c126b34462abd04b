// Plays an agent in JavaScript for pytest --mapsat-agent="cmd:node my_agent.mjs". Copy it: it needs Node 18 or later, and nothing else.
import { createInterface } from "node:readline";

const DOWN = new Set([401, 407, 408, 429]);
const UNREACHED = /^(E(CONNREFUSED|CONNRESET|TIMEDOUT|NOTFOUND|PIPE)|EAI_AGAIN|UND_ERR_(CONNECT_TIMEOUT|HEADERS_TIMEOUT|BODY_TIMEOUT|SOCKET))$/;
const pending = new Map();
let asked = 0;
let serving = false;

function tell(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** Play the episode: `agent` gets { message, messages, context, session, tools } and returns a text, a reply, or a result of the AI SDK or Mastra. */
export function serve(agent) {
  serving = true;
  // Standard output is for the messages.
  console.log = console.info = console.debug = console.error;
  createInterface({ input: process.stdin }).on("line", async (line) => {
    const message = JSON.parse(line);
    if (message.type === "result") {
      pending.get(message.id)?.(message.result);
      pending.delete(message.id);
      return;
    }
    try {
      tell({ type: "reply", ...(await replyOf(await agent(message))) });
    } catch (error) {
      const reason = downOf(error);
      if (reason) return tell({ type: "unavailable", reason });
      console.error(error);
      process.exit(1);
    }
  });
}

/** Let the sandbox answer a call of a tool, and return its result. */
export function call(name, args = {}) {
  const id = ++asked;
  return new Promise((resolve) => {
    pending.set(id, resolve);
    tell({ type: "call", id, name, arguments: args });
  });
}

/** Let the sandbox answer these tools of the AI SDK or Mastra ({ name: tool }) in episodes; elsewhere they run as usual. */
export function sandboxed(tools) {
  for (const [key, tool] of Object.entries(tools)) {
    const real = tool.execute;
    // Mastra's tools have ids.
    const name = typeof tool.id === "string" ? tool.id : key;
    tool.execute = (...given) => (serving ? call(name, argumentsOf(given[0])) : real.apply(tool, given));
  }
  return tools;
}

/** Make tools of the AI SDK, which Mastra takes too, from the tools of the case; `jsonSchema` is that of the package ai. */
export function caseTools(tools, jsonSchema) {
  const made = ({ name, description, parameters }) => [name, { description, inputSchema: jsonSchema(parameters), execute: (input) => call(name, argumentsOf(input)) }];
  return Object.fromEntries(tools.map((tool) => made(tool.function)));
}

// Mastra before 1.0 hands on the arguments beside its own context.
function argumentsOf(input) {
  return input && "context" in input && "runtimeContext" in input ? input.context : input;
}

// Results of streams have promises in these places.
async function replyOf(result) {
  if (typeof result === "string") return { text: result };
  if (!result?.steps) return result;
  const [steps, text, used = {}] = await Promise.all([result.steps, result.text, result.totalUsage ?? result.usage]);
  let data = await result.object;
  try {
    data ??= await result.output;
  } catch {} // the AI SDK throws where an answer has none
  return {
    text,
    output: data && typeof data === "object" ? data : undefined,
    usage: { input_tokens: used.inputTokens, output_tokens: used.outputTokens },
    thoughts: steps.map((step) => step.reasoningText).filter((thought) => thought),
  };
}

function downOf(error) {
  for (let at = error; at; at = at.lastError ?? at.cause) {
    const status = at.statusCode ?? at.status;
    if (DOWN.has(status) || status >= 500 || UNREACHED.test(at.code)) return String(at.message);
  }
  return "";
}
