// Runs in the threads and processes of processors: keep its imports light.
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { MessagePort } from 'node:worker_threads'

/** What keeps the event loop alive or waits for events, with how many there are. */
export type Held = ReadonlyMap<string, number>

/** Writes and closing connections end within this time, in ms. */
const settleMs = 100
const lookMs = 5

/** Listeners that another job does not notice. */
const harmless: ReadonlySet<string | symbol> = new Set(['exit', 'beforeExit', 'newListener', 'removeListener'])

/** Returns the timers and handles that are open, and the listeners of the process. */
export function heldNow(port: MessagePort | null): Held {
  const held = new Map<string, number>()
  for (const resource of process.getActiveResourcesInfo()) held.set(resource, (held.get(resource) ?? 0) + 1)
  for (const event of process.eventNames()) if (!harmless.has(event)) held.set(`listener of ${String(event)}`, process.listenerCount(event))
  for (const event of port?.eventNames() ?? []) held.set(`listener of port ${String(event)}`, port?.listenerCount(event) ?? 0)
  return held
}

/** Resolves to what there is more of than before a job, once that has had time to end. */
export async function leftovers(before: Held, port: MessagePort | null): Promise<readonly string[]> {
  const until = performance.now() + settleMs
  await setImmediate()
  for (;;) {
    const left = [...heldNow(port)].filter(([what, count]) => count > (before.get(what) ?? 0)).map(([what]) => what)
    if (left.length === 0 || performance.now() >= until) return left
    await setTimeout(lookMs)
  }
}
