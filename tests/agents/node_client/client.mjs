// Connect to an MCP server, list its tools, make a call, and print both as JSON: node client.mjs URL TOKEN TOOL ARGUMENTS
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, token, name, args] = process.argv.slice(2);
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
const client = new Client({ name: "test", version: "1" });
try {
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  const { tools } = await client.listTools();
  const answer = await client.callTool({ name, arguments: JSON.parse(args) });
  console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), answer }));
} catch (error) {
  console.log(JSON.stringify({ error: String(error) }));
}
await client.close();
