import type { CanaryRecord } from '../record.js'
import { startPlan } from '../start-input.js'
import { itself } from '../transitions.js'

/** Returns a canary that was started at time 0, with steps of 5 and 20 percent. */
export function canaryRecord(changes: Partial<CanaryRecord> = {}): CanaryRecord {
  return {
    id: 'id',
    generation: 1,
    worker: 'emails',
    stable: '1.0.0',
    canary: '2.0.0',
    state: 'PENDING',
    spec: startPlan({ newVersion: '2.0.0', trafficPercentage: 20, duration: 30_000, steps: [5, 20] }).spec,
    step: 0,
    time: { stepMs: 0, totalMs: 0, since: null },
    slowMs: null,
    replayed: 0,
    startedAt: 0,
    updatedAt: 0,
    history: [{ at: 0, from: null, to: 'PENDING', actor: itself, reason: 'started' }],
    ...changes,
  }
}
