import { type AttentionFact, countText } from 'zin'
import type { PublisherState } from './places/publisher.js'
import type { WriterState } from './writer.js'

/** The kinds of facts, and when each is listed. */
export const auditKinds = {
  'audit-unwritable': 'a process cannot write the audit log',
  'audit-seals-unwritable': 'a process cannot write the seals of the audit log to a second place',
} as const

/** The audit log of this process, if it or a place of its seals cannot be written. */
export function auditFacts(
  { downSince, error = '', unkept, waiting }: WriterState,
  places: readonly PublisherState[],
): readonly AttentionFact[] {
  const act = { label: 'Open the audit log', href: '/console/audit' }
  const subject = 'audit:log'
  const lost = unkept > 0 ? `, and ${countText(unkept, 'entry', 'entries')} could not be kept` : ''
  const cause = `The audit log cannot be written: management actions are refused, and ${countText(waiting, 'job outcome')} ${waiting === 1 ? 'waits' : 'wait'} to be written${lost} (${error}). Check the database`
  return [
    ...(downSince === undefined
      ? []
      : [{ kind: 'audit-unwritable', subject, severity: 'bad' as const, cause, since: downSince, count: Math.max(1, waiting), act }]),
    ...places.flatMap(({ error: why = '', failingSince, place }) =>
      failingSince === undefined
        ? []
        : [
            {
              kind: 'audit-seals-unwritable',
              subject,
              key: place,
              cause: `The seals of the audit log cannot be written to ${place}: no entry is lost, but cutting off the newest ones would go unnoticed (${why})`,
              since: failingSince,
              act,
            },
          ],
    ),
  ]
}
