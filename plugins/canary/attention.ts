import { type AttentionFact, type AttentionReport, countText } from 'zin'
import type { CanaryRecord, PauseReason } from './record.js'

/** The kinds of facts, and when each is listed. */
export const canaryKinds = {
  'canary-waiting': 'a canary waits for a person',
} as const

const words: Readonly<Record<PauseReason, string>> = {
  manual: 'somebody paused it',
  inconclusive: 'there was no verdict in time',
  gate: 'its step requires a decision',
  'nodes-missing': 'a process cannot load the version',
  'regression-observed': 'the version is worse, and it is not rolled back automatically',
  'sample-ratio': 'the version did not get its share of the jobs',
  'awaiting-completion': 'it has passed, and is not completed automatically',
}

/**
 * Canaries that wait for a person.
 *
 * @param queueOf returns the queue of a worker, so that keys of that queue see the fact; undefined if the worker was removed.
 */
export async function canaryReport(
  live: () => Promise<readonly CanaryRecord[]>,
  queueOf: (worker: string) => Promise<string | undefined>,
): Promise<AttentionReport> {
  const waiting = (await live()).filter(({ state }) => state === 'PAUSED')
  return { facts: (await Promise.all(waiting.map(async (record) => waitingFacts(record, await queueOf(record.worker))))).flat() }
}

/** Pure. */
export function waitingFacts(record: CanaryRecord, queue?: string): readonly AttentionFact[] {
  const { canary, history, id, pausedFor, spec, state, step, updatedAt, worker } = record
  if (state !== 'PAUSED') return []
  const last = history.findLast(({ to }) => to === 'PAUSED')
  const why = pausedFor === undefined ? '' : ` because ${words[pausedFor]}`
  const reason = last === undefined ? '' : `: ${last.reason}`
  const cause = `The canary ${canary} of "${worker}" waits in step ${step + 1} of ${countText(spec.steps.length, 'step')} for a person${why}${reason}. Resume, complete or roll it back`
  return [
    {
      kind: 'canary-waiting',
      subject: `worker:${worker}`,
      ...(queue === undefined ? {} : { queue }),
      key: id,
      cause,
      since: last?.at ?? updatedAt,
      act: { label: 'Decide about the canary', href: `/console/workers/${encodeURIComponent(worker)}` },
    },
  ]
}
