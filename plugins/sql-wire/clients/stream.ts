import type { Column, StreamLine } from '../wire.js'
import type { CallOptions } from './contract.js'
import { type Deadline, deadlineOf } from './deadline.js'
import { bodyError, localError } from './proxy-error.js'
import { readLines } from './read-body.js'
import { type DecodeOptions, decodeRows } from './rows.js'
import type { Transport } from './transport.js'

/**
 * Yields the rows of an NDJSON response. Only the wait for each line counts against the deadline, not the time the reader spends between
 * rows. Throws if the stream ends without its last line, because rows may be missing.
 */
export async function* streamRows<Row>(
  transport: Transport,
  body: unknown,
  { signal, timeoutMs = transport.timeoutMs }: CallOptions,
  decode: DecodeOptions,
): AsyncGenerator<Row> {
  const controller = new AbortController()
  let waiting = deadlineOf(timeoutMs, signal)
  const end = (): void => controller.abort(waiting.signal.reason)
  const watch = (deadline: Deadline): Deadline => {
    deadline.signal.addEventListener('abort', end, { once: true })
    return deadline
  }
  watch(waiting)
  try {
    const whole: Deadline = { ...waiting, signal: controller.signal }
    const response = await transport.open({ path: 'query', body, repeatable: true }, whole)
    const lines = readLines(response, transport.maxResponseBytes)
    let columns: readonly Column[] = []
    try {
      for (;;) {
        const next = await lines.next()
        waiting.done()
        if (next.done)
          throw localError('INVALID_RESPONSE', 'The stream ended before its last line; rows are missing', { status: 200, retryable: true })
        const line = lineOf(next.value)
        if (line.type === 'end') return
        if (line.type === 'error') throw bodyError(line.error)
        if (line.type === 'head') columns = line.columns
        else {
          decodeRows([line.row], columns, decode)
          yield line.row as Row
        }
        waiting = watch(deadlineOf(timeoutMs, signal))
      }
    } finally {
      await lines.return(undefined)
    }
  } catch (error) {
    throw controller.signal.aborted ? controller.signal.reason : error
  } finally {
    waiting.done()
  }
}

function lineOf(text: string): StreamLine {
  try {
    return JSON.parse(text) as StreamLine
  } catch {
    throw localError('INVALID_RESPONSE', 'A line of the stream is not valid JSON', { status: 200 })
  }
}
