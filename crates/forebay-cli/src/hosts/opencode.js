// Made by `forebay init opencode`, removed by `forebay init opencode --uninstall`.
// Hands the results of tools to the program `forebay`, and shows the model the view that it answers with.
import { spawn } from "node:child_process"

const PROGRAM = "@PROGRAM@"
const TIMEOUT = 60_000

// The session at the top: a sub-agent uses the outputs of its parent.
async function top(client, id, known) {
  if (known.has(id)) return known.get(id)
  let session = id
  for (let depth = 0; depth < 8; depth++) {
    const found = await client.session.get({ path: { id: session } }).catch(() => undefined)
    const parent = found?.data?.parentID
    if (!parent) break
    session = parent
  }
  known.set(id, session)
  return session
}

function ask(event, cwd) {
  return new Promise((resolve) => {
    const child = spawn(PROGRAM, ["hook", "opencode"], { cwd, stdio: ["pipe", "pipe", "ignore"], timeout: TIMEOUT })
    let answer = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (text) => (answer += text))
    child.on("error", () => resolve(undefined))
    child.on("close", () => {
      try {
        resolve(answer ? JSON.parse(answer) : undefined)
      } catch {
        resolve(undefined)
      }
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(event))
  })
}

export const Forebay = async ({ client, directory }) => {
  const known = new Map()
  return {
    "shell.env": async (input, output) => {
      if (input?.sessionID) output.env.FOREBAY_SESSION ??= await top(client, input.sessionID, known)
    },
    "tool.execute.after": async (input, output) => {
      try {
        const session = await top(client, input.sessionID, known)
        const event = { event: "after", session, call: input.callID, tool: input.tool, args: input.args, output }
        const answer = await ask(event, directory)
        if (answer?.output !== undefined) output.output = answer.output
        if (answer?.content !== undefined) output.content = answer.content
      } catch {
        // The result stands as it is.
      }
    },
  }
}
