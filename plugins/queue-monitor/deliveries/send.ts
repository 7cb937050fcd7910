import { type EgressParts, type EgressRules, egressFetch, messageOf, ZinError } from 'zin'
import type { Endpoint } from '../webhooks/endpoint.js'
import type { DeliveryData } from './delivery.js'
import { retryAfterMs } from './retry.js'
import { signedHeaders } from './signature.js'

/**
 * The outcome of an attempt. `accepted`: delivered. `refused`: failed, to be retried after `retryAfterMs` at the earliest. `blocked`: not
 * allowed by configuration, never retried. `gone`: the receiver returned 410. `stopped`: this process is shutting down.
 */
export interface SendOutcome {
  readonly kind: 'accepted' | 'refused' | 'blocked' | 'gone' | 'stopped'
  readonly status: number | null
  readonly error: string | null
  readonly retryAfterMs?: number
}

export interface SendParts {
  readonly rules: EgressRules
  /** DNS resolver and certificates, for tests. */
  readonly egress: EgressParts
  readonly timeoutMs: number
  readonly secrets: readonly string[]
  readonly now: () => number
}

/** A message to send: its id and the data of its job. */
export type Message = DeliveryData & { readonly id: string }

/** Sends one message to an endpoint, once. Never throws. */
export type Send = (message: Message, endpoint: Endpoint, signal: AbortSignal | undefined) => Promise<SendOutcome>

/** Limit on response bytes; the body is not used. */
const mostBytes = 64 * 1024

/** Returns a function that sends signed HTTP requests. Redirects are not followed. */
export function sendWebhook({ egress, now, rules, secrets, timeoutMs }: SendParts): Send {
  return async ({ body, id }, { url }, signal) => {
    const headers = { 'content-type': 'application/json', 'user-agent': 'zin-webhooks', ...signedHeaders(secrets, id, now(), body) }
    return post({ url, headers, body, rules, egress, timeoutMs, signal, now })
  }
}

/** Returns a function that sends messages to Slack's incoming webhooks. */
export function sendSlack({ egress, now, rules, timeoutMs }: SendParts): Send {
  return async ({ body }, { url }, signal) => {
    const { data, timestamp } = JSON.parse(body) as AlertBody
    const sign = data.status === 'raised' ? ':rotating_light:' : ':white_check_mark:'
    const text = `${sign} ${escaped(`${titleOf(data)}: ${data.reason}`)} (${timestamp})`
    const headers = { 'content-type': 'application/json', 'user-agent': 'zin-webhooks' }
    return post({ url, headers, body: JSON.stringify({ text }), rules, egress, timeoutMs, signal, now })
  }
}

/** The fields of an alert body that Slack messages and emails use. */
export interface AlertBody {
  readonly timestamp: string
  readonly data: {
    readonly queue: string | null
    readonly status: string
    readonly rule: string
    readonly reason: string
    /** Of what needs attention. */
    readonly subject?: string
  }
}

/** Returns the first line of a message about an alert, or about what needs attention. */
export function titleOf({ queue, rule, status, subject }: AlertBody['data']): string {
  return subject === undefined ? `Alert ${rule} of queue ${queue} ${status}` : `${subject}: ${rule} ${status}`
}

interface Post extends Omit<SendParts, 'secrets'> {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal | undefined
}

async function post({ body, egress, headers, now, rules, signal, timeoutMs, url }: Post): Promise<SendOutcome> {
  try {
    const request = { ...rules, method: 'POST', headers, body, timeoutMs, maxBytes: mostBytes, ...(signal === undefined ? {} : { signal }) }
    const { headers: received, status } = await egressFetch(url, request, egress)
    if (status >= 200 && status < 300) return { kind: 'accepted', status, error: null }
    if (status === 410) return { kind: 'gone', status, error: 'The receiver responded with 410 (Gone) and wants no more events' }
    const error = `The receiver responded with ${status}${status >= 300 && status < 400 ? '; redirects are not followed' : ''}`
    return { kind: 'refused', status, error, retryAfterMs: retryAfterMs(received['retry-after'], now()) }
  } catch (error) {
    if (signal?.aborted === true) return { kind: 'stopped', status: null, error: 'The app stopped during the attempt' }
    const code = error instanceof ZinError ? error.code : ''
    // The receiver responded, but with more than the limit.
    if (code === 'EGRESS_TOO_LARGE') return { kind: 'refused', status: null, error: messageOf(error) }
    return { kind: code === 'EGRESS_BLOCKED' ? 'blocked' : 'refused', status: null, error: messageOf(error) }
  }
}

/** Escapes Slack's three control characters. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
