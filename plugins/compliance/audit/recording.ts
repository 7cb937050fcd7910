import type { Clock } from 'zin'
import type { Marks } from '../store/marks.js'
import { registerChain } from './chain.js'
import type { AuditEntry } from './entry.js'
import type { Recorder } from './recorder.js'
import type { AuditStore } from './store/contract.js'

export interface RecordingParts {
  readonly store: Pick<AuditStore, 'chain' | 'list'>
  readonly marks: Marks
  readonly recorder: Pick<Recorder, 'record'>
  readonly node: string
  readonly clock: Clock
}

/** Mark with the time when the app first started without the log, ISO 8601; no entry, because the log is not written while it is off. */
const offMark = 'audit.off'

/** Makes periods without recording visible: records process starts, and periods with WORKER_AUDIT_LOG=false. */
export class Recording {
  readonly #parts: RecordingParts

  constructor(parts: RecordingParts) {
    this.#parts = parts
  }

  /** Called when the process starts with the log; records the start, and the gap if the log was off. */
  async started(): Promise<void> {
    const { clock, marks, node, recorder, store } = this.#parts
    const [[last], off] = await Promise.all([store.list({}, { offset: 0, limit: 1 }), marks.get(offMark)])
    const before = lastText(last, clock.now())
    await recorder.record('audit.start', 'audit:log', `on ${node}; ${before}`)
    if (off === undefined) return
    await recorder.record('audit.gap', 'audit:log', `WORKER_AUDIT_LOG was false, first at the start at ${off}; ${before}`, 'off')
    // Two processes that start at once both record the gap; after a crash before this line, it is recorded again.
    await marks.deleteAll(offMark)
  }

  /** Called when the process starts without the log; notes it for the next start with the log, if a log exists. */
  async startedWithout(): Promise<void> {
    const { clock, marks, store } = this.#parts
    if ((await store.chain(registerChain)) === undefined || (await this.offSince()) !== null) return
    await marks.set(offMark, new Date(clock.now()).toISOString())
  }

  /** Returns when the app first started without the log, ISO 8601; null if it did not, or an `audit.gap` entry already records it. */
  async offSince(): Promise<string | null> {
    return (await this.#parts.marks.get(offMark)) ?? null
  }
}

function lastText(last: AuditEntry | undefined, now: number): string {
  if (last === undefined) return 'there is no previous entry'
  return `the previous entry is ${last.id} at ${new Date(last.at).toISOString()}, ${durationText(now - last.at)} earlier`
}

/** Formats a duration in its two largest units: `2 d 3 h`, `4 min 10 s`. */
function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const
  const first = parts.findIndex(([count]) => count > 0)
  if (first === -1) return '0 s'
  return parts
    .slice(first, first + 2)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}
