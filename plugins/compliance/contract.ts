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

/** What this process knows of its writing. */
export interface AuditStatus {
  /** False: WORKER_AUDIT_LOG is false. */
  readonly enabled: boolean
  /** Since when the log cannot be written, ISO 8601; null: it can. */
  readonly downSince: string | null
  /** Entries that wait to be written. */
  readonly waiting: number
  /** Entries that this process has written, did not keep, and refused to the callers of actions. */
  readonly written: number
  readonly unkept: number
  readonly refused: number
  /** Number of the chain that this process writes; null before its first entry. */
  readonly chain: number | null
  /** How far a verification is that runs in this process: entries it has read, of so many when it began; null: none runs. */
  readonly verifying: { readonly entries: number; readonly of: number } | null
}

export interface AuditListOptions extends EntryQuery {
  /** From 1. Default 1. */
  readonly page?: number
  /** 1–500. Default 100. */
  readonly limit?: number
}

/**
 * The audit log, and the report of controls. Entries come from hooks: `ctx.manage` records what a plugin does for somebody.
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
  /** Newest first, with what this process has just recorded. 400 INVALID_AUDIT_QUERY. */
  entries(options?: AuditListOptions): Promise<AuditPage>
  /** Reads the whole log and compares it with its hashes and seals; one run at a time in a process. What it found becomes an entry. */
  verify(): Promise<AuditReport>
  readonly audit: AuditStatus
  /** Controls, evidence and gaps, read from the app. 409 REPORT_OFF. */
  report(): Promise<ComplianceReport>
}

export const complianceService = defineService<Compliance>('compliance')
