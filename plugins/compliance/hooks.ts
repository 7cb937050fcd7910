import type { Collect, HookSpecs } from 'zin'

/** Hooks that the compliance plugin fires. */
export interface ComplianceHooks {
  nameSubject: Collect<[subject: string], readonly string[]>
  exportSubject: Collect<[subject: string], readonly SubjectRecord[]>
  eraseSubject: Collect<[subject: string], number>
  forgetSubject: Collect<[subject: string], number>
}

/** A record that a plugin stores about a subject outside of jobs. */
export interface SubjectRecord {
  /** Type of the record, such as `webhook delivery`. */
  readonly kind: string
  readonly id: string
  /** JSON. */
  readonly data: unknown
}

/** A listener may have many records to read or to erase. */
const timeoutMs = 60_000

export const complianceHooks = {
  nameSubject: {
    kind: 'collect',
    args: ['subject'],
    summary:
      'A subject is exported or erased: return its other names, such as the id of the account with this email address. The other hooks are also fired with each of them, this one, too',
  },
  exportSubject: {
    kind: 'collect',
    args: ['subject'],
    timeoutMs,
    summary: 'A subject is exported: return the records that your plugin stores about it outside of jobs, such as webhook bodies',
  },
  eraseSubject: {
    kind: 'collect',
    args: ['subject'],
    timeoutMs,
    summary:
      'A subject is erased: erase the records that your plugin stores about it outside of jobs, except for what `nameSubject` reads, and return their number. Fired again if the erasure is repeated',
  },
  forgetSubject: {
    kind: 'collect',
    args: ['subject'],
    timeoutMs,
    summary:
      'All plugins have erased their part of a subject, under all of its names: erase what `nameSubject` reads, and return the number of records. Not fired while one of them fails, so that a repeated erasure finds the names again',
  },
} satisfies HookSpecs<ComplianceHooks>

declare module 'zin' {
  interface HookMap extends ComplianceHooks {}
}
