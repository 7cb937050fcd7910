import { createHmac } from 'node:crypto'

const prefix = 'whsec_'
/** Minimum key length in bytes. */
const leastBytes = 24

/** Returns why a secret cannot be used for signing, or undefined if it can. */
export function secretFault(secret: string): string | undefined {
  if (secret.startsWith(prefix) && !/^[A-Za-z0-9+/]+={0,2}$/.test(secret.slice(prefix.length))) return 'is not base64 after "whsec_"'
  return keyOf(secret).length < leastBytes ? `has fewer than ${leastBytes} bytes` : undefined
}

/**
 * Returns the headers of the Standard Webhooks specification, with one signature per secret, so that receivers can verify the message with
 * any of them. A secret is `whsec_` followed by the base64 of the key, or any other text, whose UTF-8 bytes are the key. Pure.
 */
export function signedHeaders(secrets: readonly string[], id: string, atMs: number, body: string): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(atMs / 1000))
  const signatures = secrets.map((secret) => {
    const signature = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${body}`, 'utf8').digest('base64')
    return `v1,${signature}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}

function keyOf(secret: string): Buffer {
  return secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : Buffer.from(secret, 'utf8')
}
