import { messageOf, withDeadline } from 'zin'
import type { PayloadView } from 'zin/plugins/queues'
import type { AuditListOptions, AuditPage, AuditStatus } from '../contract.js'
import { complianceErrors } from '../errors.js'
import { keysFor } from '../keys.js'
import { createAudit as createAuditTables } from '../migrations/0001-create-audit.js'
import type { ComplianceContext, CompliancePart } from '../part.js'
import type { Marks } from '../store/marks.js'
import type { RetentionNow } from './age.js'
import { auditMetrics, placeMetrics, raiseAlarm } from './alarm.js'
import { auditFacts } from './attention.js'
import { auditCommands } from './cli.js'
import { auditControls } from './controls.js'
import { OptOuts } from './opt-outs.js'
import { Origins } from './origin.js'
import { createPlaces, type Places } from './places/places.js'
import { checkQuery } from './query.js'
import { Recorder } from './recorder.js'
import { Recording } from './recording.js'
import { auditRoutes } from './routes.js'
import { lostText, sealAgain, sealedText } from './seal-again.js'
import type { AuditStore } from './store/contract.js'
import { databaseStore } from './store/db.js'
import { type AuditReport, foundText, verifyAudit } from './verify.js'
import { AuditWriter } from './writer.js'

/** The audit log, as used by other parts of the plugin. */
export interface Audit extends CompliancePart {
  readonly enabled: boolean
  readonly store: AuditStore
  readonly places: Pick<Places, 'second'>
  readonly status: AuditStatus
  entries(options?: AuditListOptions): Promise<AuditPage>
  verify(): Promise<AuditReport>
  /**
   * Seals the chains of ended processes with the current key, and brings kv up to date; returns whether more is left. Does nothing while the
   * log is off. @param alive live nodes.
   */
  sealAgain(alive: ReadonlySet<string>): Promise<boolean>
  /** Records an action of the plugin itself, in the background. */
  note(action: string, target: string, reason: string, outcome?: string): void
  /** Records that the plugin refused a payload view. */
  noteRefusedView(view: PayloadView, reason: string): void
}

/** Maximum time that a start waits for its entry to be written, in ms. */
const startMs = 5_000
/** Maximum time for reading the log, in ms. */
const readMs = 5_000
/** How often a log that cannot be written is checked, in ms. */
const checkMs = 10_000
/** Maximum number of chains to seal again at a time. */
const sealSteps = 1_000

/** Creates the audit log, which is filled from hooks. While WORKER_AUDIT_LOG is false, it only reads existing entries. */
export function createAudit(ctx: ComplianceContext, marks: Marks): Audit {
  const { clock, hooks, host, log, options, services, settings } = ctx
  const enabled = settings.WORKER_AUDIT_LOG
  const keys = keysFor('audit', settings)
  ctx.migration(createAuditTables)
  const store = databaseStore(services.database)
  const retention = (): RetentionNow => ({ now: clock.now(), days: settings.WORKER_DATA_RETENTION })
  const places = createPlaces(ctx)
  const writer = new AuditWriter({
    store,
    keys,
    node: services.cluster.node.id,
    clock,
    log,
    backlog: options.auditBacklog,
    onState: (state) => raiseAlarm(services.decisions, services.cluster.node.id, state),
    onSeal: places.put,
  })
  const origins = new Origins()
  const optOuts = new OptOuts(() => services.workers)
  const recorder = new Recorder({
    writer,
    ops: services.ops,
    origins,
    digestKey: keys.current.key,
    clock,
    inTransaction: () => services.database.inOwnTransaction(),
    records: (worker) => !optOuts.has(worker),
  })
  const recording = new Recording({ store, marks, recorder, node: services.cluster.node.id, clock })
  let verifying: Promise<AuditReport> | undefined
  let progress: AuditStatus['verifying'] = null

  /** Reads after flushing the buffered entries of this process. */
  const written = <T>(read: () => Promise<T>): Promise<T> =>
    withDeadline(writer.flush().then(read), readMs, `the audit log was not read within ${readMs} ms`)

  const verify = async (): Promise<AuditReport> => {
    const { of, witnesses } = await written(async () => {
      await places.flush()
      await places.second?.chains()
      return { of: await store.count({}), witnesses: await places.witnesses() }
    })
    progress = { entries: 0, of }
    const onProgress = (entries: number): void => {
      progress = { entries, of: Math.max(of, entries) }
    }
    const report = await verifyAudit({ store, keys, witnesses: witnesses.all, retention: retention(), onProgress })
    const found = foundText(report)
    const target = report.fault === undefined ? 'audit:log' : `audit:${report.fault.id}`
    if (enabled) recorder.note('audit.verify', target, found, report.intact ? 'intact' : 'broken')
    if (report.fault !== undefined) log.error({ entry: report.fault.id }, `verification of the audit log failed: ${found}`)
    return report
  }

  const audit: Audit = {
    enabled,
    store,
    places,
    get status() {
      const { downSince, waiting } = writer.state
      return {
        enabled,
        downSince: downSince === undefined ? null : new Date(downSince).toISOString(),
        waiting,
        ...writer.totals,
        chain: writer.chain?.chain ?? null,
        verifying: progress,
        places: places.states.map(({ failingSince, place, saved }) => ({
          place,
          failingSince: failingSince === undefined ? null : new Date(failingSince).toISOString(),
          saved,
        })),
      }
    },
    async entries(given = {}) {
      const { limit, page, ...query } = checkQuery(given)
      return written(async () => {
        const [entries, total] = await Promise.all([store.list(query, { offset: (page - 1) * limit, limit }), store.count(query)])
        return { entries, pagination: { page, limit, total, totalPages: Math.ceil(total / limit) } }
      })
    },
    verify: () => {
      verifying ??= verify().finally(() => {
        verifying = undefined
        progress = null
      })
      return verifying
    },
    async sealAgain(alive) {
      if (!enabled) return false
      const input = { store, keys, place: places.second, alive, now: clock.now(), steps: sealSteps }
      const { lost, more, sealed } = await sealAgain(input)
      if (sealed > 0) recorder.note('audit.seal', 'audit:log', sealedText(sealed), 'done')
      if (lost > 0) recorder.note('audit.seal', 'audit:log', lostText(lost), 'lost')
      return more
    },
    note: (action, target, reason, outcome) => {
      if (enabled) recorder.note(action, target, reason, outcome)
    },
    noteRefusedView: (view, reason) => {
      if (enabled) recorder.payloadViewRefused(view, reason)
    },
    controls: () => auditControls({ audit, recording, kv: services.kv?.driver ?? null, keyed: settings.APP_KEY !== '', now: clock.now() }),
  }

  ctx.routes(auditRoutes(audit))
  ctx.commands(
    auditCommands({
      store,
      keys,
      places,
      retention,
      database: services.database,
      hasKv: services.kv !== undefined,
    }),
  )
  if (!enabled) {
    ctx.onStart(() =>
      withDeadline(recording.startedWithout(), startMs, `no response within ${startMs} ms`).catch((error: unknown) =>
        log.error(
          { err: error },
          `the start without WORKER_AUDIT_LOG could not be noted, so the next start with it will not report the gap: ${messageOf(error)}`,
        ),
      ),
    )
    return audit
  }
  ctx.onCheck(() => {
    if (host.app.production && settings.APP_KEY === '') throw complianceErrors.COMPLIANCE_KEY_MISSING('WORKER_AUDIT_LOG')
  })
  ctx.use(origins.middleware)
  hooks.on('beforeManagementAction', recorder.beforeAction)
  hooks.on('onManagementAction', recorder.afterAction)
  hooks.on('collectAttention', async (where) => {
    if (where === 'app') await writer.check()
    return { facts: auditFacts(writer.state, places.states) }
  })
  ctx.onReady(() => {
    ctx.every(checkMs, () => (writer.state.downSince === undefined ? undefined : writer.check()))
  })
  hooks.on('collectMetrics', () => [...auditMetrics(writer.state, writer.totals), ...placeMetrics(places.states)])
  ctx.onStart(async () => {
    if (settings.APP_KEY === '') log.warn('APP_KEY is not set: anyone who can write the tables of the audit log can change it undetected')
    const declared = new Set(host.hooks().map(({ name }) => name))
    if (declared.has('onWorkerChange')) {
      hooks.on('beforeWorkerChange', recorder.beforeWorkerChange)
      hooks.on('onWorkerChange', (change) => {
        if (change.action === 'update' && change.after !== null) optOuts.set(change.worker, change.after.record.features)
        recorder.afterWorkerChange(change)
      })
      hooks.on('onWorkerChangeFailed', recorder.workerChangeFailed)
      hooks.on('beforeWorkerStart', async (worker) => void (await optOuts.read(worker)))
      hooks.on('onAttemptEnd', recorder.attemptEnded)
    }
    if (declared.has('onMonitorAction')) hooks.on('onMonitorAction', recorder.afterMonitorAction)
    if (declared.has('beforePayloadView')) hooks.on('beforePayloadView', recorder.beforePayloadView)
    ctx.onStop(async () => {
      await writer.close()
      await places.close()
    })
    await withDeadline(recording.started(), startMs, `no response within ${startMs} ms`).catch((error: unknown) =>
      log.error({ err: error }, `the start of this process could not be recorded in the audit log: ${messageOf(error)}`),
    )
  })
  return audit
}
