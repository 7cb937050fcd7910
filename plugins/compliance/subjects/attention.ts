import type { AttentionFact, AttentionReport } from 'zin'
import type { Erasures } from '../store/erasures.js'

/** The kinds of facts, and when each is listed. */
export const erasureKinds = {
  'erasure-failed': 'the erasure of the data of a subject failed in the last 30 days, and none succeeded since',
} as const

/** How long a failed erasure is reported, in ms. */
const reportedMs = 30 * 86_400_000

/** Erasures that failed, unless the data of the same subject was erased later. */
export async function erasureReport(erasures: Pick<Erasures, 'failed'>, now: number): Promise<AttentionReport> {
  const failed = await erasures.failed(now - reportedMs)
  return {
    facts: failed.map(
      ({ erased, error, id, updatedAt }): AttentionFact => ({
        kind: 'erasure-failed',
        subject: `erasure:${id}`,
        severity: 'bad',
        cause: `The erasure ${id} of the data of a subject failed after ${erased} jobs: ${error ?? 'no reason given'}. Request it again: it goes on with what is left`,
        since: Date.parse(updatedAt),
        act: { label: 'Open the data of subjects', href: '/console/subjects' },
      }),
    ),
  }
}
