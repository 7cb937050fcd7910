import { messageOf } from 'zin'
import type { Leadership } from 'zin/plugins/cluster'
import type { Audit } from '../audit/audit.js'
import { keysFor } from '../keys.js'
import type { ComplianceContext, CompliancePart, Control } from '../part.js'
import { keptText, purgeAudit } from './purge-audit.js'
import { purgeJobs } from './purge-jobs.js'
import { retentionRoutes } from './routes.js'

/** The result of a purge. */
export interface PurgeResult {
  /** Data older than this was deleted, ISO 8601. */
  readonly before: string
  readonly jobs: number
  readonly entries: number
  /** Plugin history from which old data was deleted, as `<plugin>.<data>`. */
  readonly history: readonly string[]
  /** Whether more is left for the next run. */
  readonly more: boolean
  /** Failed parts, one sentence each. */
  readonly problems: readonly string[]
}

export interface Retention extends CompliancePart {
  /** Purges immediately, on any node, in steps of at most 1,000 rows. */
  run(): Promise<PurgeResult>
}

const dayMs = 86_400_000
/** Interval at which the leader purges, and the shorter one while more is left, in ms. */
const everyMs = 3_600_000
const moreMs = 60_000
/** Maximum number of deletions per run and kind of data. */
const steps = 100
const role = 'compliance.retention'

/** The part for WORKER_DATA_RETENTION: the leader deletes older data. */
export function createRetention(
  ctx: ComplianceContext,
  audit: Pick<Audit, 'entries' | 'note' | 'store' | 'enabled' | 'places' | 'sealAgain'>,
): Retention {
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
    // BullMQ computes the age of jobs from the system clock.
    const ageMs = Math.max(0, Date.now() - before)
    const [jobs, old, isLeft, trail] = await Promise.all([
      attempt('jobs', () => purgeJobs({ queues: services.queues, ageMs, steps }), { jobs: 0, more: false, problems: [] }),
      purgeData.call(before),
      attempt('seals of the audit log', async () => audit.sealAgain(await alive()), false),
      attempt(
        'audit',
        async () => purgeAudit({ store: audit.store, keys, place: audit.places.second, before, alive: await alive(), steps }),
        {
          entries: 0,
          kept: 0,
          more: false,
        },
      ),
    ])
    problems.push(...jobs.problems, ...(trail.kept === 0 ? [] : [`audit: ${keptText(trail.kept)}`]))
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
      more: jobs.more || trail.more || isLeft,
      problems,
    }
    const also = history.length === 0 ? '' : `, and history (${history.join(', ')})`
    const text = `${result.jobs} jobs, ${result.entries} audit entries${also} from before ${result.before}`
    for (const problem of problems) log.error(`retention failed: ${problem}`)
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

  /** Purges on the leader once an hour, or after a minute while more is left. */
  const tick = async (): Promise<void> => {
    leadership ??= services.cluster.lead(role)
    if (!leadership.leads || clock.monotonic() < dueAt) return
    if (!(await services.cluster.isCurrent(role, leadership.epoch))) return
    const { more } = await run()
    dueAt = clock.monotonic() + (more ? moreMs : everyMs)
  }

  ctx.routes(retentionRoutes((work) => ctx.manage({ action: 'retention.run', target: 'data:expired' }, work), run))
  ctx.onReady(() => {
    // Leadership is contested at startup; whether this node leads is known by the first tick.
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

/** How long a run counts as recent, in ms. */
const freshMs = 2 * dayMs

async function retentionControls(audit: Pick<Audit, 'enabled' | 'entries'>, days: number, now: number): Promise<readonly Control[]> {
  const [last] = audit.enabled ? (await audit.entries({ action: 'retention.purge', limit: 1 })).entries : []
  const gaps = [
    ...(audit.enabled ? [] : ['There is no record of whether it runs: set WORKER_AUDIT_LOG to true']),
    ...(audit.enabled && last === undefined ? ['It has not run yet; it runs within two minutes after the app starts'] : []),
    ...(last !== undefined && now - last.at > freshMs ? ['It has not run for two days: check the app log for errors'] : []),
    ...(last?.outcome === 'failed' ? [`Its last run failed: ${last.reason}`] : []),
  ]
  return [
    {
      id: 'retention/purge',
      title: 'Job records, audit entries and history are deleted after the retention period',
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
