import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Command } from 'zin'
import { main } from '../../core/cli/main.js'

/** Settings of the process that a command line would run in. */
export interface CommandLineOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** The commands of a plugin that need no app. */
  readonly commands: readonly Command[]
}

/** Runs `zin` in this process, which costs a fraction of a process: for commands that end by themselves. Resolves to exit code and output. */
export async function commandLine(args: readonly string[], { cwd, env, commands }: CommandLineOptions) {
  const output = new PassThrough()
  const said = text(output)
  const terminal = { cwd, env: { ...env }, stdout: output, stderr: output }
  const code = await main(args, terminal, async () => commands.map((command) => ({ plugin: 'test', command })))
  output.end()
  return { code, text: await said }
}
