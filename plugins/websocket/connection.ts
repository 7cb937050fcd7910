import { AsyncResource } from 'node:async_hooks'
import type { WebSocket } from 'ws'
import {
  type Access,
  accessHolds,
  type Clock,
  type ErrorBody,
  jsonText,
  type Logger,
  type ReadMessage,
  type UpgradeConnection,
  withDeadline,
  ZinError,
} from 'zin'
import type { AnySocketSpec, ClientSocket } from './contract.js'
import { websocketErrors } from './errors.js'
import { Pace } from './pace.js'
import type { Topics } from './topics.js'

/** Close codes that the plugin sends, beside those of RFC 6455 that the library sends. */
export const closeCodes = {
  shutdown: 1001,
  unsupported: 1003,
  policy: 1008,
  failed: 1011,
} as const

/** Longest time of a timer, in ms. */
const maxTimerMs = 2 ** 31 - 1

export interface ConnectionLimits {
  readonly messagesPerSecond: number
  readonly maxBufferedBytes: number
  readonly maxTopics: number
  readonly handlerMs: number
  readonly pingMs: number
}

export interface ConnectionParts {
  readonly ws: WebSocket
  readonly spec: AnySocketSpec
  readonly limits: ConnectionLimits
  readonly facts: Pick<ClientSocket, 'id' | 'params' | 'query' | 'state' | 'ip'>
  /** The user, if it has one. */
  readonly userId: string | undefined
  readonly access: readonly Access[]
  readonly read: UpgradeConnection['read']
  readonly topics: Topics
  readonly clock: Clock
  readonly log: Logger
  readonly production: boolean
  /** Counts a message. */
  readonly counted: (direction: 'in' | 'out') => void
}

/** One connection: reads one message at a time, sends within a bound, and ends when the client, its access or the app does. */
export class Connection implements ClientSocket {
  readonly #parts: ConnectionParts
  readonly #pace: Pace
  readonly #scope = new AsyncResource('ZIN_SOCKET', { requireManualDestroy: true })
  readonly #ended = new AbortController()
  readonly #queue: Buffer[] = []
  readonly #timers: NodeJS.Timeout[] = []
  #busy = false
  #alive = true
  #refusing = false
  #idle: (() => void) | undefined
  readonly id: string
  readonly params: unknown
  readonly query: unknown
  readonly state: unknown
  readonly ip: string
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>

  constructor(parts: ConnectionParts) {
    const { ws, facts, limits, clock } = parts
    this.#parts = parts
    this.#pace = new Pace(limits.messagesPerSecond, clock.monotonic())
    this.id = facts.id
    this.params = facts.params
    this.query = facts.query
    this.state = facts.state
    this.ip = facts.ip
    // An error of the library is followed by `close`. Clients cause it: a reset, a malformed frame.
    ws.on('error', (error) => parts.log.debug({ err: error, path: parts.spec.path, socket: this.id }, 'a socket failed'))
    ws.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary))
    ws.on('pong', () => {
      this.#alive = true
    })
    this.closed = new Promise((resolve) => ws.once('close', (code, reason) => resolve(this.#end(code, reason.toString('utf8')))))
    this.#watch()
    this.#work(() => parts.spec.onOpen?.(this), true)
  }

  get protocol(): string {
    return this.#parts.ws.protocol
  }

  get signal(): AbortSignal {
    return this.#ended.signal
  }

  get bufferedBytes(): number {
    return this.#parts.ws.bufferedAmount
  }

  send(message: unknown): boolean {
    return this.sendText(jsonText(message ?? null, !this.#parts.production))
  }

  /** Sends JSON. */
  sendText(text: string): boolean {
    const { ws, limits, log, spec, counted } = this.#parts
    if (ws.readyState !== ws.OPEN) return false
    const buffered = ws.bufferedAmount
    if (buffered > 0 && buffered + Buffer.byteLength(text) > limits.maxBufferedBytes) {
      log.debug({ path: spec.path, socket: this.id, buffered }, 'a socket was cut because its client reads too slowly')
      // A close frame would wait behind what the client does not read.
      ws.terminate()
      return false
    }
    ws.send(text)
    counted('out')
    return true
  }

  async drained(): Promise<boolean> {
    const { ws } = this.#parts
    if (ws.readyState !== ws.OPEN) return false
    if (ws.bufferedAmount === 0) return true
    // The callback of a ping runs when everything before it is written, or fails.
    const written = new Promise<boolean>((resolve) => ws.ping(undefined, undefined, (error) => resolve(!error)))
    return (await Promise.race([written, this.closed.then(() => false)])) && ws.readyState === ws.OPEN
  }

  join(topic: string): void {
    if (!this.#ended.signal.aborted) this.#parts.topics.join(topic, this, this.#parts.limits.maxTopics)
  }

  leave(topic: string): void {
    this.#parts.topics.leave(topic, this)
  }

  close(code = 1000, reason = ''): void {
    this.#parts.ws.close(code, reason)
  }

  /** Takes no more messages, waits for the running handler, and asks the client to close. */
  async drain(): Promise<void> {
    this.#refusing = true
    this.#queue.length = 0
    if (this.#busy) await new Promise<void>((resolve) => (this.#idle = resolve))
    this.close(closeCodes.shutdown, websocketErrors.SOCKETS_CLOSED.code)
    this.#parts.ws.resume()
    await this.closed
  }

  get userId(): string | undefined {
    return this.#parts.userId
  }

  /** Ends the connection if its access has ended. */
  async recheck(): Promise<void> {
    const { access } = this.#parts
    if (!(await accessHolds(access))) this.#refuse(closeCodes.policy, 'ACCESS_ENDED')
  }

  /** Cuts the connection. */
  cut(): void {
    this.#parts.ws.terminate()
  }

  #receive(data: Buffer, isBinary: boolean): void {
    const { counted, limits, clock, spec } = this.#parts
    if (this.#refusing) return
    counted('in')
    if (isBinary) this.#refuse(closeCodes.unsupported, 'SOCKET_BINARY')
    else if (!this.#pace.take(clock.monotonic())) this.#refuse(closeCodes.policy, websocketErrors.SOCKET_TOO_FAST(limits.messagesPerSecond))
    else if (spec.handler === undefined) this.#refuse(closeCodes.unsupported, websocketErrors.SOCKET_SENDS_ONLY(spec.path))
    else if (this.#busy) this.#queue.push(data)
    else this.#handle(data)
  }

  #handle(data: Buffer): void {
    const { read, spec } = this.#parts
    const take = ({ problems, value }: ReadMessage): unknown => {
      if (problems.length > 0) throw websocketErrors.SOCKET_MESSAGE_INVALID(problems)
      return spec.handler?.(this, value)
    }
    this.#work(() => {
      const message = read(data)
      return message instanceof Promise ? message.then(take) : take(message)
    }, false)
  }

  /** Runs the author's code for one message, or for the start of the connection, whose failure ends it. */
  #work(run: () => unknown, isStart: boolean): void {
    try {
      const result = this.#scope.runInAsyncScope(run)
      if (result instanceof Promise) void this.#await(result, isStart)
    } catch (error) {
      this.#failed(error, isStart)
    }
  }

  async #await(result: Promise<unknown>, isStart: boolean): Promise<void> {
    const { ws, clock, limits, spec } = this.#parts
    this.#busy = true
    this.#pace.pause(clock.monotonic())
    ws.pause()
    try {
      await withDeadline(result, limits.handlerMs, () => websocketErrors.SOCKET_HANDLER_LATE(spec.path, limits.handlerMs))
    } catch (error) {
      this.#failed(error, isStart)
    }
    this.#busy = false
    this.#idle?.()
    while (this.#queue.length > 0 && !this.#busy) this.#handle(this.#queue.shift() as Buffer)
    if (this.#busy) return
    this.#pace.resume(clock.monotonic())
    ws.resume()
  }

  #failed(thrown: unknown, isStart: boolean): void {
    const { log, spec } = this.#parts
    const error = thrown instanceof ZinError ? thrown : undefined
    if (error === undefined || error.status >= 500)
      log.error({ err: thrown, path: spec.path, socket: this.id }, 'the handler of a socket failed')
    const isLate = error?.code === websocketErrors.SOCKET_HANDLER_LATE.code
    const reported = error ?? websocketErrors.INTERNAL_ERROR(thrown)
    if (isStart || isLate) this.#refuse(closeCodes.failed, reported)
    else this.sendText(this.#bodyOf(reported))
  }

  /** Says why, as far as the client listens, and closes. */
  #refuse(code: number, why: ZinError | string): void {
    this.#refusing = true
    this.#queue.length = 0
    if (typeof why !== 'string') this.sendText(this.#bodyOf(why))
    this.close(code, typeof why === 'string' ? why : why.code)
  }

  /** As in an error response: in production a 5xx reveals no cause. */
  #bodyOf(error: ZinError): string {
    const hidden = this.#parts.production && error.status >= 500
    const message = hidden ? 'The server could not handle the message' : error.message
    const body: ErrorBody = { error: error.title, message, code: error.code }
    return JSON.stringify(error.details === undefined || hidden ? body : { ...body, details: error.details })
  }

  /** Ends the connection of a client that is gone, or whose access has ended. */
  #watch(): void {
    const { access, limits, ws } = this.#parts
    const beat = async (): Promise<void> => {
      // While a handler runs, nothing is read, so a pong cannot arrive.
      if (!this.#alive && !this.#busy) {
        ws.terminate()
        return
      }
      this.#alive = false
      if (ws.readyState === ws.OPEN) ws.ping()
      await this.recheck()
    }
    this.#timers.push(setInterval(() => void beat(), limits.pingMs).unref())
    const lasts = Math.min(maxTimerMs, ...access.map(({ lastsMs }) => lastsMs))
    if (access.length > 0) this.#timers.push(setTimeout(() => this.#refuse(closeCodes.policy, 'ACCESS_ENDED'), Math.max(0, lasts)).unref())
  }

  #end(code: number, reason: string): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.#refusing = true
    this.#queue.length = 0
    this.#parts.topics.leaveAll(this)
    this.#ended.abort()
    this.#idle?.()
    const { log, spec } = this.#parts
    const failed = (error: unknown): void => log.error({ err: error, path: spec.path, socket: this.id }, 'onClose of a socket failed')
    try {
      const result = this.#scope.runInAsyncScope(() => spec.onClose?.(this, { code, reason }))
      if (result instanceof Promise) result.catch(failed)
    } catch (error) {
      failed(error)
    }
    this.#scope.emitDestroy()
  }
}
