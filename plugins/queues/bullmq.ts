import { createRequire } from 'node:module'

type Bullmq = typeof import('bullmq')

/** Loads BullMQ with require: import() reads each of its two hundred files twice, once to find the exported names. */
export function loadBullmq(): Bullmq {
  return createRequire(import.meta.url)('bullmq') as Bullmq
}
