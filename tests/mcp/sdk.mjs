// The official TypeScript client through the gateway. It refuses results that break a tool's outputSchema.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import assert from "node:assert";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [forebay, packages] = process.argv.slice(2);
const folder = realpathSync(mkdtempSync(join(tmpdir(), "forebay-")));
const lines = Array.from({ length: 40_000 }, (_, n) => `line ${n + 1} of many`).join("\n");
writeFileSync(join(folder, "large.txt"), lines);
writeFileSync(join(folder, "small.txt"), "small");

const server = join(packages, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
const transport = new StdioClientTransport({
  command: forebay,
  args: ["mcp", "--", "node", server, folder],
  env: { ...process.env, FOREBAY_ROOT: join(folder, "root") },
  stderr: "ignore",
});
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
assert.equal(client.getServerVersion().name, "secure-filesystem-server");
const { tools } = await client.listTools();
assert.ok(tools.some((tool) => tool.name === "output_read"));

const small = await client.callTool({ name: "read_text_file", arguments: { path: join(folder, "small.txt") } });
assert.deepEqual(small.structuredContent, { content: "small" });
const large = await client.callTool({ name: "read_text_file", arguments: { path: join(folder, "large.txt") } });
assert.equal(large.structuredContent, undefined);
assert.ok(large.content[0].text.length < 12_000);
const handle = large.content.find((block) => block.type === "resource_link").name;
const read = await client.callTool({ name: "output_read", arguments: { handle, lines: "39999:39999" } });
assert.match(read.content[0].text, /line 39999 of many\n/);
await client.close();
rmSync(folder, { recursive: true });
console.log("typescript client, filesystem server: a large result is folded, and the client minds no schema");
