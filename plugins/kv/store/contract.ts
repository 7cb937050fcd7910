import type { Kv } from '../contract.js'

/** One backend of the service. It gets numbers that the service has checked: each `ttlMs` and `by` is an integer. */
export interface KvStore extends Omit<Kv, 'birthKey' | 'birth' | 'increment'> {
  /** Deletes expired keys; does nothing on a backend that expires them itself. */
  sweep(): Promise<void>
  close(): Promise<void>
}
