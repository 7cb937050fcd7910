import { createRequire } from 'node:module'

type Bullmq = typeof import('bullmq')

/** Loads BullMQ. Not import(), which reads each of its two hundred files twice: once to find the names that it exports. */
export function loadBullmq(): Bullmq {
  return createRequire(import.meta.url)('bullmq') as Bullmq
}
