import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { guardMessages, type Logger, messageOf, withDeadline } from 'zin'
import type { TakeNonce } from '../auth/contract.js'
import { childEntry } from './child-entry.js'
import { type ChildStart, fromChild, type NonceAsked, type ToChild } from './child-protocol.js'
import type { Running } from './runner.js'
import { StateFeed } from './state-feed.js'

/** Time limit for a child to stop, in ms; after that it is killed. */
const stopMs = 10_000

export interface ChildOptions {
  readonly env: NodeJS.ProcessEnv
  /** Receives its log lines. */
  readonly log: Logger
  readonly takeNonce: TakeNonce
  /** Feeds of all children. The child's is among them until it ends. */
  readonly feeds: Set<StateFeed>
  /** Time limit for the start, in ms; after that the child is killed. */
  readonly startTimeoutMs: number
  onLost(reason: string): void
}

/**
 * Starts an instance in a child process; resolves when it listens. The child watches the IPC channel, so it exits with the app, however the
 * app ends. It shares stdout, stderr and the log of the app.
 */
export async function startChild(
  start: ChildStart,
  { env, feeds, log, onLost, startTimeoutMs, takeNonce }: ChildOptions,
): Promise<Running> {
  const { execArgv, file } = childEntry()
  // Do not inherit the app's execArgv: its debugging port is in use.
  const child = fork(file, [], { env, execArgv: [...execArgv], stdio: ['ignore', 'inherit', 'inherit', 'ipc'], serialization: 'advanced' })
  let unreadable = ''
  guardMessages(child, (error) => {
    unreadable = ` (its code wrote to the channel of its messages: ${messageOf(error)})`
    child.kill('SIGKILL')
  })
  let stopping = false
  const claimNonce = async ({ claim, id }: NonceAsked): Promise<void> => {
    try {
      const why = await takeNonce(start.definition.name, claim)
      post(child, { type: 'nonce', id, ...(why === undefined ? {} : { why }) })
    } catch (error) {
      post(child, { type: 'nonce', id, failed: messageOf(error) })
    }
  }
  const ended = new Promise<string>((resolve) => {
    child.on('exit', (code, signal) =>
      resolve(signal === null ? `its process exited with code ${code}` : `its process ended by ${signal}${unreadable}`),
    )
    child.on('error', (error) => resolve(`its process could not be started: ${error.message}`))
  })
  const ready = new Promise<void>((resolve, reject) => {
    let warned = false
    child.on('message', (sent: unknown) => {
      const message = fromChild(sent)
      if (message === undefined) {
        if (!warned) log.warn('a message that the code of the service sent to its parent process is ignored')
        warned = true
      } else if (message.type === 'ready') resolve()
      else if (message.type === 'failed') reject(new Error(message.message))
      else if (message.type === 'nonce') void claimNonce(message)
      else log[message.level](message.facts, message.message)
    })
    void ended.then((how) => reject(new Error(how)))
  })
  post(child, start)
  const feed = new StateFeed(new Set(start.others.map(({ name }) => name)), (states, done) => post(child, { type: 'states', states }, done))
  feeds.add(feed)
  void ended.then(() => feeds.delete(feed))
  try {
    await withDeadline(ready, startTimeoutMs, `it was not ready within ${startTimeoutMs} ms (option startTimeoutMs)`)
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

function post(child: ChildProcess, message: ToChild, done: () => void = () => undefined): void {
  // A child that has exited is reported by its `exit` event.
  if (child.connected) child.send(message, done)
}
