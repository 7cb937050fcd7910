import { createHmac } from 'node:crypto'
import { type Clock, egressFetch } from 'zin'
import type { Checkpoint } from '../places/checkpoint.js'
import { anchorLine } from './line.js'

export interface WebhookAnchorParts {
  readonly url: string
  /** `whsec_` and base64, or any other text. */
  readonly secret: string
  readonly clock: Clock
  readonly timeoutMs: number
}

const prefix = 'whsec_'
/** Minimum key length in bytes. */
const leastBytes = 24
/** Limit on response bytes; the body is not used. */
const mostBytes = 64 * 1024

/** Returns why an anchor cannot be reached with these settings, or undefined if it can. */
export function webhookFault({ secret, url }: Pick<WebhookAnchorParts, 'secret' | 'url'>): string | undefined {
  if (!URL.canParse(url) || !/^https?:\/\/[^@]+$/.test(url))
    return 'WORKER_AUDIT_ANCHOR_URL must be an http or https URL without a user name'
  if (keyOf(secret).length < leastBytes) return `WORKER_AUDIT_ANCHOR_SECRET must have at least ${leastBytes} bytes`
  return undefined
}

/** Returns a function that posts a checkpoint, signed as the Standard Webhooks specification says. The URL is the operator's, so it may be private. */
export function webhookAnchor({ clock, secret, timeoutMs, url }: WebhookAnchorParts): (checkpoint: Checkpoint) => Promise<void> {
  const key = keyOf(secret)
  return async (checkpoint) => {
    const at = clock.now()
    const body = anchorLine(checkpoint, at)
    const id = `audit-${checkpoint.chain}-${checkpoint.counter}`
    const timestamp = String(Math.floor(at / 1000))
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`, 'utf8').digest('base64')
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'zin-audit',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    }
    const { status } = await egressFetch(url, { method: 'POST', headers, body, timeoutMs, maxBytes: mostBytes, allowPrivate: true })
    if (status < 200 || status >= 300) throw new Error(`the receiver responded with ${status}`)
  }
}

function keyOf(secret: string): Buffer {
  return secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : Buffer.from(secret, 'utf8')
}
