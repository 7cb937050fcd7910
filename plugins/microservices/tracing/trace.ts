import { randomBytes } from 'node:crypto'

/** A trace as propagated from request to request (W3C Trace Context). */
export interface Trace {
  /** 32 hex digits, not all 0. */
  readonly traceId: string
  /** 16 hex digits: the current request. */
  readonly spanId: string
  /** The request that caused it. */
  readonly parentId?: string
  readonly sampled: boolean
  readonly state?: string
  /** The incoming `x-trace-id`, if it is not a W3C trace id. */
  readonly foreignId?: string | undefined
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const traceIdPattern = /^[A-Za-z0-9_-]{1,128}$/
const zeros = /^0+$/
const stateMember = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\u0020-\u002b\u002d-\u003c\u003e-\u007e]{0,256}$/

/**
 * Returns the trace of a request from `traceparent` and `tracestate`, or else from `x-trace-id`; undefined if both are missing or malformed.
 * @see https://www.w3.org/TR/trace-context/
 */
export function readTrace(headers: Headers, rate: number): Trace | undefined {
  const [, version, traceId = '', parentId = '', flags = '', rest] = traceparent.exec(textOf(headers.traceparent)) ?? []
  const known = version !== undefined && version !== 'ff' && (version !== '00' || rest === undefined)
  if (known && !zeros.test(traceId) && !zeros.test(parentId)) {
    const state = readState(textOf(headers.tracestate))
    const sampled = (Number.parseInt(flags, 16) & 1) === 1
    return { traceId, parentId, spanId: newSpanId(), sampled, ...(state === '' ? {} : { state }) }
  }
  const id = textOf(headers['x-trace-id'])
  if (!traceIdPattern.test(id)) return undefined
  const hex = id.replaceAll('-', '').toLowerCase()
  if (/^[0-9a-f]{32}$/.test(hex) && !zeros.test(hex)) return { traceId: hex, spanId: newSpanId(), sampled: isSampled(hex, rate) }
  return { ...newTrace(rate), foreignId: id }
}

export function newTrace(rate: number): Trace {
  const traceId = randomBytes(16).toString('hex')
  return { traceId, spanId: newSpanId(), sampled: isSampled(traceId, rate) }
}

/** Decides from the trace id, so that all services make the same decision. */
export function isSampled(traceId: string, rate: number): boolean {
  return Number.parseInt(traceId.slice(-12), 16) < rate * 2 ** 48
}

/** Returns the headers that continue a trace in another service. */
export function traceHeaders({ foreignId, sampled, spanId, state, traceId }: Trace): Record<string, string> {
  return {
    traceparent: `00-${traceId}-${spanId}-0${sampled ? 1 : 0}`,
    'x-trace-id': foreignId ?? traceId,
    ...(state === undefined ? {} : { tracestate: state }),
  }
}

/** Accepts at most 32 members and 512 characters; drops a malformed list entirely. */
function readState(text: string): string {
  const members = text.split(',').map((member) => member.trim())
  return text.length <= 512 && members.length <= 32 && members.every((member) => stateMember.test(member)) ? members.join(',') : ''
}

function newSpanId(): string {
  return randomBytes(8).toString('hex')
}

function textOf(value: string | string[] | undefined): string {
  return typeof value === 'string' ? value : ''
}
