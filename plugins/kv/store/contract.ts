import type { Kv } from '../contract.js'

/** One backend of the service. */
export interface KvStore extends Omit<Kv, 'birthKey' | 'birth'> {
  /** Forgets what has expired; a backend that does so by itself does nothing. */
  sweep(): Promise<void>
  close(): Promise<void>
}
