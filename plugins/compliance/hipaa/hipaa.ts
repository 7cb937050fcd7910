import { deny, noteAccess } from 'zin'
import type { Audit } from '../audit/audit.js'
import { complianceErrors } from '../errors.js'
import type { ComplianceContext, CompliancePart } from '../part.js'

/** Ways in which an app with WORKER_HIPAA lacks what it must have. Pure. */
export function hipaaGaps(settings: {
  readonly APP_KEY: string
  readonly WORKER_AUDIT_LOG: boolean
  readonly WORKER_ENCRYPTION: boolean
}): readonly string[] {
  return [
    ...(settings.WORKER_ENCRYPTION ? [] : ['encryption (WORKER_ENCRYPTION is false)']),
    ...(settings.WORKER_AUDIT_LOG ? [] : ['an audit log (WORKER_AUDIT_LOG is false)']),
    ...(settings.APP_KEY === '' ? ['a key of the audit log (APP_KEY is not set)'] : []),
  ]
}

/** WORKER_HIPAA: no start without encryption and audit, payloads only by a permission that was granted by name, and short event streams. */
export function createHipaa(ctx: ComplianceContext, audit: Pick<Audit, 'noteRefusedView'>): CompliancePart {
  const { hooks, host, options, settings } = ctx
  const { WORKER_HIPAA: on } = settings
  const streamMs = options.hipaaStreamMinutes * 60_000
  if (on) {
    ctx.onCheck(() => {
      const missing = hipaaGaps(settings)
      if (missing.length > 0) throw complianceErrors.HIPAA_REFUSED(missing.join(' and '))
    })
    ctx.use((request, next) => {
      const endsAt = ctx.clock.monotonic() + streamMs
      noteAccess(request, () => ({ lastsMs: Math.max(0, endsAt - ctx.clock.monotonic()), holds: async () => true }))
      return next()
    })
    ctx.onStart(() => {
      if (!host.hooks().some(({ name }) => name === 'beforePayloadView')) return
      hooks.on('beforePayloadView', {
        order: 'pre',
        handler: (view) => {
          if (view.granted) return
          audit.noteRefusedView(view, 'WORKER_HIPAA')
          return deny('WORKER_HIPAA hides payloads from callers who were not granted payload:read by name', { status: 403 })
        },
      })
    })
  }
  return {
    controls: () => [
      {
        id: 'hipaa/safeguards',
        title: 'Health data are encrypted, audited and shown only to those who were granted it',
        state: on ? 'met' : 'off',
        evidence: {
          WORKER_HIPAA: on,
          WORKER_ENCRYPTION: settings.WORKER_ENCRYPTION,
          WORKER_AUDIT_LOG: settings.WORKER_AUDIT_LOG,
          streamMinutes: on ? options.hipaaStreamMinutes : null,
        },
        gaps: on ? [] : ['The safeguards are not enforced: set WORKER_HIPAA to true where the app handles health data'],
      },
    ],
  }
}
