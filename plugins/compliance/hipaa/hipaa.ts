import { deny, noteAccess } from 'zin'
import type { Audit } from '../audit/audit.js'
import { complianceErrors } from '../errors.js'
import type { ComplianceContext, CompliancePart } from '../part.js'

/** Returns the requirements of WORKER_HIPAA that are not met. Pure. */
export function hipaaGaps(settings: {
  readonly APP_KEY: string
  readonly WORKER_AUDIT_LOG: boolean
  readonly WORKER_ENCRYPTION: boolean
}): readonly string[] {
  return [
    ...(settings.WORKER_ENCRYPTION ? [] : ['encryption (WORKER_ENCRYPTION is false)']),
    ...(settings.WORKER_AUDIT_LOG ? [] : ['an audit log (WORKER_AUDIT_LOG is false)']),
    ...(settings.APP_KEY === '' ? ['a key for the audit log (APP_KEY is not set)'] : []),
  ]
}

/** The part for WORKER_HIPAA: requires encryption and audit, hides payloads without an explicit permission, and limits event streams. */
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
          return deny('WORKER_HIPAA hides payloads from callers without an explicit payload:read permission', { status: 403 })
        },
      })
    })
  }
  return {
    controls: () => [
      {
        id: 'hipaa/safeguards',
        title: 'Health data is encrypted, audited, and shown only to callers with an explicit permission',
        state: on ? 'met' : 'off',
        evidence: {
          WORKER_HIPAA: on,
          WORKER_ENCRYPTION: settings.WORKER_ENCRYPTION,
          WORKER_AUDIT_LOG: settings.WORKER_AUDIT_LOG,
          streamMinutes: on ? options.hipaaStreamMinutes : null,
        },
        gaps: on ? [] : ['The safeguards are not enforced: set WORKER_HIPAA to true if the app handles health data'],
      },
    ],
  }
}
