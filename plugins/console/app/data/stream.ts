import { useEffect, useRef } from 'preact/hooks'
import { errorOf } from './api.js'
import { authorizedFetch } from './credentials.js'
import { Value } from './signal.js'

/** `paused`: the tab is hidden, or its user paused it. `retryAt`: when it is tried again, ms since 1970. */
export type StreamState =
  | { readonly kind: 'idle' | 'connecting' | 'live' | 'paused' }
  | { readonly kind: 'waiting'; readonly retryAt: number }

/** What the header shows of the streams of the page. */
export const live = new Value<StreamState>({ kind: 'idle' })
/** Whether the user has stopped updates. */
export const paused = new Value(false)

type Handler = (event: string, data: unknown) => void

/** One stream of server-sent events, shared by all parts of the page that listen to it. By fetch, so that it has the credential. */
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

  /** Connects or disconnects, as the tab and its user want it. */
  follow(): void {
    if (document.hidden || paused.value) this.#stop({ kind: 'paused' })
    else if (this.#handlers.size > 0 && this.#abort === undefined) void this.#connect()
  }

  retryNow(): void {
    if (this.state.kind === 'waiting') this.#stop({ kind: 'idle' })
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
    } catch {
      if (abort.signal.aborted) return
      // 1, 2, 4, … 30 s, and a little apart, so that not all tabs return at once.
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
  const worst = (['waiting', 'paused', 'connecting', 'live'] as const).map((kind) => states.find((state) => state.kind === kind))
  live.set(worst.find((state) => state !== undefined) ?? { kind: 'idle' })
}

function followAll(): void {
  for (const stream of streams.values()) stream.follow()
}
document.addEventListener('visibilitychange', followAll)
paused.on(followAll)

/** Tries again now what waits to be connected. */
export function reconnect(): void {
  for (const stream of streams.values()) stream.retryNow()
}

/** Hears the events of a stream while the view is shown. */
export function useStream(path: string | undefined, handler: Handler): void {
  const latest = useRef(handler)
  latest.current = handler
  useEffect(() => {
    if (path === undefined) return undefined
    const stream = streams.get(path) ?? new SharedStream(path)
    streams.set(path, stream)
    const hear: Handler = (event, data) => latest.current(event, data)
    stream.add(hear)
    return () => {
      stream.delete(hear)
      if (stream.size === 0) streams.delete(path)
      showState()
    }
  }, [path])
}

interface ServerEvent {
  readonly event: string
  readonly data: string
}

/** WHATWG HTML 9.2.6, as far as the app uses it. A comment is an event without data. */
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
