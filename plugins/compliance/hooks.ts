import type { Collect, HookSpecs } from 'zin'

/** Hooks that the compliance plugin fires. */
export interface ComplianceHooks {
  exportSubject: Collect<[subject: string], readonly SubjectRecord[]>
  eraseSubject: Collect<[subject: string], number>
}

/** A record that a plugin stores about a subject outside of jobs. */
export interface SubjectRecord {
  /** Type of the record, such as `webhook delivery`. */
  readonly kind: string
  readonly id: string
  /** JSON. */
  readonly data: unknown
}

export const complianceHooks = {
  exportSubject: {
    kind: 'collect',
    args: ['subject'],
    summary: 'A subject is exported: return the records that your plugin stores about it outside of jobs, such as webhook bodies',
  },
  eraseSubject: {
    kind: 'collect',
    args: ['subject'],
    summary: 'A subject is erased: erase the records that your plugin stores about it outside of jobs, and return their number',
  },
} satisfies HookSpecs<ComplianceHooks>

declare module 'zin' {
  interface HookMap extends ComplianceHooks {}
}
