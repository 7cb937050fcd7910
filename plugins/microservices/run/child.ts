// Entry of a child process that runs one instance of a service for the app that started it.
import { type App, messageOf, systemClock } from 'zin'
import { assembleCalls } from '../assemble.js'
import { Scopes } from '../tracing/scopes.js'
import { childLog } from './child-log.js'
import { ChildNonces } from './child-nonces.js'
import type { ChildStart, Envelope, FromChild, ToChild } from './child-protocol.js'
import { startServiceApp } from './service-app.js'

let starting: Promise<App> | undefined
let ending = false
/** Time limit for a stop, in ms: a start that hangs, or an app that does not stop, must not keep the process alive. */
const stopMs = 10_000

async function start({ app, caller, definition, logLevel, options, others, port, secrets, states, tracing }: ChildStart): Promise<App> {
  const nonces = new ChildNonces(tell)
  const scopes = new Scopes()
  const clock = systemClock
  const auth = { secrets, caller, clock, custom: {}, takeNonce: nonces.take }
  const log = childLog(logLevel, send)
  const calls = assembleCalls({ options, auth, scopes, tracing, clock, random: Math.random }, others)
  calls.follow(states)
  process.on('message', (message: Exclude<ToChild, ChildStart>) => {
    if (message.type === 'stop') void end(0)
    else if (message.type === 'nonce') nonces.taken(message)
    else calls.follow(message.states)
  })
  return startServiceApp({
    definition,
    port,
    app,
    env: process.env,
    auth,
    calls,
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
  const post = (zinService: FromChild): void => void process.send?.({ zinService } satisfies Envelope, done)
  try {
    post(message)
  } catch {
    // A logged value cannot be cloned; send the message alone.
    if (message.type === 'log') post({ ...message, facts: {} })
  }
}

function tell(message: FromChild): void {
  send(message, () => undefined)
}

process.once('message', (message: ChildStart) => {
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
