import type { Control } from '../part.js'
import type { Audit } from './audit.js'
import type { Recording } from './recording.js'

export interface AuditControlsInput {
  readonly audit: Pick<Audit, 'enabled' | 'entries' | 'status'>
  readonly recording: Pick<Recording, 'offSince'>
  /** Where kv is, which keeps the newest seals; null without kv. */
  readonly kv: 'redis' | 'database' | null
  /** Whether the log is sealed with a secret key. */
  readonly keyed: boolean
  /** ms since 1970. */
  readonly now: number
}

/** How long a verification counts as recent, in ms. */
const verifiedMs = 8 * 86_400_000

/** Returns the report's controls of the audit log. */
export async function auditControls({ audit, keyed, kv, now, recording }: AuditControlsInput): Promise<readonly Control[]> {
  const { entries: newest, pagination } = await audit.entries({ limit: 1 })
  const newestAt = newest[0] === undefined ? null : new Date(newest[0].at).toISOString()
  if (!audit.enabled) {
    return [
      {
        id: 'audit/log',
        title: 'Management actions and job outcomes are recorded',
        state: 'off',
        evidence: { WORKER_AUDIT_LOG: false, entries: pagination.total, newest: newestAt, offSince: await recording.offSince() },
        gaps: ['Nothing is recorded: set WORKER_AUDIT_LOG to true'],
      },
    ]
  }
  const { downSince, places, refused, unkept, waiting, written } = audit.status
  const { entries: verified } = await audit.entries({ action: 'audit.verify', limit: 1 })
  const { entries: lost, pagination: gaps } = await audit.entries({ action: 'audit.gap', outcome: 'noted', limit: 1 })
  const { entries: off, pagination: offs } = await audit.entries({ action: 'audit.gap', outcome: 'off', limit: 1 })
  const { entries: forgotten } = await audit.entries({ action: 'audit.seal', outcome: 'lost', limit: 1 })
  const [last] = verified
  const logGaps = [
    ...(downSince === null ? [] : [`The log has not been writable since ${downSince}: bring the database back`]),
    ...(unkept > 0 || lost.length > 0
      ? [`Job outcomes were lost ${gaps.total} ${gaps.total === 1 ? 'time' : 'times'}: the audit.gap entries contain the numbers`]
      : []),
    ...off.map(({ id, reason }) => `The log was off ${offs.total} ${offs.total === 1 ? 'time' : 'times'}; entry ${id}: ${reason}`),
  ]
  const age = last === undefined ? Number.POSITIVE_INFINITY : now - last.at
  const chainGaps = [
    ...(keyed ? [] : ['The log is not sealed with a secret key: set APP_KEY']),
    ...(places.length > 0 ? [] : ['Nothing outside the tables confirms the log: enable the plugin kv, or set WORKER_AUDIT_ANCHOR_FILE']),
    ...places.flatMap(({ failingSince, place }) =>
      failingSince === null ? [] : [`Seals cannot be written to ${place} since ${failingSince}: see the app log`],
    ),
    ...forgotten.map(({ id, reason }) => `Entry ${id}: ${reason}`),
    ...(last?.outcome === 'broken' ? [`Its last verification failed: ${last.reason}`] : []),
    ...(age > verifiedMs
      ? [
          'No verification was recorded in the last eight days: verify the log in the console or with POST /api/compliance/audit/verify; zin audit:verify leaves no record',
        ]
      : []),
  ]
  return [
    {
      id: 'audit/log',
      title: 'Management actions and job outcomes are recorded',
      state: logGaps.length === 0 ? 'met' : 'gap',
      evidence: {
        WORKER_AUDIT_LOG: true,
        entries: pagination.total,
        newest: newestAt,
        written,
        waiting,
        unkept,
        refused,
      },
      gaps: logGaps,
    },
    {
      id: 'audit/chain',
      title: 'Changes to the audit log are detected',
      state: chainGaps.length === 0 ? 'met' : 'gap',
      evidence: {
        sealed: keyed,
        kv,
        places: places.map(({ place }) => place).join(', ') || null,
        verifiedAt: last === undefined ? null : new Date(last.at).toISOString(),
        verification: last?.outcome ?? null,
        found: last?.reason ?? null,
      },
      gaps: chainGaps,
    },
  ]
}
