#!/usr/bin/env node
import { main } from './cli/main.js'
import { commandOwners, standaloneCommands } from './cli/standalone.js'

/** Time in ms that the process has to exit by itself after the command has ended. */
const graceMs = 2_000

// A closed pipe (`zin routes | head`) is not a failure; a full disk is. main ends a command whose output is lost, but no app.
let failed = false
for (const name of ['stdout', 'stderr'] as const) {
  process[name].on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' || failed) return
    failed = true
    process.exitCode ||= 1
    process.stderr.write(`zin: cannot write to ${name}: ${error.message}\n`)
  })
}

const plugins = new URL('./plugins/', import.meta.url)
const code = await main(
  process.argv.slice(2),
  {
    cwd: process.cwd(),
    env: process.env,
    get stdin() {
      return process.stdin
    },
    stdout: process.stdout,
    stderr: process.stderr,
  },
  () => standaloneCommands(plugins),
  () => commandOwners(plugins),
)
process.exitCode = code || (failed ? 1 : 0)

// A handle that a plugin left open must not keep the process alive.
setTimeout(() => process.exit(), graceMs).unref()
