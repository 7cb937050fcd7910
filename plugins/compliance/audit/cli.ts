import { type Command, defineCommand, messageOf } from 'zin'
import type { Database } from 'zin/plugins/database'
import { complianceErrors } from '../errors.js'
import type { KeyRing } from '../keys.js'
import type { RetentionNow } from './age.js'
import type { AnchorLog } from './anchor/read.js'
import { registerChain } from './chain.js'
import type { Places } from './places/places.js'
import type { AuditStore } from './store/contract.js'
import { type AuditReport, foundText, verifyAudit } from './verify.js'

export interface AuditCommandParts {
  readonly store: AuditStore
  readonly keys: KeyRing
  readonly places: Pick<Places, 'witnesses'>
  readonly retention: () => RetentionNow
  readonly database: Pick<Database, 'checkExists' | 'connect'>
  /** Whether the app has the plugin kv. */
  readonly hasKv: boolean
}

interface Pagination {
  readonly total: number
  readonly totalPages: number
}

interface ListedEntry {
  readonly id: number
  readonly at: string
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly outcome: string
  readonly reason: string | null
}

/** Matches the messages of SQLite, MySQL and MariaDB. */
function isTableMissing(error: unknown): boolean {
  return /no such table|doesn't exist/i.test(messageOf(error))
}

function intactLines(report: AuditReport): readonly string[] {
  const { earlierSeals, open, purged, unconfirmed } = report
  return [
    foundText(report),
    ...(purged > 0 ? [`${purged} older entries were deleted by retention`] : []),
    ...(unconfirmed > 0 ? [`Entries at the ends of chains that nothing outside the tables confirms: ${unconfirmed}`] : []),
    ...(earlierSeals > 0 ? [`Chains that are not yet sealed with the current key: ${earlierSeals}`] : []),
    ...(open > 0 ? [`Chains whose process is still running or was killed: ${open}`] : []),
  ]
}

function faultLines({ fault, faultCount, faults }: AuditReport): readonly string[] {
  const named = faults.slice(1).map(({ problem }) => `  ${problem}`)
  const left = faultCount - faults.length
  return [`not intact: ${fault?.problem}`, ...named, ...(left > 0 ? [`  and ${left} more`] : []), `Faults in all: ${faultCount}`]
}

function anchorCounts(anchor: AnchorLog | undefined) {
  return anchor === undefined ? null : anchor.counts
}

function anchorLines(anchor: AnchorLog | undefined): readonly string[] {
  if (anchor === undefined) return []
  const { counts, name } = anchor
  const { lines, unreadable } = counts
  return [`Compared with ${name}: ${lines} seals${unreadable > 0 ? `, and ${unreadable} lines that are not readable` : ''}`]
}

/** `audit:list` queries the running app; `audit:verify` reads the tables directly, whether or not the app is running. */
export function auditCommands({ database, hasKv, keys, places, retention, store }: AuditCommandParts): readonly Command[] {
  return [
    defineCommand({
      name: 'audit:list',
      summary: 'List audit entries (who did what), newest first',
      needs: 'running app',
      route: 'GET /api/compliance/audit',
      json: true,
      options: {
        limit: { type: 'int', default: 20, min: 1, max: 500, summary: 'Number of entries' },
        page: { type: 'int', default: 1, min: 1, summary: 'Page, from 1' },
        action: { type: 'string', summary: 'Only this action, such as worker.stop' },
        target: { type: 'string', summary: 'Only this target, such as worker:email-sender' },
        actor: { type: 'string', summary: 'Only this actor, such as user:42' },
        outcome: { type: 'string', summary: 'Only this outcome: asked, done, failed, completed, …' },
        since: { type: 'string', summary: 'Only at or after this time: ISO 8601 or ms since 1970' },
        until: { type: 'string', summary: 'Only before this time: ISO 8601 or ms since 1970' },
      },
      run: async ({ app, options, print }) => {
        const { limit, page, action, target, actor, outcome, since, until } = options
        const { entries, pagination } = await app.request<{ entries: readonly ListedEntry[]; pagination: Pagination }>({
          method: 'GET',
          path: '/api/compliance/audit',
          query: { limit, page, action, target, actor, outcome, since, until },
        })
        if (entries.length === 0 && !print.json) return print.line('No entries of the audit log match')
        print.table(entries, print.json ? undefined : ['id', 'at', 'actor', 'action', 'target', 'outcome', 'reason'])
        const { total, totalPages } = pagination
        if (totalPages > page && !print.json) print.line(`page ${page} of ${totalPages}, ${total} entries: use --page and --limit`)
      },
    }),
    defineCommand({
      name: 'audit:verify',
      summary: 'Verify the whole audit log against its hashes, its seals, kv and the anchor file; exit code 1 if anything was changed',
      needs: 'services',
      starts: hasKv ? ['database', 'kv'] : ['database'],
      // Verification must create neither a database nor tables if there are none.
      check: async () => {
        await database.checkExists()
        await database.connect()
        await store.chain(registerChain).catch((error: unknown) => {
          throw isTableMissing(error) ? complianceErrors.AUDIT_MISSING(error as Error) : error
        })
      },
      options: {
        anchor: { type: 'string', summary: 'Anchor file to compare with; default: WORKER_AUDIT_ANCHOR_FILE' },
      },
      json: true,
      run: async ({ options, print, signal }) => {
        const { all, anchor } = await places.witnesses(options.anchor, signal)
        const report = await print.waiting('the audit log', verifyAudit({ store, keys, witnesses: all, retention: retention(), signal }))
        const lines = [...(report.intact ? intactLines(report) : faultLines(report)), ...anchorLines(anchor)]
        if (print.json) print.record({ ...report, fault: report.fault ?? null, anchor: anchorCounts(anchor) })
        else for (const line of lines) print.line(line)
        return report.intact ? 0 : 1
      },
    }),
  ]
}
