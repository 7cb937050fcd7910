import type { ProxyKey } from './auth/keys.js'
import type { ClientWatch } from './sql/time-limit.js'

/** An authenticated request. */
export interface Call {
  readonly key: ProxyKey
  readonly requestId: string
  /** Returns the SHA-256 of path and body: identifies the request of an idempotency key. */
  readonly hash: () => string
  /** Watches for a disconnect of the client. */
  readonly client: ClientWatch
  /** Called with an error that ends a stream whose response has begun. */
  readonly onFault: (error: unknown) => void
}
