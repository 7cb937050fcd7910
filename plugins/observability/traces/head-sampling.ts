import { type Context, isSpanContextValid, TraceFlags, trace } from '@opentelemetry/api'
import { type IdGenerator, type Sampler, SamplingDecision, type SamplingResult } from '@opentelemetry/sdk-trace-base'
import { UnrecordedTrace } from './unrecorded.js'

const word = 2 ** 32
/** How many values the random part of a trace id has: its last 56 bits (W3C Trace Context, level 2). */
const randomness = 2 ** 56
const low24 = 0xffffff

/**
 * Decides from the trace id whether a trace that begins here is recorded, by its random part as OpenTelemetry's consistent samplers do. It
 * also makes the ids, so that a request can be left out before anything is made for it.
 */
export class HeadSampling implements IdGenerator, Sampler {
  /** The least random part that is recorded. */
  readonly #least: number
  #next: string | undefined

  /** @param ratio share of the traces that are recorded, 0 to 1. */
  constructor(ratio: number) {
    this.#least = ratio > 0 ? (1 - ratio) * randomness : Number.POSITIVE_INFINITY
  }

  /**
   * The trace of a request that is not recorded; undefined when it is. Then the next trace id is the one that was decided about, so its
   * span must be started at once.
   *
   * @param parent with the span that the request came with, if it did.
   */
  leaveOut(parent: Context): UnrecordedTrace | undefined {
    const caller = trace.getSpanContext(parent)
    if (caller !== undefined && isSpanContextValid(caller)) {
      if ((caller.traceFlags & TraceFlags.SAMPLED) !== 0) return undefined
      return new UnrecordedTrace(() => ({ ...caller, spanId: this.generateSpanId(), traceFlags: TraceFlags.NONE, isRemote: false }))
    }
    const [third, fourth] = [randomWord(), randomWord()]
    if (!this.#isRecorded(third, fourth)) {
      return new UnrecordedTrace(() => ({ traceId: idOf(third, fourth), spanId: this.generateSpanId(), traceFlags: TraceFlags.NONE }))
    }
    this.#next = idOf(third, fourth)
    return undefined
  }

  generateTraceId = (): string => {
    const id = this.#next ?? idOf(randomWord(), randomWord())
    this.#next = undefined
    return id
  }

  generateSpanId = (): string => hex(randomWord() || 1) + hex(randomWord())

  shouldSample(_context: Context, traceId: string): SamplingResult {
    const isRecorded = this.#isRecorded(Number.parseInt(traceId.slice(16, 24), 16), Number.parseInt(traceId.slice(24), 16))
    return { decision: isRecorded ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD }
  }

  #isRecorded(third: number, fourth: number): boolean {
    return (third & low24) * word + fourth >= this.#least
  }
}

const randomWord = (): number => (Math.random() * word) >>> 0

const hex = (value: number): string => value.toString(16).padStart(8, '0')

/** Never all zeros, which is no id. */
const idOf = (third: number, fourth: number): string => hex(randomWord() || 1) + hex(randomWord()) + hex(third) + hex(fourth)
