/** An entry of the audit log as the API returns it. */
export interface Entry {
  readonly id: number
  /** ISO 8601. */
  readonly at: string
  readonly action: string
  readonly target: string
  readonly outcome: string
  readonly actor: string
  readonly device: string | null
  readonly via: string
  readonly before: string | null
  readonly after: string | null
  readonly reason: string | null
  readonly address: string | null
  readonly requestId: string | null
  readonly ref: number | null
  readonly hash: string
}

export interface EntryPage {
  readonly entries: readonly Entry[]
  readonly pagination: { readonly page: number; readonly limit: number; readonly total: number; readonly totalPages: number }
}

export interface AuditState {
  readonly enabled: boolean
  readonly downSince: string | null
  readonly waiting: number
  readonly unkept: number
  readonly verifying: { readonly entries: number; readonly of: number } | null
}

export interface FoundJob {
  readonly queue: string
  readonly id: string
  readonly name: string
  readonly state: string
  readonly createdAt: string
}

/** The data stored about a subject. */
export interface Found {
  readonly subject: string
  readonly jobs: readonly FoundJob[]
  readonly records: readonly { readonly plugin: string; readonly kind: string; readonly id: string }[]
  readonly complete: boolean
  readonly problems: readonly string[]
}

export interface Erasure {
  readonly id: string
  readonly state: 'running' | 'waiting' | 'completed' | 'failed'
  readonly erased: number
  readonly pending: number
  /** What it waits for, and what can be done. */
  readonly advice: string | null
  readonly elsewhere: number
  readonly error: string | null
  readonly requestedAt: string
}
