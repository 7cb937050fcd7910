import { useEffect, useRef } from 'preact/hooks'
import { ApiError, errorOf } from './api.js'
import { authorizedFetch } from './credentials.js'
import { unauthorized } from './session.js'
import { Value } from './signal.js'

/**
 * `paused`: the tab is hidden, or the user paused updates. `refused`: the app does not accept the credential; it is not tried again until
 * the user signs in. `retryAt`: time of the next attempt, in ms since the Unix epoch.
 */
export type StreamState =
  | { readonly kind: 'idle' | 'connecting' | 'live' | 'paused' | 'refused' }
  | { readonly kind: 'waiting'; readonly retryAt: number }

/** The combined state of all streams of the page, shown in the header. */
export const live = new Value<StreamState>({ kind: 'idle' })
/** Whether the user has paused updates. */
export const paused = new Value(false)

type Handler = (event: string, data: unknown) => void

/** A stream of server-sent events shared by all its listeners on the page. Uses fetch, which can send the credential. */
class SharedStream {
  readonly #path: string
  readonly #handlers = new Set<Handler>()
  #abort: AbortController | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  state: StreamState = { kind: 'idle' }

  constructor(path: string) {
    this.#path = path
  }

  get size(): number {
    return this.#handlers.size
  }

  add(handler: Handler): void {
    this.#handlers.add(handler)
    this.follow()
  }

  delete(handler: Handler): void {
    this.#handlers.delete(handler)
    if (this.#handlers.size === 0) this.#stop({ kind: 'idle' })
  }

  /** Connects, or disconnects if the tab is hidden or updates are paused. */
  follow(): void {
    if (document.hidden || paused.value) this.#stop({ kind: 'paused' })
    else if (this.#handlers.size > 0 && this.#abort === undefined) void this.#connect()
  }

  retryNow(): void {
    if (this.state.kind === 'waiting' || this.state.kind === 'refused') this.#stop({ kind: 'idle' })
    this.follow()
  }

  #stop(state: StreamState): void {
    clearTimeout(this.#timer)
    this.#abort?.abort()
    this.#abort = undefined
    this.#enter(state)
  }

  #enter(state: StreamState): void {
    this.state = state
    showState()
  }

  async #connect(): Promise<void> {
    const abort = new AbortController()
    this.#abort = abort
    if (this.#failures === 0) this.#enter({ kind: 'connecting' })
    try {
      const response = await authorizedFetch(this.#path, { headers: { accept: 'text/event-stream' }, signal: abort.signal })
      if (!response.ok || response.body === null) throw await errorOf(response)
      for await (const { data, event } of eventsOf(response.body)) {
        this.#failures = 0
        if (this.state.kind !== 'live') this.#enter({ kind: 'live' })
        if (data !== '') for (const handler of [...this.#handlers]) handler(event, JSON.parse(data))
      }
      throw new Error('ended')
    } catch (error) {
      if (abort.signal.aborted) return
      if (error instanceof ApiError && error.status === 401) {
        // `abort` stays set, so that nothing reconnects by itself.
        this.#enter({ kind: 'refused' })
        unauthorized()
        return
      }
      // After an error in an event or its handler, the connection is still open.
      abort.abort()
      // Exponential backoff from 1 s to 30 s, with jitter so that tabs do not reconnect at the same time.
      const wait = Math.min(30_000, 1000 * 2 ** this.#failures++) * (0.8 + Math.random() * 0.4)
      this.#abort = abort
      this.#enter({ kind: 'waiting', retryAt: Date.now() + wait })
      this.#timer = setTimeout(() => {
        this.#abort = undefined
        this.follow()
      }, wait)
    }
  }
}

const streams = new Map<string, SharedStream>()

function showState(): void {
  const states = [...streams.values()].filter(({ size }) => size > 0).map(({ state }) => state)
  const worst = (['waiting', 'paused', 'connecting', 'live', 'refused'] as const).map((kind) => states.find((state) => state.kind === kind))
  live.set(worst.find((state) => state !== undefined) ?? { kind: 'idle' })
}

function followAll(): void {
  for (const stream of streams.values()) stream.follow()
}
document.addEventListener('visibilitychange', followAll)
paused.on(followAll)

/** Reconnects waiting streams immediately. */
export function reconnect(): void {
  for (const stream of streams.values()) stream.retryNow()
}

/** Subscribes to a stream while the component is mounted. */
export function useStream(path: string | undefined, handler: Handler): void {
  const latest = useRef(handler)
  latest.current = handler
  useEffect(() => {
    if (path === undefined) return undefined
    const stream = streams.get(path) ?? new SharedStream(path)
    streams.set(path, stream)
    const listener: Handler = (event, data) => latest.current(event, data)
    stream.add(listener)
    return () => {
      stream.delete(listener)
      if (stream.size === 0) streams.delete(path)
      showState()
    }
  }, [path])
}

interface ServerEvent {
  readonly event: string
  readonly data: string
}

/** Parses server-sent events (WHATWG HTML 9.2.6), as far as the app uses them. A comment becomes an event without data. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let rest = ''
  while (true) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const lines = block.split('\n')
      const field = (name: string): string =>
        lines
          .filter((line) => line.startsWith(`${name}: `))
          .map((line) => line.slice(name.length + 2))
          .join('\n')
      yield { event: field('event') || 'message', data: field('data') }
    }
  }
}
