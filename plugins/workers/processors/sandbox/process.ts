import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { guardMessages, messageOf } from 'zin'
import type { ChildHandle, ChildOptions } from './child-handle.js'
import { messageReader, watchFd } from './protocol.js'

/** Memory that a process may use in addition to its old generation, in MiB: Node itself, code, new objects. */
const besideHeapMb = 192

/** How long to wait for the final message of a killed process, in ms. */
const wordsMs = 500

export function startProcess({ entry, env, memoryMb }: ChildOptions): ChildHandle {
  const child = fork(entry.file, [String(memoryMb + besideHeapMb)], {
    env: { ...env },
    // Not the arguments of the app: its debugging port is in use.
    execArgv: [`--max-old-space-size=${memoryMb}`, ...(entry.tsx === undefined ? [] : ['--import', entry.tsx.loader])],
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc', 'pipe'],
  })
  let cause = ''
  const kill = (why = cause): void => {
    cause = why
    child.kill('SIGKILL')
  }
  guardMessages(child, (error) => kill(`its code wrote to the channel of its messages: ${messageOf(error)}`))
  const watch = child.stdio[watchFd] as Readable
  watch.on('error', () => undefined)
  watch.on('data', (data: Buffer) => {
    const [, mb] = /^(\d{1,9})\n/.exec(data.toString('latin1', 0, 10)) ?? []
    if (mb !== undefined)
      cause = `it took ${mb} MiB of memory, more than ${memoryMb} MiB (sandbox.memoryMb) plus ${besideHeapMb} MiB for Node itself`
  })
  const ended = new Promise<string>((resolve) => {
    const end = (how: string): void => resolve(cause === '' ? how : `${how} (${cause})`)
    child.on('exit', (code, signal) => {
      const how = signal === null ? `exit code ${code}` : `signal ${signal}`
      if (watch.closed) end(how)
      else void Promise.race([once(watch, 'close'), delay(wordsMs)]).then(() => end(how))
    })
    child.on('error', (error) => {
      cause = error.message
      if (child.pid === undefined) end('it did not start')
    })
  })
  return {
    kind: 'process',
    stdout: child.stdout as Readable,
    stderr: child.stderr as Readable,
    ended,
    post: (message) => void (child.connected && child.send(message)),
    onMessage(listener) {
      const read = messageReader((message) => {
        if (message.type === 'fatal') cause = message.error.message
        listener(message)
      }, kill)
      child.on('message', read)
    },
    kill,
  }
}
