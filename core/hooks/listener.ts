import { hookErrors } from './errors.js'
import type { ListenerOptions } from './kinds.js'
import type { ListenerReport } from './report.js'

export type Handler = (...args: unknown[]) => unknown

// biome-ignore lint/suspicious/noExplicitAny: any function may be a listener; PluginHooks has the types
type AnyHandler = (...args: any[]) => unknown
type AnyListenerOptions = Omit<ListenerOptions<unknown>, 'handler'> & { readonly handler: AnyHandler }

/** The argument of `on`: a function, or an object with a `handler`. */
export type AnyListener = AnyHandler | AnyListenerOptions

/** One call in 256 is timed. A power of two, so that the check is a single `&`. */
const SAMPLE_MASK = 255
const TIERS = { pre: 0, normal: 1, post: 2 } as const
/** Maximum delay of Node's timers; a longer one would fire immediately. */
export const LONGEST_TIMEOUT_MS = 2_147_483_647

/** One registered listener: options, counters and mute state. */
export class Listener {
  readonly plugin: string
  readonly hook: string
  readonly handler: Handler
  readonly order: keyof typeof TIERS
  /** The listener's own deadline in ms; overrides that of the hook. */
  readonly ownTimeoutMs: number | undefined
  readonly sequential: boolean
  readonly maxPending: number
  /** Whether it sets an option that only notify hooks support. */
  readonly notifyOnly: boolean
  /** Registration number; breaks ties. */
  readonly index: number

  /** The effective deadline in ms. Set when the hook is declared. */
  timeoutMs = 0
  calls = 0
  errors = 0
  timeouts = 0
  dropped = 0
  pending = 0

  failuresInRow = 0
  muted = false
  /** While muted: monotonic ms of the next retry; `Infinity` while the retry is in flight. */
  retryAt = 0

  #sampledNs = 0
  #samples = 0

  constructor(plugin: string, hook: string, listener: AnyListener, index: number) {
    const options: AnyListenerOptions = typeof listener === 'function' ? { handler: listener } : listener
    check(plugin, hook, options)
    this.plugin = plugin
    this.hook = hook
    this.handler = options.handler
    this.order = options.order ?? 'normal'
    this.ownTimeoutMs = options.timeoutMs
    this.sequential = options.sequential ?? false
    this.maxPending = options.maxPending ?? 1000
    this.notifyOnly = options.sequential !== undefined || options.maxPending !== undefined
    this.index = index
  }

  /** Whether the next call is timed. The first one always is. */
  get sampleNext(): boolean {
    return (this.calls & SAMPLE_MASK) === 0
  }

  /** Adds the duration of one timed call. */
  sample(ms: number): void {
    this.#sampledNs += ms * 1e6
    this.#samples++
  }

  report(): ListenerReport {
    const { plugin, order, calls, errors, timeouts, dropped, pending, muted } = this
    const meanNs = this.#samples === 0 ? 0 : Math.round(this.#sampledNs / this.#samples)
    return { plugin, order, calls, errors, timeouts, dropped, pending, muted, meanNs }
  }
}

/** `pre` before normal before `post`; then the plugin graph; then registration. */
export function sortListeners(listeners: Iterable<Listener>, rank: (plugin: string) => number): Listener[] {
  return [...listeners].sort((a, b) => TIERS[a.order] - TIERS[b.order] || rank(a.plugin) - rank(b.plugin) || a.index - b.index)
}

function check(plugin: string, hook: string, options: AnyListenerOptions | null | undefined): void {
  const refuse: (what: string) => never = (what) => {
    throw hookErrors.ZIN_HOOK_LISTENER(plugin, hook, what)
  }
  if (typeof options !== 'object' || options === null || typeof options.handler !== 'function') {
    refuse('must be a function or an object with a function "handler"')
  }
  const { order, timeoutMs, maxPending } = options
  if (order !== undefined && order !== 'pre' && order !== 'post') refuse(`has order "${String(order)}"; use 'pre', 'post' or omit it`)
  if (timeoutMs !== undefined && !(timeoutMs > 0 && timeoutMs <= LONGEST_TIMEOUT_MS)) {
    refuse(`has timeoutMs ${timeoutMs}; use a number of ms between 1 and ${LONGEST_TIMEOUT_MS}`)
  }
  if (maxPending !== undefined && !(Number.isInteger(maxPending) && maxPending > 0))
    refuse(`has maxPending ${maxPending}; use an integer above 0`)
}
