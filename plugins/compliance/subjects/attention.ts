import type { AttentionFact, AttentionReport } from 'zin'
import type { Erasures } from '../store/erasures.js'

/** The kinds of facts, and when each is listed. */
export const erasureKinds = {
  'erasure-failed': 'the erasure of the data of a subject failed in the last 30 days, and none succeeded since',
  'erasure-waiting': 'an erasure has waited for running jobs for ten minutes',
} as const

/** How long a failed erasure is reported, in ms. */
const reportedMs = 30 * 86_400_000

/** How long an erasure may wait for running jobs before that is reported, in ms. */
const waitMs = 600_000

const act = { label: 'Open the data of subjects', href: '/console/subjects' }

/** Erasures that failed, unless the data of the same subject was erased later, and those that wait for long. */
export async function erasureReport(erasures: Pick<Erasures, 'failed' | 'waiting'>, now: number): Promise<AttentionReport> {
  const failed = await erasures.failed(now - reportedMs)
  const waiting = await erasures.waiting(now - waitMs)
  return {
    facts: [
      ...failed.map(
        ({ erased, error, id, updatedAt }): AttentionFact => ({
          kind: 'erasure-failed',
          subject: `erasure:${id}`,
          severity: 'bad',
          cause: `The erasure ${id} of the data of a subject failed after ${erased} jobs: ${error ?? 'no reason given'}. Request it again: it goes on with what is left`,
          since: Date.parse(updatedAt),
          act,
        }),
      ),
      ...waiting.map(
        ({ id, pending, requestedAt }): AttentionFact => ({
          kind: 'erasure-waiting',
          subject: `erasure:${id}`,
          severity: 'warn',
          cause: `The erasure ${id} of the data of a subject waits for ${pending === 1 ? 'a running job' : `${pending} running jobs`}. GET /api/compliance/erasures/${id} names them: wait for their end, or cancel them`,
          count: Math.max(1, pending),
          since: Date.parse(requestedAt),
          act,
        }),
      ),
    ],
  }
}
