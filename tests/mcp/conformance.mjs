// The server that the protocol's conformance suite asks for, over stdio: its scenarios are run through the gateway.
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import * as types from "@modelcontextprotocol/sdk/types.js";

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
const text = (said) => ({ type: "text", text: said });
const image = { type: "image", data: png, mimeType: "image/png" };
const resource = (uri, mimeType, said) => ({ type: "resource", resource: { uri, mimeType, text: said } });
const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
const options = (names) => names.map(([value, title]) => ({ const: value, title }));

const capabilities = { tools: {}, resources: { subscribe: true }, prompts: {}, logging: {}, completions: {} };
const server = new Server({ name: "conformance", version: "1" }, { capabilities });
const elicited = async (extra, properties) => {
  const params = { message: "Please answer", requestedSchema: { type: "object", properties } };
  const result = await extra.sendRequest({ method: "elicitation/create", params }, types.ElicitResultSchema);
  return { content: [text(`Elicitation completed: action=${result.action}, content=${JSON.stringify(result.content)}`)] };
};

const tools = {
  test_simple_text: () => ({ content: [text("This is a simple text response for testing.")] }),
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [{ type: "audio", data: wav, mimeType: "audio/wav" }] }),
  test_embedded_resource: () => ({ content: [resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")] }),
  test_multiple_content_types: () => ({
    content: [text("Multiple content types test:"), image, resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')],
  }),
  test_error_handling: () => ({ isError: true, content: [text("This tool intentionally returns an error for testing")] }),
  test_tool_with_logging: async (_, extra) => {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await extra.sendNotification({ method: "notifications/message", params: { level: "info", data } });
      await pause();
    }
    return { content: [text("done")] };
  },
  test_tool_with_progress: async (_, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        await extra.sendNotification({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
      }
      await pause();
    }
    return { content: [text("done")] };
  },
  test_sampling: async ({ prompt }, extra) => {
    const params = { messages: [{ role: "user", content: text(prompt) }], maxTokens: 100 };
    const result = await extra.sendRequest({ method: "sampling/createMessage", params }, types.CreateMessageResultSchema);
    return { content: [text(`LLM response: ${result.content.text}`)] };
  },
  test_elicitation: ({ message }, extra) => elicited(extra, { username: { type: "string", description: message }, email: { type: "string" } }),
  test_elicitation_sep1034_defaults: (_, extra) =>
    elicited(extra, {
      name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
      verified: { type: "boolean", default: true },
    }),
  test_elicitation_sep1330_enums: (_, extra) => {
    const titled = options([["value1", "First Option"], ["value2", "Second Option"], ["value3", "Third Option"]]);
    const plain = ["option1", "option2", "option3"];
    return elicited(extra, {
      untitledSingle: { type: "string", enum: plain },
      titledSingle: { type: "string", oneOf: titled },
      legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
      untitledMulti: { type: "array", items: { type: "string", enum: plain } },
      titledMulti: { type: "array", items: { anyOf: titled } },
    });
  },
};

const prompts = {
  test_simple_prompt: () => [text("This is a simple prompt for testing.")],
  test_prompt_with_arguments: ({ arg1, arg2 }) => [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  test_prompt_with_embedded_resource: ({ resourceUri }) => [
    resource(resourceUri, "text/plain", "Embedded resource content for testing."),
    text("Please process the embedded resource above."),
  ],
  test_prompt_with_image: () => [image, text("Please analyze the image above.")],
};

const resources = {
  "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
  "test://static-binary": { mimeType: "image/png", blob: png },
  "test://watched-resource": { mimeType: "text/plain", text: "watched" },
};

const on = (schema, answer) => server.setRequestHandler(schema, answer);
const described = (name) => ({ name, description: name });
on(types.ListToolsRequestSchema, () => ({
  tools: Object.keys(tools).map((name) => ({ ...described(name), inputSchema: { type: "object", properties: {} } })),
}));
on(types.CallToolRequestSchema, ({ params }, extra) => tools[params.name](params.arguments ?? {}, extra));
on(types.ListPromptsRequestSchema, () => ({ prompts: Object.keys(prompts).map(described) }));
on(types.GetPromptRequestSchema, ({ params }) => ({
  messages: prompts[params.name](params.arguments ?? {}).map((content) => ({ role: "user", content })),
}));
on(types.ListResourcesRequestSchema, () => ({
  resources: Object.entries(resources).map(([uri, { mimeType }]) => ({ uri, ...described(uri), mimeType })),
}));
on(types.ListResourceTemplatesRequestSchema, () => ({
  resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template", mimeType: "application/json" }],
}));
on(types.ReadResourceRequestSchema, ({ params: { uri } }) => {
  const id = uri.match(/^test:\/\/template\/(.*)\/data$/)?.[1];
  const said = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { contents: [{ uri, ...(id ? { mimeType: "application/json", text: said } : resources[uri]) }] };
});
on(types.SubscribeRequestSchema, () => ({}));
on(types.UnsubscribeRequestSchema, () => ({}));
on(types.SetLevelRequestSchema, () => ({}));
on(types.CompleteRequestSchema, () => ({ completion: { values: ["paris", "park"], total: 2, hasMore: false } }));

await server.connect(new StdioServerTransport());
