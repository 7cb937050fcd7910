#!/usr/bin/env node
import { main } from './cli/main.js'

/** Time after the command's end, in ms, in which the process should end by itself. */
const graceMs = 2_000

// A reader that has seen enough (`zin routes | head`) is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}

process.exitCode = await main(process.argv.slice(2), {
  cwd: process.cwd(),
  env: process.env,
  get stdin() {
    return process.stdin
  },
  stdout: process.stdout,
  stderr: process.stderr,
})

// Whatever a plugin left open must not keep a finished command.
setTimeout(() => process.exit(), graceMs).unref()
