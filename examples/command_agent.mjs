// The agent of function_agent.py as a program of its own, in plain Node: each line of standard input and output is a JSON object.
//
// pytest benchmark_cases/realtime/next-bus.yaml --mapsat-agent="cmd:node examples/command_agent.mjs"
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const tell = (message) => console.log(JSON.stringify(message)); // logs go to console.error

async function call(name, args) {
  tell({ type: "call", id: 1, name, arguments: args });
  return JSON.parse((await lines.next()).value).result;
}

async function agent(message, context) {
  const destination = /\bto ([A-Z]\w*(?: [A-Z]\w*)*)/.exec(message)?.[1];
  if (!destination || !context.location) return "I only know about buses. Where do you want to go?";
  const found = await call("get_transit_lines", { city: context.city, origin: context.location.name, destination });
  const leaving = (found.lines ?? []).filter((line) => line.next.length); // an answer may be an error without lines
  if (!leaving.length) return `I found no bus to ${destination}.`;
  const first = leaving.reduce((a, b) => (a.next[0] <= b.next[0] ? a : b));
  return `Take ${first.line} at ${first.next[0]} and get off at ${first.alight}. The ride takes ${first.ride_min} min and costs ${first.fare_yuan} yuan.`;
}

for (let line = await lines.next(); !line.done; line = await lines.next()) {
  const { message, context } = JSON.parse(line.value);
  tell({ type: "reply", text: await agent(message, context) });
}
