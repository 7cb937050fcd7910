import { addAttempt, emptyEvidence, mergeEvidence } from '../judge/evidence.js'
import { judge } from '../judge/judge.js'
import { mostLatest } from '../judge/latest.js'
import { earlyLookGapMs, lookEveryMs, nextMove, wantsEarlyLook } from '../judge/steps.js'
import type { Baseline, Evidence, Judgement, Latest, Move, Policy, Step } from '../judge/types.js'
import type { BucketTraffic, Population } from './population.js'
import type { Random } from './random.js'

/** A canary to simulate. */
export interface Simulation {
  readonly steps: readonly Step[]
  readonly policy: Policy
  readonly jobsPerSecond: number
  readonly population: Population
  /** The traffic from some time on, such as an outage. */
  readonly later?: { readonly fromMs: number; readonly population: Population }
  /** Stable jobs before the canary. */
  readonly baseline?: Baseline
  /** Of these, those of the minutes just before the canary. */
  readonly recent?: Baseline
  /** How many processes run the jobs. Default 3. */
  readonly processes?: number
}

/** How one simulated canary ended. */
export interface Outcome {
  readonly move: Exclude<Move, 'stay' | 'advance'>
  readonly judgement: Judgement
  readonly ms: number
  /** First attempts of the canary; `casualties` of them failed or were lost. */
  readonly canaryJobs: number
  readonly casualties: number
}

/** Called at each regular evaluation of the leader. */
export type Observer = (evidence: Evidence, ms: number) => void

/** Runs one canary with the real judge until it is rolled back, promoted, or paused. */
export function simulateOnce(simulation: Simulation, random: Random, observe?: Observer): Outcome {
  const run = new Run(simulation, random, observe)
  for (;;) {
    const outcome = run.window()
    if (outcome) return outcome
  }
}

const stratum = '*'

class Run {
  readonly #simulation: Simulation
  readonly #random: Random
  readonly #observe: Observer | undefined
  readonly #evidence = emptyEvidence()
  readonly #previous: ('none' | 'ok' | 'bad')[]
  #traffic: ReturnType<Population['split']>
  #canary: Draw
  #step = 0
  #stepMs = 0
  #totalMs = 0
  #stepJobs = 0
  #canaryJobs = 0
  #casualties = 0
  #lastLookMs = Number.NEGATIVE_INFINITY
  #population: Population
  /** Until when the stable jobs of the alarmed process are in the evidence, within the window. */
  #seenMs = 0

  constructor(simulation: Simulation, random: Random, observe?: Observer) {
    this.#simulation = simulation
    this.#population = simulation.population
    this.#random = random
    this.#observe = observe
    this.#previous = Array.from({ length: simulation.processes ?? 3 }, () => 'none')
    this.#traffic = this.#split()
    this.#canary = new Draw(this.#traffic.canary)
  }

  /** Simulates the time until the next regular evaluation. An early one sees the jobs of other processes up to the last regular one. */
  window(): Outcome | undefined {
    const { later } = this.#simulation
    if (later !== undefined && this.#totalMs >= later.fromMs && this.#population !== later.population) {
      this.#population = later.population
      this.#traffic = this.#split()
      this.#canary = new Draw(this.#traffic.canary)
    }
    this.#seenMs = 0
    const jobs = this.#random.poisson(this.#jobsPerWindow() * this.#canary.total)
    let earlyAt = Number.POSITIVE_INFINITY
    for (let i = 1; i <= jobs; i++) {
      const at = (i / (jobs + 1)) * lookEveryMs
      if (at > earlyAt) {
        this.#stableJobs(earlyAt)
        const outcome = this.#look(earlyAt)
        if (outcome) return outcome
        earlyAt = Number.POSITIVE_INFINITY
      }
      if (this.#canaryJob(at) && earlyAt === Number.POSITIVE_INFINITY)
        earlyAt = Math.max(at, this.#lastLookMs - this.#totalMs) + earlyLookGapMs
    }
    this.#stableJobs(lookEveryMs)
    this.#stableJobs()
    this.#stepMs += lookEveryMs
    this.#totalMs += lookEveryMs
    this.#observe?.(this.#evidence, this.#totalMs)
    return this.#look(0)
  }

  #look(sinceWindow: number): Outcome | undefined {
    const { policy, steps, baseline, recent } = this.#simulation
    const ms = this.#totalMs + sinceWindow
    this.#lastLookMs = ms
    const shares = steps.map(({ share }) => share)
    const judgement = judge(this.#evidence, policy, { shares, ...(baseline ? { baseline } : {}), ...(recent ? { recent } : {}) })
    const lacksJobs = judgement.rule === 'canary/no-data'
    const isFailing = judgement.rule === 'canary/failing'
    const [stepMs, stepJobs] = [this.#stepMs + sinceWindow, this.#stepJobs]
    const progress = { steps, step: this.#step, stepMs, totalMs: ms, stepJobs, lacksJobs, isFailing }
    const move = nextMove(judgement.verdict, progress)
    if (move === 'stay') return undefined
    if (move === 'advance') return this.#advance()
    return { move, judgement, ms, canaryJobs: this.#canaryJobs, casualties: this.#casualties }
  }

  #advance(): undefined {
    this.#step++
    this.#stepMs = 0
    this.#stepJobs = 0
    this.#traffic = this.#split()
    this.#canary = new Draw(this.#traffic.canary)
  }

  /** Simulates a canary job; returns whether its process requests an early evaluation. */
  #canaryJob(sinceWindow: number): boolean {
    const { bucket, failure, lost, slow } = this.#canary.next(this.#random)
    const u = this.#random.next()
    const outcome = u < failure ? 'failed' : u < failure + lost ? 'lost' : 'ok'
    const isSlow = this.#random.next() < slow
    const at = 1 + this.#totalMs + sinceWindow
    addAttempt(this.#evidence, { step: this.#step, arm: 'canary', stratum, bucket, outcome, slow: isSlow, at })
    this.#stepJobs++
    this.#canaryJobs++
    const current = outcome === 'ok' ? 'ok' : 'bad'
    if (current === 'bad') this.#casualties++
    const process = this.#random.below(this.#previous.length)
    const wants = wantsEarlyLook(this.#previous[process] ?? 'none', current)
    this.#previous[process] = current
    return wants
  }

  /** Adds the jobs of the alarmed process up to some time of the window, or those of the other processes in all of it. */
  #stableJobs(untilMs?: number): void {
    const cell: Evidence['cells'][string] = {}
    const fromMs = untilMs === undefined ? 0 : this.#seenMs
    const toMs = untilMs ?? lookEveryMs
    this.#seenMs = toMs
    const processes = this.#previous.length
    const part = ((toMs - fromMs) / lookEveryMs) * (untilMs === undefined ? 1 - 1 / processes : 1 / processes)
    const perWindow = this.#jobsPerWindow() * part
    const sums = { jobs: 0, failed: 0, lost: 0 }
    for (const { bucket, weight, failure, slow, lost } of this.#traffic.stable) {
      const mean = perWindow * weight
      const failed = this.#random.poisson(mean * failure * (1 - slow))
      const failedSlow = this.#random.poisson(mean * failure * slow)
      const gone = this.#random.poisson(mean * lost)
      const goodSlow = this.#random.poisson(mean * (1 - failure - lost) * slow)
      const good = this.#random.poisson(mean * (1 - failure - lost) * (1 - slow))
      const jobs = failed + failedSlow + gone + goodSlow + good
      if (jobs > 0) cell[bucket] = [jobs, failed + failedSlow, failedSlow + goodSlow, jobs, gone]
      sums.jobs += jobs
      sums.failed += failed + failedSlow
      sums.lost += gone
    }
    const latest = { stable: this.#latestOf(sums, fromMs, toMs), canary: [] }
    mergeEvidence(this.#evidence, { cells: { [`${this.#step}/stable/${stratum}`]: cell }, latest })
  }

  /** The last of some jobs, evenly over a time of the window. */
  #latestOf({ failed, jobs, lost }: Baseline, fromMs: number, toMs: number): Latest[] {
    return Array.from({ length: Math.min(jobs, mostLatest) }, (_, i): Latest => {
      const at = 1 + this.#totalMs + toMs - ((i + 0.5) * (toMs - fromMs)) / jobs
      const u = this.#random.next() * jobs
      return [at, u < failed ? 1 : u < failed + lost ? 2 : 0]
    })
  }

  #jobsPerWindow(): number {
    return (this.#simulation.jobsPerSecond * lookEveryMs) / 1000
  }

  #split(): ReturnType<Population['split']> {
    return this.#population.split(this.#simulation.steps[this.#step]?.share ?? 0)
  }
}

/** Draws jobs of one arm by weight. */
class Draw {
  readonly total: number
  readonly #traffic: readonly BucketTraffic[]
  readonly #upTo: Float64Array

  constructor(traffic: readonly BucketTraffic[]) {
    let sum = 0
    this.#traffic = traffic
    this.#upTo = Float64Array.from(traffic, ({ weight }) => {
      sum += weight
      return sum
    })
    this.total = sum
  }

  next(random: Random): BucketTraffic {
    const at = random.next() * this.total
    let [low, high] = [0, this.#upTo.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#upTo[middle] as number) > at) high = middle
      else low = middle + 1
    }
    return this.#traffic[low] as BucketTraffic
  }
}
