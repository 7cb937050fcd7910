import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type Logger, messageOf } from 'zin'
import type { TakeNonce } from '../auth/contract.js'
import { childEntry } from './child-entry.js'
import type { ChildStart, FromChild, NonceAsked, ToChild } from './child-protocol.js'
import type { Running } from './runner.js'

/** How long a process may take to stop, in ms; then it is killed. */
const stopMs = 10_000

export interface ChildOptions {
  readonly env: NodeJS.ProcessEnv
  /** Takes the lines of its log. */
  readonly log: Logger
  readonly takeNonce: TakeNonce
  onLost(reason: string): void
}

/**
 * Starts an instance in a process of its own; resolves when it listens. It ends with the app, however that ends: it watches the channel to
 * it. Its output is that of the app, and so is its log.
 */
export async function startChild(start: ChildStart, { env, log, onLost, takeNonce }: ChildOptions): Promise<Running> {
  const { execArgv, file } = childEntry()
  // Not the arguments of the app: its debugging port is taken.
  const child = fork(file, [], { env, execArgv: [...execArgv], stdio: ['ignore', 'inherit', 'inherit', 'ipc'], serialization: 'advanced' })
  let stopping = false
  const answer = async ({ claim, id }: NonceAsked): Promise<void> => {
    try {
      const why = await takeNonce(start.definition.name, claim)
      post(child, { type: 'nonce', id, ...(why === undefined ? {} : { why }) })
    } catch (error) {
      post(child, { type: 'nonce', id, failed: messageOf(error) })
    }
  }
  const ended = new Promise<string>((resolve) => {
    child.on('exit', (code, signal) =>
      resolve(signal === null ? `its process ended with exit code ${code}` : `its process ended by ${signal}`),
    )
    child.on('error', (error) => resolve(`its process did not start: ${error.message}`))
  })
  const ready = new Promise<void>((resolve, reject) => {
    child.on('message', (message: FromChild) => {
      if (message.type === 'ready') resolve()
      else if (message.type === 'failed') reject(new Error(message.message))
      else if (message.type === 'nonce') void answer(message)
      else log[message.level](message.facts, message.message)
    })
    void ended.then((how) => reject(new Error(how)))
  })
  post(child, start)
  try {
    await ready
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
  void ended.then((how) => {
    if (!stopping) onLost(how)
  })
  return {
    ...(child.pid === undefined ? {} : { pid: child.pid }),
    async stop() {
      stopping = true
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      post(child, { type: 'stop' })
      const hard = setTimeout(() => child.kill('SIGKILL'), stopMs)
      await exited
      clearTimeout(hard)
    },
  }
}

function post(child: ChildProcess, message: ToChild): void {
  // A process that has ended is reported by its exit.
  if (child.connected) child.send(message, () => undefined)
}
