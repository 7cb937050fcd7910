import { direction, perNode } from '../recommend/change.js'
import { limitsAt, type PolicyInput, policyOf } from '../recommend/policy.js'
import { type PastEvaluation, type Recommendation, recommend, remember, type ScalingLimits, type Signals } from '../recommend/recommend.js'
import { keepFor } from '../recommend/running.js'

export interface SimulatedJob {
  /** When it is added, in seconds. */
  readonly at: number
  readonly seconds: number
}

/** Times in seconds. */
export interface Scenario {
  readonly jobs: readonly SimulatedJob[]
  readonly concurrency: number
  readonly limits: ScalingLimits
  readonly policy: PolicyInput
  /** Start of the simulation in ms since 1970. */
  readonly startMs: number
  readonly pods: number
  readonly evaluationSeconds: number
  /** Interval at which KEDA reads the route, and its first read. */
  readonly pollSeconds: number
  readonly firstPoll: number
  /** The autoscaler of Kubernetes goes down to the highest number of this time. */
  readonly downSeconds: number
  readonly podStartSeconds: number
  /** How long an ending process goes on with its jobs. */
  readonly graceSeconds: number
  /** Times at which another process takes the lead and continues from the stored status. */
  readonly newLeaders: readonly number[]
  readonly untilSeconds: number
}

export interface Evaluation {
  readonly signals: Signals
  readonly limits: ScalingLimits
  readonly recommendation: Recommendation
}

/** A job whose process was ended before it. Times in seconds. */
export interface Killed {
  readonly startedAt: number
  readonly toldAt: number
  /** When KEDA had read the number that led to it. */
  readonly polledAt: number
  /** The longest run that could be known then. */
  readonly longestKnown: number
}

export interface Outcome {
  readonly killed: readonly Killed[]
  readonly evaluations: readonly Evaluation[]
  /** When the last job had ended; undefined if not all have. */
  readonly doneAt: number | undefined
  readonly podsAtEnd: number
}

interface RunningJob {
  readonly job: SimulatedJob
  readonly startedAt: number
  readonly endsAt: number
}

interface Pod {
  readonly readyAt: number
  toldAt?: number
  running: RunningJob[]
}

const syncSeconds = 15

/** Runs jobs in pods that KEDA scales by the recommendations. A platform that removes pods takes those whose jobs would run longest. */
export function simulate(scenario: Scenario): Outcome {
  const { concurrency, downSeconds, evaluationSeconds, firstPoll, graceSeconds, podStartSeconds, pollSeconds, startMs, untilSeconds } =
    scenario
  const policy = policyOf(scenario.policy)
  let pods: Pod[] = Array.from({ length: scenario.pods }, () => ({ readyAt: 0, running: [] }))
  let perPod = concurrency
  const arriving = [...scenario.jobs].sort((a, b) => a.at - b.at)
  const waiting: SimulatedJob[] = []
  const ended: { readonly at: number; readonly seconds: number }[] = []
  const killed: Killed[] = []
  const evaluations: Evaluation[] = []
  let history: readonly PastEvaluation[] = []
  let stored: Recommendation | undefined
  let doneAt: number | undefined
  let polled = { at: 0, value: scenario.pods }
  const asked: { readonly at: number; readonly value: number }[] = []

  const isUp = (pod: Pod, now: number): boolean => pod.toldAt === undefined && pod.readyAt <= now
  const all = (): RunningJob[] => pods.flatMap(({ running }) => running)
  const place = (now: number): void => {
    for (const pod of pods) {
      while (isUp(pod, now) && pod.running.length < perPod && waiting.length > 0) {
        const job = waiting.shift() as SimulatedJob
        pod.running.push({ job, startedAt: now, endsAt: now + job.seconds })
      }
    }
  }
  /** Handles every arrival and end up to a time, in order. */
  const advance = (to: number): void => {
    for (;;) {
      const nextEnd = Math.min(...all().map(({ endsAt }) => endsAt), ...pods.map(({ toldAt = Infinity }) => toldAt + graceSeconds))
      const nextReady = Math.min(...pods.flatMap(({ readyAt }) => (readyAt > last ? [readyAt] : [])))
      const now = Math.min(nextEnd, nextReady, arriving[0]?.at ?? Infinity)
      if (now > to) break
      last = now
      while (arriving[0] !== undefined && arriving[0].at <= now) waiting.push(arriving.shift() as SimulatedJob)
      for (const pod of pods) {
        for (const { endsAt, startedAt } of pod.running) if (endsAt <= now) ended.push({ at: endsAt, seconds: endsAt - startedAt })
        pod.running = pod.running.filter(({ endsAt }) => endsAt > now)
        if (pod.toldAt === undefined || pod.toldAt + graceSeconds > now) continue
        for (const { job, startedAt } of pod.running) {
          const longestKnown = Math.max(
            ...ended.flatMap(({ at, seconds }) => (at <= polled.at ? [seconds] : [])),
            polledAt.get(pod)?.longest ?? 0,
          )
          killed.push({ startedAt, toldAt: pod.toldAt, polledAt: polledAt.get(pod)?.at ?? 0, longestKnown })
          waiting.unshift(job)
        }
        pod.running = []
      }
      pods = pods.filter((pod) => pod.toldAt === undefined || pod.running.length > 0)
      place(now)
      if (arriving.length + waiting.length + all().length === 0) doneAt ??= now
      else doneAt = undefined
    }
    last = to
  }
  let last = 0
  const polledAt = new Map<Pod, { readonly at: number; readonly longest: number }>()
  const running = (now: number, span: number) => {
    const runs = all().map(({ startedAt }) => now - startedAt)
    return {
      active: runs.length,
      activeSeconds: runs.reduce((sum, run) => sum + Math.min(run, span), 0),
      oldestSeconds: Math.max(0, ...runs),
    }
  }
  const evaluate = (now: number): void => {
    const span = 300
    const recent = ended.filter(({ at }) => at > now - span).map(({ seconds }) => seconds)
    const nodes = pods.filter((pod) => isUp(pod, now)).length
    const signals: Signals = {
      at: startMs + now * 1000,
      attempts: recent.length,
      windowSeconds: span,
      runSeconds: recent.length === 0 ? 0 : recent.reduce((sum, one) => sum + one, 0) / recent.length,
      longestSeconds: recent.length === 0 ? null : Math.max(...recent),
      backlog: waiting.length,
      ...running(now, span),
      queueAgeSeconds: waiting[0] === undefined ? 0 : Math.max(0, now - waiting[0].at),
      concurrency,
      current: (perPod * nodes) / concurrency,
      nodes,
      canary: false,
    }
    const limits = limitsAt(scenario.limits, scenario.policy, signals.at)
    const known = history.at(-1) ?? stored
    const recommendation = recommend(signals, limits, policy, history, known)
    history = remember(history, signals, recommendation, policy)
    stored = recommendation
    evaluations.push({ signals, limits, recommendation })
    const next = perNode(recommendation, signals)
    if (direction(recommendation, signals, next, perPod, known !== undefined && nodes > known.nodes) !== undefined) perPod = next
    place(now)
  }
  /** What the route shows: the status with the jobs that run now. */
  const poll = (now: number): void => {
    if (stored === undefined) return
    const { desired, longest, present } = stored
    const keep = keepFor({ running: running(now, 300), longest, concurrency, present, graceSeconds: policy.graceSeconds })
    polled = { at: now, value: desired < present ? Math.max(desired, keep.workers) : desired }
  }
  const sync = (now: number): void => {
    asked.push({ at: now, value: polled.value })
    while ((asked[0]?.at ?? now) < now - downSeconds) asked.shift()
    const up = pods.filter(({ toldAt }) => toldAt === undefined)
    const most = Math.max(...asked.map(({ value }) => value))
    const wanted = Math.max(1, polled.value > up.length ? polled.value : Math.min(up.length, most))
    for (let count = up.length; count < wanted; count++) pods.push({ readyAt: now + podStartSeconds, running: [] })
    const rest = (pod: Pod): number => Math.max(-1, ...pod.running.map(({ endsAt }) => endsAt - now))
    const longest = Math.max(0, ...all().map(({ startedAt }) => polled.at - startedAt))
    for (const pod of [...up].sort((a, b) => rest(b) - rest(a)).slice(0, Math.max(0, up.length - wanted))) {
      pod.toldAt = now
      polledAt.set(pod, { at: polled.at, longest })
    }
    pods = pods.filter((pod) => pod.toldAt === undefined || pod.running.length > 0)
  }

  for (let now = 0; now <= untilSeconds; now += 5) {
    advance(now)
    if (scenario.newLeaders.includes(now)) history = []
    if (now % evaluationSeconds === 0) evaluate(now)
    if (now >= firstPoll && (now - firstPoll) % pollSeconds === 0) poll(now)
    if (now % syncSeconds === 0) sync(now)
    if (doneAt !== undefined && now > doneAt + 3600 && pods.length === 1) break
  }
  return { killed, evaluations, doneAt, podsAtEnd: pods.length }
}
