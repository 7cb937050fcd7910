export type StopOutcome = 'ok' | 'slow' | 'failed' | 'hung'

/** How one plugin stopped. */
export interface StopRow {
  readonly plugin: string
  readonly outcome: StopOutcome
  readonly ms: number
  readonly error?: string
}
