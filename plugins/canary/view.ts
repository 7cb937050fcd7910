import type { CanaryEvent, CanaryView } from './contract.js'
import type { Judgement } from './judge/index.js'
import { shareNow } from './machine.js'
import { percentOf } from './next-act.js'
import type { CanaryRecord } from './record.js'

const iso = (ms: number): string => new Date(ms).toISOString()

/** Converts a record to its API representation. */
export function canaryView(record: CanaryRecord, judgement: Judgement, casualties: number): CanaryView {
  const { canary, endedAt, id, pausedFor, replayed, spec, stable, startedAt, state, step, updatedAt, worker } = record
  const { counts, errors, health, metric, metrics, needs, reason, rule, verdict } = judgement
  return {
    id,
    worker,
    state,
    ...(pausedFor === undefined ? {} : { pausedFor }),
    health: Math.round(health),
    trafficPercentage: percentOf(shareNow(record)),
    step: step + 1,
    steps: spec.steps.map(({ gate, minDurationMs, minJobs, share }) => ({
      trafficPercentage: percentOf(share),
      duration: Math.round(minDurationMs),
      ...(minJobs === undefined ? {} : { minJobs }),
      ...(gate === undefined ? {} : { gate }),
    })),
    stable: { version: stable, ...counts.stable, errors: errors?.stable ?? [] },
    canary: { version: canary, ...counts.canary, errors: errors?.canary ?? [] },
    verdict,
    evidence: { rule, metric, reason, metrics },
    needs: endedAt === undefined ? needs : { jobs: null, minutes: null },
    casualties: { recorded: casualties, replayed },
    startedAt: iso(startedAt),
    updatedAt: iso(updatedAt),
    ...(endedAt === undefined ? {} : { endedAt: iso(endedAt) }),
    history: eventsOf(record),
  }
}

export function eventsOf({ history }: CanaryRecord): readonly CanaryEvent[] {
  return history.map(({ actor, at, evidence, from, reason, to }) => {
    const errors = evidence?.errors?.canary ?? []
    return { at: iso(at), from, to, actor, reason, ...(errors.length === 0 ? {} : { errors }) }
  })
}
