/** The choice of an operator, if any. */
export type OperatorChoice = 'started' | 'stopped' | undefined

export interface StartConditions {
  /** WORKER_RESOURCE_MONITORING of this process. */
  readonly enabled: boolean
  readonly operator: OperatorChoice
  /** Whether any worker has `features.resourceMonitoring`. */
  readonly wanted: boolean
}

export interface StartDecision {
  readonly run: boolean
  readonly reason: string
}

/** Decides whether this process monitors. The setting takes precedence over an operator's choice, which takes precedence over features. */
export function shouldRun({ enabled, operator, wanted }: StartConditions): StartDecision {
  if (!enabled) return { run: false, reason: 'WORKER_RESOURCE_MONITORING is false in this process' }
  if (operator === 'stopped') return { run: false, reason: 'It was stopped by an operator' }
  if (operator === 'started') return { run: true, reason: 'It was started by an operator' }
  if (wanted) return { run: true, reason: 'A worker has features.resourceMonitoring' }
  return { run: false, reason: 'No worker has features.resourceMonitoring' }
}
