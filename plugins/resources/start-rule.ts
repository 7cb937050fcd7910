/** What an operator has asked for; undefined: nothing. */
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

/** Whether this process measures. An operator's choice counts more than the features of workers, and the setting more than both. */
export function shouldRun({ enabled, operator, wanted }: StartConditions): StartDecision {
  if (!enabled) return { run: false, reason: 'WORKER_RESOURCE_MONITORING is false in this process' }
  if (operator === 'stopped') return { run: false, reason: 'It was stopped by an operator' }
  if (operator === 'started') return { run: true, reason: 'It was started by an operator' }
  if (wanted) return { run: true, reason: 'A worker has features.resourceMonitoring' }
  return { run: false, reason: 'No worker has features.resourceMonitoring' }
}
