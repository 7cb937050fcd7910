import type { ProxyKey } from './auth/keys.js'
import type { ClientWatch } from './sql/time-limit.js'

/** A request whose caller is known. */
export interface Call {
  readonly key: ProxyKey
  readonly requestId: string
  /** SHA-256 of path and body: what an idempotency key stands for. */
  readonly hash: () => string
  /** Tells when the client has gone. */
  readonly client: ClientWatch
}
