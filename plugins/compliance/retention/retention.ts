import { messageOf } from 'zin'
import type { Leadership } from 'zin/plugins/cluster'
import type { Audit } from '../audit/audit.js'
import { keysFor } from '../keys.js'
import type { ComplianceContext, CompliancePart, Control } from '../part.js'
import { purgeAudit } from './purge-audit.js'
import { purgeJobs } from './purge-jobs.js'
import { retentionRoutes } from './routes.js'

/** What a run of the purge has deleted. */
export interface PurgeResult {
  /** Data from before this time are gone, ISO 8601. */
  readonly before: string
  readonly jobs: number
  readonly entries: number
  /** History of plugins from which old data were deleted, as `<plugin>.<data>`. */
  readonly history: readonly string[]
  /** Whether more is left for the next run. */
  readonly more: boolean
  /** Parts that failed, one sentence each. */
  readonly problems: readonly string[]
}

export interface Retention extends CompliancePart {
  /** Purges now, whichever process leads; in steps of at most a thousand rows. */
  run(): Promise<PurgeResult>
}

const dayMs = 86_400_000
/** How often the leader purges, and how soon again while more is left, in ms. */
const everyMs = 3_600_000
const moreMs = 60_000
/** Deleting statements of one run, of each kind. */
const steps = 100
const role = 'compliance.retention'

/** WORKER_DATA_RETENTION: one process deletes what is older. */
export function createRetention(ctx: ComplianceContext, audit: Pick<Audit, 'entries' | 'note' | 'store' | 'enabled'>): Retention {
  const { clock, hooks, log, services, settings } = ctx
  const { WORKER_DATA_RETENTION: days } = settings
  const keys = keysFor('audit', settings)
  const purgeData = hooks.slot('purgeData')
  let leadership: Leadership | undefined
  let dueAt = 0
  let running: Promise<PurgeResult> | undefined

  const purge = async (): Promise<PurgeResult> => {
    const before = clock.now() - days * dayMs
    const problems: string[] = []
    const attempt = async <T>(what: string, work: () => Promise<T>, otherwise: T): Promise<T> => {
      try {
        return await work()
      } catch (error) {
        problems.push(`${what}: ${messageOf(error)}`)
        return otherwise
      }
    }
    const alive = async () => new Set((await services.cluster.readNodes()).flatMap(({ alive, id }) => (alive ? [id] : [])))
    // BullMQ counts the age of jobs by the clock of this machine.
    const ageMs = Math.max(0, Date.now() - before)
    const [jobs, old, trail] = await Promise.all([
      attempt('jobs', () => purgeJobs({ queues: services.queues, ageMs, steps }), { jobs: 0, more: false }),
      purgeData.call(before),
      attempt('audit', async () => purgeAudit({ store: audit.store, keys, before, alive: await alive(), steps }), {
        entries: 0,
        more: false,
      }),
    ])
    const history: string[] = []
    for (const [plugin, data] of old) {
      if (data instanceof Error) problems.push(`history of ${plugin}: ${data.message}`)
      else history.push(...data)
    }
    const result: PurgeResult = {
      before: new Date(before).toISOString(),
      jobs: jobs.jobs,
      entries: trail.entries,
      history,
      more: jobs.more || trail.more,
      problems,
    }
    const also = history.length === 0 ? '' : `, and history (${history.join(', ')})`
    const text = `${result.jobs} jobs, ${result.entries} audit entries${also} from before ${result.before}`
    for (const problem of problems) log.error(`retention could not delete ${problem}`)
    const failed = problems.length === 0 ? '' : `; failed: ${problems.join('; ')}`
    audit.note('retention.purge', 'data:expired', `${text}${failed}`, problems.length === 0 ? 'done' : 'failed')
    return result
  }

  const run = (): Promise<PurgeResult> => {
    running ??= purge().finally(() => {
      running = undefined
    })
    return running
  }

  /** On the leader, once an hour, or soon again while more is left. */
  const tick = async (): Promise<void> => {
    leadership ??= services.cluster.lead(role)
    if (!leadership.leads || clock.monotonic() < dueAt) return
    if (!(await services.cluster.isCurrent(role, leadership.epoch))) return
    const { more } = await run()
    dueAt = clock.monotonic() + (more ? moreMs : everyMs)
  }

  ctx.routes(retentionRoutes((work) => ctx.manage({ action: 'retention.run', target: 'data:expired' }, work), run))
  ctx.onReady(() => {
    // A process that has just started runs for the role; whether it leads is known a minute later.
    leadership = services.cluster.lead(role)
    ctx.every(moreMs, tick)
  })
  ctx.onStop(async () => {
    await running?.catch(() => undefined)
    await leadership?.resign()
  })

  return {
    run,
    controls: () => retentionControls(audit, days, clock.now()),
  }
}

/** A run counts for so long, in ms. */
const freshMs = 2 * dayMs

async function retentionControls(audit: Pick<Audit, 'enabled' | 'entries'>, days: number, now: number): Promise<readonly Control[]> {
  const [last] = audit.enabled ? (await audit.entries({ action: 'retention.purge', limit: 1 })).entries : []
  const gaps = [
    ...(audit.enabled ? [] : ['Nothing tells whether it runs: set WORKER_AUDIT_LOG to true']),
    ...(audit.enabled && last === undefined ? ['It has not run yet; it does within two minutes of the start of the app'] : []),
    ...(last !== undefined && now - last.at > freshMs ? ['It has not run for two days: see the log of the app for its errors'] : []),
    ...(last?.outcome === 'failed' ? [`Its last run failed: ${last.reason}`] : []),
  ]
  return [
    {
      id: 'retention/purge',
      title: 'Job records, audit and history are deleted when they are no longer needed',
      state: gaps.length === 0 ? 'met' : 'gap',
      evidence: {
        WORKER_DATA_RETENTION: days,
        lastRun: last === undefined ? null : new Date(last.at).toISOString(),
        deleted: last?.reason ?? null,
      },
      gaps,
    },
  ]
}
