import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { ChildHandle, ChildOptions } from './child-handle.js'
import type { Entry } from './entry.js'
import { messageReader } from './protocol.js'

export function startThread({ entry, env, memoryMb }: ChildOptions): ChildHandle {
  const shared = { env, execArgv: [], argv: [], stdout: true, stderr: true, resourceLimits: { maxOldGenerationSizeMb: memoryMb } }
  const worker = entry.tsx === undefined ? new Worker(entry.file, shared) : new Worker(typescriptEntry(entry), { ...shared, eval: true })
  let cause = ''
  worker.on('error', (error: Error & { code?: string }) => {
    cause = error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? `more than ${memoryMb} MiB of memory` : error.message
  })
  // The end is reported by the `exit` event.
  const kill = (why = cause): void => {
    cause = why
    // What it has sent may be more than this process can take.
    worker.removeAllListeners('message')
    void worker.terminate()
  }
  const ended = new Promise<string>((resolve) => {
    worker.on('exit', (code) => resolve(`exit code ${code}${cause === '' ? '' : ` (${cause})`}`))
  })
  return {
    kind: 'thread',
    stdout: worker.stdout,
    stderr: worker.stderr,
    ended,
    post: (message) => worker.postMessage(message),
    onMessage(listener) {
      const read = messageReader((message) => {
        if (message.type === 'fatal') cause = message.error.message
        listener(message)
      }, kill)
      worker.on('message', read)
    },
    kill,
  }
}

/** Threads do not support `--import tsx`. */
function typescriptEntry({ file, tsx }: Entry): string {
  const urls = [tsx?.esm, tsx?.cjs, pathToFileURL(file).href]
  return `(async ([esm, cjs, entry]) => {
    for (const url of [esm, cjs]) (await import(url)).register()
    await import(entry)
  })(${JSON.stringify(urls)})`
}
