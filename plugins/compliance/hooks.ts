import type { Collect, HookSpecs } from 'zin'

/** Hooks that the compliance plugin fires. */
export interface ComplianceHooks {
  exportSubject: Collect<[subject: string], readonly SubjectRecord[]>
  eraseSubject: Collect<[subject: string], number>
}

/** What a plugin keeps about a subject beside its jobs. */
export interface SubjectRecord {
  /** What it is: `webhook delivery`. */
  readonly kind: string
  readonly id: string
  /** JSON. */
  readonly data: unknown
}

export const complianceHooks = {
  exportSubject: {
    kind: 'collect',
    args: ['subject'],
    summary: 'A subject is exported: return what your plugin keeps about it beside its jobs, such as bodies of webhooks',
  },
  eraseSubject: {
    kind: 'collect',
    args: ['subject'],
    summary: 'A subject is erased: erase what your plugin keeps about it beside its jobs, and return how many records it was',
  },
} satisfies HookSpecs<ComplianceHooks>

declare module 'zin' {
  interface HookMap extends ComplianceHooks {}
}
