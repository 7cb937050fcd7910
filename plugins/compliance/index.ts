import { definePlugin } from 'zin'
import { assemble } from './assemble.js'
import { auditKinds } from './audit/attention.js'
import { complianceService } from './contract.js'
import { encryptionErrors } from './encryption/errors.js'
import { complianceErrors } from './errors.js'
import { compliance as complianceFeature } from './feature.js'
import { complianceHooks } from './hooks.js'
import { complianceOptions } from './options.js'
import { reportCommands } from './report/cli.js'
import { reportRoutes } from './report/routes.js'
import { complianceSettings } from './settings.js'
import { erasureKinds } from './subjects/attention.js'
import { subjectErrors } from './subjects/errors.js'
import { complianceUses } from './uses.js'

export type { AuditEntry, AuditFacts } from './audit/entry.js'
export type { AuditFault } from './audit/faults.js'
export type { EntryQuery } from './audit/store/contract.js'
export type { AuditReport } from './audit/verify.js'
export type { AuditListOptions, AuditPage, AuditPlace, AuditStatus, Compliance } from './contract.js'
export { complianceService } from './contract.js'
export type { ComplianceHooks, SubjectRecord } from './hooks.js'
export type { ComplianceOptions } from './options.js'
export type { Control } from './part.js'
export type { ComplianceReport } from './report/report.js'

/** Audit log, encryption, retention and the rights of data subjects. */
export const compliance = definePlugin({
  name: 'compliance',
  version: '1.0.0',
  description: 'Audit log, encryption at rest, retention, rights of data subjects, and a report of controls',
  dependencies: ['ops'],
  uses: complianceUses,
  // The workers stop first, so that their last jobs are still recorded and encrypted.
  before: ['workers'],
  provides: [complianceService],
  attention: { ...auditKinds, ...erasureKinds },
  errors: { ...complianceErrors, ...encryptionErrors, ...subjectErrors },
  hooks: complianceHooks,
  settings: complianceSettings,
  options: complianceOptions,
  setup(ctx) {
    const { services, settings } = ctx
    const service = assemble(ctx)
    ctx.provide(complianceService, service)
    ctx.describe(() => (settings.WORKER_AUDIT_LOG ? 'audit' : undefined))
    ctx.routes(reportRoutes(service.report))
    ctx.commands(reportCommands)
    ctx.onReady(() => {
      const { workers } = services
      if (workers?.enabled === true) ctx.onStop(workers.offerFeature(complianceFeature))
    })
  },
})
