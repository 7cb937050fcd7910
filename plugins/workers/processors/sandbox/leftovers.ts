// Runs in the threads and processes of processors: keep its imports light.
import { Server, Socket } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { MessagePort } from 'node:worker_threads'

/** What keeps the event loop alive or waits for events, with how many there are. */
export type Held = ReadonlyMap<string, number>

/** Writes and closing connections end within this time, in ms. */
const settleMs = 100
const lookMs = 5

/** Listeners that another job does not notice. */
const harmless: ReadonlySet<string | symbol> = new Set(['exit', 'beforeExit', 'newListener', 'removeListener'])

/** Most timers and handles that are followed after `unref`. */
const mostFollowed = 1_000

/** A timer, a server or a connection. */
interface Unrefable {
  ref(): unknown
  unref(): unknown
}

/** Timers, servers and connections that code of jobs has unref'd: Node does not list them as active. */
export class Unrefd {
  readonly #isJob: () => boolean
  /** With their own `unref`. */
  readonly #followed = new Map<Unrefable, () => unknown>()

  /** @param isJob whether the current code belongs to a job. */
  constructor(isJob: () => boolean) {
    this.#isJob = isJob
  }

  /** Wraps `unref` of timers, servers and connections. */
  follow(): void {
    const timer = globalThis.setTimeout(() => undefined)
    clearTimeout(timer)
    const { unref } = timer
    this.#wrap(Object.getPrototypeOf(timer) as Unrefable, unref)
    for (const { prototype } of [Server, Socket]) this.#wrap(prototype, prototype.unref)
  }

  #wrap(prototype: Unrefable, unref: () => unknown): void {
    const follow = (one: Unrefable): void => {
      if (this.#followed.size < mostFollowed && this.#isJob() && !isCalledByNode(prototype.unref)) this.#followed.set(one, unref)
    }
    prototype.unref = function (this: Unrefable) {
      follow(this)
      return unref.call(this)
    }
  }

  /** Returns what is active, with what was unref'd. */
  active(): readonly string[] {
    const all = [...this.#followed].filter(([one]) => !(one instanceof Socket) || (!one.destroyed && !one.connecting))
    for (const [one] of all) one.ref()
    const names = process.getActiveResourcesInfo()
    for (const [one, unref] of all) unref.call(one)
    return names
  }

  /** Called when nothing is left of a job. */
  clear(): void {
    this.#followed.clear()
  }
}

/** Whether Node itself calls a function, as it does for connections that it keeps for later requests. */
function isCalledByNode(called: () => unknown): boolean {
  const { stackTraceLimit } = Error
  const at: { stack?: unknown } = {}
  Error.stackTraceLimit = 1
  Error.captureStackTrace(at, called)
  const stack = String(at.stack)
  Error.stackTraceLimit = stackTraceLimit
  return /[( ]node:/.test(stack)
}

/** Returns the timers and handles that are open, and the listeners of the process. */
export function heldNow(port: MessagePort | null, unrefd: Unrefd): Held {
  const held = new Map<string, number>()
  for (const resource of unrefd.active()) held.set(resource, (held.get(resource) ?? 0) + 1)
  for (const event of process.eventNames()) if (!harmless.has(event)) held.set(`listener of ${String(event)}`, process.listenerCount(event))
  for (const event of port?.eventNames() ?? []) held.set(`listener of port ${String(event)}`, port?.listenerCount(event) ?? 0)
  return held
}

/** Resolves to what there is more of than before a job, once that has had time to end. */
export async function leftovers(before: Held, port: MessagePort | null, unrefd: Unrefd): Promise<readonly string[]> {
  const until = performance.now() + settleMs
  await setImmediate()
  for (;;) {
    const left = [...heldNow(port, unrefd)].filter(([what, count]) => count > (before.get(what) ?? 0)).map(([what]) => what)
    if (left.length === 0) unrefd.clear()
    if (left.length === 0 || performance.now() >= until) return left
    await setTimeout(lookMs)
  }
}
