import { defineService } from 'zin'
import type { AuditEntry } from './audit/entry.js'
import type { EntryQuery } from './audit/store/contract.js'
import type { AuditReport } from './audit/verify.js'
import type { ComplianceReport } from './report/report.js'

/** Entries of the audit log, newest first. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  readonly pagination: { readonly page: number; readonly limit: number; readonly total: number; readonly totalPages: number }
}

/** Status of the audit log writer of this process. */
export interface AuditStatus {
  /** Whether WORKER_AUDIT_LOG is true. */
  readonly enabled: boolean
  /** Since when the log has not been writable, ISO 8601; null if it is writable. */
  readonly downSince: string | null
  /** Buffered entries. */
  readonly waiting: number
  /** Totals of this process: entries written, entries lost, and actions refused because their entry could not be written. */
  readonly written: number
  readonly unkept: number
  readonly refused: number
  /** Number of the chain that this process writes; null before its first entry. */
  readonly chain: number | null
  /** Progress of the verification running in this process: entries read, of the total when it began; null if none is running. */
  readonly verifying: { readonly entries: number; readonly of: number } | null
  /** Places outside the tables that get the seals of this process: kv, and the anchors that are configured. */
  readonly places: readonly AuditPlace[]
}

/** A place outside the tables of the log that gets its seals. */
export interface AuditPlace {
  /** `kv`, `the anchor file /var/…`, `the anchor URL`. */
  readonly place: string
  /** Since when it cannot be written, ISO 8601; null if it can. No entry is lost meanwhile. */
  readonly failingSince: string | null
  /** Seals that this process has written to it. */
  readonly saved: number
}

export interface AuditListOptions extends EntryQuery {
  /** From 1. Default 1. */
  readonly page?: number
  /** 1–500. Default 100. */
  readonly limit?: number
}

/**
 * The audit log and the report of controls. Entries are created from hooks; `ctx.manage` records actions that a plugin performs for a caller.
 *
 * @example
 * import { definePlugin } from 'zin'
 * import { complianceService } from 'zin/plugins/compliance'
 *
 * export const nightly = definePlugin({
 *   name: 'nightly-audit',
 *   version: '1.0.0',
 *   uses: { compliance: complianceService },
 *   setup: ({ every, log, services }) =>
 *     void every(86_400_000, async () => {
 *       const { fault } = await services.compliance.verify()
 *       if (fault !== undefined) log.error(`the audit log was changed: entry ${fault.id}: ${fault.problem}`)
 *     }),
 * })
 */
export interface Compliance {
  /** Returns entries, newest first, including those that this process has just recorded. 400 INVALID_AUDIT_QUERY. */
  entries(options?: AuditListOptions): Promise<AuditPage>
  /**
   * Verifies the whole log against its hashes and seals, and against the seals in kv and in the anchor file; one run at a time per process.
   * The result is recorded as an entry. 503 AUDIT_ANCHOR_UNREADABLE, KV_UNAVAILABLE.
   */
  verify(): Promise<AuditReport>
  readonly audit: AuditStatus
  /** Returns controls, evidence and gaps, read from the app. 409 REPORT_OFF. */
  report(): Promise<ComplianceReport>
}

export const complianceService = defineService<Compliance>('compliance')
