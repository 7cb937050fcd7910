import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { ChildHandle, ChildOptions } from './child-handle.js'
import type { Entry } from './entry.js'
import { fromChild } from './protocol.js'

export function startThread({ entry, env, memoryMb }: ChildOptions): ChildHandle {
  const shared = { env, execArgv: [], argv: [], stdout: true, stderr: true, resourceLimits: { maxOldGenerationSizeMb: memoryMb } }
  const worker = entry.tsx === undefined ? new Worker(entry.file, shared) : new Worker(typescriptEntry(entry), { ...shared, eval: true })
  let cause = ''
  worker.on('error', (error: Error & { code?: string }) => {
    cause = error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? `more than ${memoryMb} MiB of memory` : error.message
  })
  const ended = new Promise<string>((resolve) => {
    worker.on('exit', (code) => resolve(`exit code ${code}${cause === '' ? '' : ` (${cause})`}`))
  })
  return {
    kind: 'thread',
    stdout: worker.stdout,
    stderr: worker.stderr,
    ended,
    post: (message) => worker.postMessage(message),
    onMessage: (listener) =>
      void worker.on('message', (sent: unknown) => {
        const message = fromChild(sent)
        if (message?.type === 'fatal') cause = message.error.message
        if (message !== undefined) listener(message)
      }),
    // The end is reported by the `exit` event.
    kill: () => void worker.terminate(),
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
