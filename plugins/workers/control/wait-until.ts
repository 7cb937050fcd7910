import type { Clock } from 'zin'
import type { WorkerMessage } from '../shared/contract.js'
import type { SharedState } from '../shared/state.js'

export interface WaitOptions {
  readonly shared: Pick<SharedState, 'listen' | 'onMissed' | 'onNodes'>
  readonly clock: Clock
  /** Maximum wait, in ms. */
  readonly waitMs: number
  /** Whether a message may change the result. */
  readonly concerns: (message: WorkerMessage) => boolean
}

/** Poll interval without a message, in ms: a message may be lost. */
const pollMs = 1_000

/** Reads a value until it is final, again after each message that may have changed it. Returns the last value when the wait times out. */
export async function waitUntil<T>(read: () => Promise<T>, isFinal: (value: T) => boolean, options: WaitOptions): Promise<T> {
  const { clock, concerns, shared, waitMs } = options
  const deadline = clock.monotonic() + waitMs
  let wake: () => void = () => undefined
  let news = false
  const changed = (): void => {
    news = true
    wake()
  }
  const unlisten = [
    shared.listen((message) => {
      if (concerns(message)) changed()
    }),
    shared.onNodes(changed),
    shared.onMissed(changed),
  ]
  try {
    for (;;) {
      news = false
      const value = await read()
      const left = deadline - clock.monotonic()
      if (left <= 0 || isFinal(value)) return value
      if (news) continue
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(left, pollMs))
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  } finally {
    for (const end of unlisten) end()
  }
}
