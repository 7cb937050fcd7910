import type { HookSlots } from '../../hook-slots.js'
import { type WorkerHooks, workerHooks } from '../../hooks.js'

export type Listeners = { readonly [K in keyof WorkerHooks]?: HookSlots[K]['call'] }

/** Hook slots with at most one listener each. */
export function fakeHooks(listeners: Listeners = {}): HookSlots {
  const slots = Object.keys(workerHooks).map((name) => {
    const listener = listeners[name as keyof WorkerHooks]
    return [name, { active: listener !== undefined, call: listener ?? ((value: unknown) => value) }]
  })
  return Object.fromEntries(slots) as HookSlots
}
