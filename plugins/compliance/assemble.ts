import { createAudit } from './audit/audit.js'
import type { Compliance } from './contract.js'
import { encryptionPart } from './encryption/encryption.js'
import { complianceErrors } from './errors.js'
import { createHipaa } from './hipaa/hipaa.js'
import { createMarks } from './migrations/0002-create-marks.js'
import { addSealChain } from './migrations/0004-add-seal-chain.js'
import { holdErasures } from './migrations/0005-hold-erasures.js'
import type { ComplianceContext, CompliancePart } from './part.js'
import { createAccessControls } from './report/own-controls.js'
import { makeReport } from './report/report.js'
import { createRetention } from './retention/retention.js'
import { databaseMarks } from './store/marks.js'
import { SubjectDigests } from './subjects/digest.js'
import { subjectsPart } from './subjects/subjects.js'

/** Creates the parts of the plugin, which are independent of each other; each lives in its own folder. */
export function assemble(ctx: ComplianceContext): Compliance {
  const marks = databaseMarks(ctx.services.database)
  const audit = createAudit(ctx, marks)
  ctx.migration(createMarks)
  const digests = new SubjectDigests(ctx.settings, marks)
  const parts: Readonly<Record<string, CompliancePart>> = {
    audit,
    encryption: encryptionPart(ctx, marks, () => digests.keep()),
    subjects: subjectsPart(ctx, { marks, audit, digests }),
    retention: createRetention(ctx, audit),
    hipaa: createHipaa(ctx, audit),
    access: createAccessControls(ctx),
  }
  ctx.migration(addSealChain)
  ctx.migration(holdErasures)
  const { environment, name } = ctx.host.app
  return {
    entries: audit.entries,
    verify: audit.verify,
    get audit() {
      return audit.status
    },
    report: async () => {
      if (!ctx.settings.WORKER_SOC2) throw complianceErrors.REPORT_OFF()
      return makeReport({ app: { name, environment }, now: ctx.clock.now(), parts })
    },
  }
}
