#!/usr/bin/env node
import { main } from './cli/main.js'
import { standaloneCommands } from './cli/standalone.js'

/** Time in ms that the process has to exit by itself after the command has ended. */
const graceMs = 2_000

// A closed pipe (`zin routes | head`) is not a failure: main ends a command whose output nobody reads, but no app.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

process.exitCode = await main(
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
  () => standaloneCommands(new URL('./plugins/', import.meta.url)),
)

// A handle that a plugin left open must not keep the process alive.
setTimeout(() => process.exit(), graceMs).unref()
