import { messageOf } from 'zin'
import type { Audit } from '../audit/audit.js'
import { createSubjects } from '../migrations/0003-create-subjects.js'
import type { ComplianceContext, CompliancePart, Control } from '../part.js'
import { databaseErasures } from '../store/erasures.js'
import type { Marks } from '../store/marks.js'
import { databaseIndex } from '../store/subject-index.js'
import { erasureReport } from './attention.js'
import { subjectCommands } from './cli.js'
import type { SubjectDigests } from './digest.js'
import { removeErased, sweepErased } from './erased-jobs.js'
import { SubjectJobs } from './find.js'
import { indexJobs, indexUpdates } from './index-jobs.js'
import { pruneIndex } from './prune.js'
import { subjectRoutes } from './routes.js'
import { erasureText, Subjects } from './service.js'
import { StoreCopies } from './store-copies.js'
import { StoredSubjects } from './stored.js'

const resumeMs = 15_000
const pruneMs = 3_600_000
const dayMs = 86_400_000

/** The part that exports and erases the data of subjects. */
export function subjectsPart(
  ctx: ComplianceContext,
  { audit, digests, marks }: { readonly marks: Marks; readonly audit: Pick<Audit, 'note'>; readonly digests: SubjectDigests },
): CompliancePart {
  const { clock, hooks, log, options, services, settings } = ctx
  const { cluster, database, ops, queues } = services
  const enabled = settings.WORKER_GDPR
  const declarations = options.subjects
  const index = databaseIndex(database)
  const erasures = databaseErasures(database)
  const stored = new StoredSubjects({ queues, declarations, digests })
  const copies = new StoreCopies(marks, queues)
  const jobs = new SubjectJobs({ queues, index, marks, copies, declarations, digests, stored, clock })
  const subjects = new Subjects({
    enabled,
    queues,
    jobs,
    copies,
    stored,
    index,
    erasures,
    digests,
    declarations,
    hooks: {
      nameSubject: hooks.slot('nameSubject'),
      exportSubject: hooks.slot('exportSubject'),
      eraseSubject: hooks.slot('eraseSubject'),
      forgetSubject: hooks.slot('forgetSubject'),
    },
    scrubDatabase: async () => {
      if (database.dialect !== 'sqlite') return
      const { sql } = await import('kysely')
      await sql`vacuum`.execute(database.tables())
      await sql`pragma wal_checkpoint(truncate)`.execute(database.tables())
    },
    manage: (action, work) => ctx.manage(action, work),
    onEnded: (erasure) => audit.note('erasure.end', `subject:${erasure.subject}`, erasureText(erasure), erasure.state),
    clock,
    log,
  })
  ctx.migration(createSubjects)
  hooks.on('beforeJobsAdd', indexJobs({ declarations, digests, index: enabled ? index : undefined, clock }))
  if (enabled) {
    hooks.on('collectAttention', (where) => (where === 'app' ? erasureReport(erasures, clock.now()) : { facts: [] }))
    hooks.on('afterJobsAdd', removeErased({ queues, stored, index, clock }))
    hooks.on('beforeJobUpdate', indexUpdates({ declarations, digests, index, clock }))
  }
  ctx.routes(subjectRoutes(subjects, ops))
  ctx.commands(subjectCommands)
  const keepKeys = async (): Promise<void> => {
    await digests.keep().catch((err: unknown) => log.warn({ err }, `the keys of digests were not kept: ${messageOf(err)}`))
  }
  ctx.onStart(async () => {
    // While the earlier keys are still configured.
    await keepKeys()
    ctx.every(resumeMs, keepKeys)
    const leadership = cluster.lead('compliance.subjects')
    ctx.onStop(() => leadership.resign())
    ctx.onStop(() => subjects.close())
    if (!enabled) {
      // Jobs added now are not indexed, so all queues have to be walked once the setting is true again.
      ctx.onReady(() => marks.deleteAll('subjects.indexed:'))
      return
    }
    ctx.every(resumeMs, () => (leadership.leads ? subjects.resume() : undefined))
    ctx.every(resumeMs, () => (leadership.leads ? sweepErased({ queues, stored, index, clock }) : undefined))
    ctx.every(pruneMs, () => (leadership.leads ? copies.keepUp() : undefined))
    ctx.every(pruneMs, () =>
      leadership.leads
        ? pruneIndex({ queues, index, now: clock.now(), before: clock.now() - settings.WORKER_DATA_RETENTION * dayMs })
        : undefined,
    )
  })
  return { controls: () => [control(enabled, Object.keys(declarations))] }
}

function control(enabled: boolean, queues: readonly string[]): Control {
  const gap = enabled && queues.length === 0
  return {
    id: 'subjects/rights',
    title: 'The data of a subject can be exported and erased',
    state: !enabled ? 'off' : gap ? 'gap' : 'met',
    evidence: { queues: queues.length },
    gaps: gap ? ['No queue declares which fields identify subjects: set the option subjects'] : [],
  }
}
