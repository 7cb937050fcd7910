// Entry of a child process that runs one instance of a service for the app that started it.
import { type App, messageOf, systemClock } from 'zin'
import { assemble } from '../assemble.js'
import { Scopes } from '../tracing/scopes.js'
import { childLog } from './child-log.js'
import { ChildNonces } from './child-nonces.js'
import type { ChildStart, FromChild, ToChild } from './child-protocol.js'
import { startServiceApp } from './service-app.js'

const nonces = new ChildNonces(tell)
let starting: Promise<App> | undefined
let ending = false
/** Time limit for a stop, in ms: a start that hangs, or an app that does not stop, must not keep the process alive. */
const stopMs = 10_000

async function start({ app, caller, definition, logLevel, options, others, port, secrets, tracing }: ChildStart): Promise<App> {
  const scopes = new Scopes()
  const clock = systemClock
  const auth = { secrets, caller, clock, custom: {}, takeNonce: nonces.take }
  const log = childLog(logLevel, send)
  const { manager, register } = assemble({ options, auth, scopes, tracing, clock, random: Math.random, log, runner: () => undefined })
  register(others)
  await manager.startAll(() => undefined)
  return startServiceApp({
    definition,
    port,
    app,
    env: process.env,
    auth,
    calls: manager,
    scopes,
    restartTraces: options.restartTraces,
    clock,
    log,
  })
}

async function end(code: number): Promise<void> {
  if (ending) return
  ending = true
  setTimeout(() => process.exit(code), stopMs).unref()
  const app = await starting?.catch(() => undefined)
  await app?.stop().catch(() => undefined)
  process.exit(code)
}

function send(message: FromChild, done: () => void): void {
  if (!process.connected) return
  try {
    process.send?.(message, done)
  } catch {
    // A logged value cannot be cloned; send the message alone.
    if (message.type === 'log') process.send?.({ ...message, facts: {} }, done)
  }
}

function tell(message: FromChild): void {
  send(message, () => undefined)
}

process.on('message', (message: ToChild) => {
  if (message.type === 'stop') return void end(0)
  if (message.type === 'nonce') return nonces.taken(message)
  starting = start(message)
  starting.then(
    () => tell({ type: 'ready' }),
    (error: unknown) => {
      tell({ type: 'failed', message: messageOf(error) })
      void end(1)
    },
  )
})
// The app has ended, even if it was killed: leave no process behind.
process.on('disconnect', () => void end(0))
// These signals reach the whole process group, but the app decides when its services stop.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
