import { type Context, isSpanContextValid, TraceFlags, trace } from '@opentelemetry/api'
import { type IdGenerator, type Sampler, SamplingDecision, type SamplingResult } from '@opentelemetry/sdk-trace-base'
import { UnrecordedTrace } from './unrecorded.js'

const word = 2 ** 32
/** Number of values of the random part of a trace id: its last 56 bits (W3C Trace Context, level 2). */
const randomness = 2 ** 56
const low24 = 0xffffff

/**
 * Decides from the random part of the trace id whether a trace that begins here is recorded, like OpenTelemetry's consistent samplers. It
 * also generates the ids, so that an unsampled request costs no span.
 */
export class HeadSampling implements IdGenerator, Sampler {
  /** The smallest random part that is recorded. */
  readonly #least: number
  #next: string | undefined

  /** @param ratio Share of the traces that are recorded, 0 to 1. */
  constructor(ratio: number) {
    this.#least = ratio > 0 ? (1 - ratio) * randomness : Number.POSITIVE_INFINITY
  }

  /**
   * Returns an unrecorded trace for a request that is not sampled; undefined if it is sampled. In that case, the next generated trace id is
   * the sampled one, so the span must be started immediately.
   *
   * @param parent Context with the span of the caller, if any.
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

/** Never all zeros, which is not a valid id. */
const idOf = (third: number, fourth: number): string => hex(randomWord() || 1) + hex(randomWord()) + hex(third) + hex(fourth)
