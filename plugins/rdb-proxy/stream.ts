import { errorBody, type ParsedStatement, type StreamLine, WireError } from 'zin/plugins/sql-wire'
import type { Call } from './contract.js'
import type { RdbProxy } from './service.js'
import { RowEncoder, tooLarge } from './sql/collect.js'
import type { Field } from './sql/columns.js'
import { wireErrorOf } from './sql/db-errors.js'
import { type Command, send } from './sql/execute.js'
import type { Gateway, Run } from './sql/gateway.js'
import type { Session } from './sql/session.js'
import { withTimeLimit } from './sql/time-limit.js'
import { bindValues } from './sql/values.js'

/** Approximate size of the chunks that are sent, in characters. */
const pieceChars = 16_384
/** Rows that the driver buffers ahead of a slow client. */
const rowsAhead = 64
/** Longest time between two reads by the client, in ms; after that the stream ends and its connection is released. */
const clientStallMs = 30_000

/** Streams results as lines of JSON while they arrive, with backpressure: memory stays bounded if the client is slow. */
export class Streams {
  readonly #proxy: RdbProxy
  readonly #most: number
  #open = 0

  /** @param most maximum number of concurrent streams: each holds a connection for as long as the client reads. */
  constructor(proxy: RdbProxy, most: number) {
    this.#proxy = proxy
    this.#most = most
  }

  /**
   * Runs a read and resolves when the columns are known. Earlier errors are thrown; later ones are sent as the last line.
   */
  async open(call: Call, purpose: 'query' | 'statement', request: ParsedStatement): Promise<RowStream> {
    const { permissions, checkReads, gateway } = this.#proxy.parts
    const allowed = permissions.check(call.key, purpose, request)
    if (!allowed.reads) throw new WireError('VALIDATION_ERROR', 'Only reads can be streamed')
    const run = this.#proxy.runOf(call, allowed, request.options)
    const maxRows = request.options.maxRows ?? allowed.registered?.maxRows ?? Number.POSITIVE_INFINITY
    await checkReads()
    if (this.#open >= this.#most)
      throw new WireError('POOL_EXHAUSTED', `${this.#most} results are being streamed already, which is the maximum`)
    this.#open++
    return new Promise((resolve, reject) => {
      gateway
        .use('reading', (session) => {
          return new Promise<void>((release, fail) => {
            this.#begin(gateway, session, run).then(({ encoder, rows }) => {
              const streaming: Streaming = { gateway, session, run, encoder, rows, maxRows, complete: false, closed: false, release }
              const stalled = new AbortController()
              const stop = (): void => {
                close(streaming)
                stalled.abort()
              }
              const text = watchReads(this.#lines(call, streaming), clientStallMs, stop)
              resolve({ text, close: () => close(streaming), stalled: stalled.signal })
            }, fail)
          })
        })
        .catch((error: unknown) => reject(this.#wire(error)))
        .finally(() => {
          this.#open--
        })
    })
  }

  async #begin(gateway: Gateway, session: Session, run: Run): Promise<{ readonly encoder: RowEncoder; readonly rows: Rows }> {
    return withTimeLimit(session, gateway.killerOf(true), run, async () => {
      const command = await send(session, run.sql, bindValues(run.params))
      const rows = command.stream({ highWaterMark: rowsAhead }) as unknown as Rows
      rows.on('error', () => undefined)
      const fields = fieldsOf(command, rows)
      session.onLost((error) => rows.destroy(error))
      try {
        return { encoder: new RowEncoder(await fields, run), rows }
      } catch (error) {
        if (error instanceof WireError) gateway.abandon(session, true)
        throw error
      }
    })
  }

  async *#lines(call: Call, streaming: Streaming): AsyncGenerator<string, void> {
    const { gateway, session, run, encoder, rows, maxRows } = streaming
    let rowCount = 0
    let piece = line({ type: 'head', columns: encoder.columns })
    try {
      for (;;) {
        const row = rows.read()
        if (row === null) {
          // Only the wait for the database counts against the time limit, not the client's reading time.
          if (await withTimeLimit(session, gateway.killerOf(true), run, () => moreOf(rows))) continue
          break
        }
        if (++rowCount > maxRows) throw tooLarge('rows', maxRows)
        piece += line({ type: 'row', row: encoder.encode(row) })
        if (piece.length < pieceChars) continue
        yield piece
        piece = ''
      }
      streaming.complete = true
      yield piece + line({ type: 'end', rowCount, meta: { requestId: call.requestId, rowsReturned: rowCount, timezone: '+00:00' } })
    } catch (error) {
      const wire = this.#wire(error)
      if (!streaming.closed) call.onFault(wire)
      const shown = wire instanceof WireError ? wire : new WireError('INTERNAL', 'The result could not be sent completely')
      yield piece + line({ type: 'error', error: errorBody(shown, call.requestId) })
    } finally {
      close(streaming)
    }
  }

  #wire(error: unknown): unknown {
    return wireErrorOf(error, { reads: true, showMessage: this.#proxy.parts.showMessages })
  }
}

/** Row stream of the driver; each row is an array. */
interface Rows {
  read(): readonly unknown[] | null
  readonly readableEnded: boolean
  readonly errored: Error | null
  on(event: 'error', listener: () => void): unknown
  once(event: string, listener: () => void): this
  off(event: string, listener: () => void): this
  destroy(error?: Error): void
}

/** Waits for more rows; resolves to false at the end of the result. */
function moreOf(rows: Rows): Promise<boolean> {
  if (rows.errored !== null) return Promise.reject(rows.errored)
  if (rows.readableEnded) return Promise.resolve(false)
  return new Promise((resolve, reject) => {
    const settle = (work: () => void) => (): void => {
      rows.off('readable', onReadable).off('end', onEnd).off('error', onError).off('close', onEnd)
      work()
    }
    const onReadable = settle(() => resolve(true))
    const onEnd = settle(() => (rows.errored === null ? resolve(false) : reject(rows.errored)))
    const onError = onEnd
    rows.once('readable', onReadable).once('end', onEnd).once('error', onError).once('close', onEnd)
  })
}

interface Streaming {
  readonly gateway: Gateway
  readonly session: Session
  readonly run: Run
  readonly encoder: RowEncoder
  readonly rows: Rows
  readonly maxRows: number
  /** Whether the database has sent everything. */
  complete: boolean
  closed: boolean
  readonly release: () => void
}

/** A result that is being streamed. */
export interface RowStream {
  readonly text: AsyncGenerator<string, void>
  /** Ends the statement if it is still running, and releases its connection. The caller calls it when reading has ended. */
  readonly close: () => void
  /** Aborted if the client stops reading; the stream is then closed, and its response must be destroyed. */
  readonly stalled: AbortSignal
}

/** Passes pieces on; calls `onStall` if the reader does not ask for the next one within the time limit. */
export async function* watchReads(pieces: AsyncIterable<string>, limitMs: number, onStall: () => void): AsyncGenerator<string, void> {
  for await (const piece of pieces) {
    const timer = setTimeout(onStall, limitMs)
    try {
      yield piece
    } finally {
      clearTimeout(timer)
    }
  }
}

function close(streaming: Streaming): void {
  // The session may already serve another caller.
  if (streaming.closed) return
  streaming.closed = true
  const { rows, complete, session, gateway, release } = streaming
  rows.destroy()
  session.onLost(undefined)
  if (!complete && !session.broken) gateway.abandon(session, true)
  release()
}

function line(value: StreamLine): string {
  return `${JSON.stringify(value)}\n`
}

function fieldsOf(command: Command, rows: Rows): Promise<readonly Field[]> {
  return new Promise((resolve, reject) => {
    command.on('fields', (fields) => resolve(fields ?? []))
    command.on('error', (error) => reject(error as Error))
    rows.once('close', () => reject(rows.errored ?? new Error('the result was closed')))
  })
}
