#!/usr/bin/env node
import { main } from './cli/main.js'
import { standaloneCommands } from './cli/standalone.js'

/** Time after the command's end, in ms, in which the process should end by itself. */
const graceMs = 2_000

// A closed pipe (`zin routes | head`) is not a failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
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

// Whatever a plugin left open must not keep a finished command.
setTimeout(() => process.exit(), graceMs).unref()
