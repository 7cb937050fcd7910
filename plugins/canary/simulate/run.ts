import { addAttempt, emptyEvidence, mergeEvidence } from '../judge/evidence.js'
import { judge } from '../judge/judge.js'
import { earlyLookGapMs, lookEveryMs, nextMove, wantsEarlyLook } from '../judge/steps.js'
import type { Baseline, Evidence, Judgement, Move, Policy, Step } from '../judge/types.js'
import type { BucketTraffic, Population } from './population.js'
import type { Random } from './random.js'

/** A canary to simulate. */
export interface Simulation {
  readonly steps: readonly Step[]
  readonly policy: Policy
  readonly jobsPerSecond: number
  readonly population: Population
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

  constructor(simulation: Simulation, random: Random, observe?: Observer) {
    this.#simulation = simulation
    this.#random = random
    this.#observe = observe
    this.#previous = Array.from({ length: simulation.processes ?? 3 }, () => 'none')
    this.#traffic = this.#split()
    this.#canary = new Draw(this.#traffic.canary)
  }

  /** Simulates the time until the next regular evaluation. An early evaluation sees stable jobs up to the last regular one. */
  window(): Outcome | undefined {
    const jobs = this.#random.poisson(this.#jobsPerWindow() * this.#canary.total)
    let earlyAt = Number.POSITIVE_INFINITY
    for (let i = 1; i <= jobs; i++) {
      const at = (i / (jobs + 1)) * lookEveryMs
      if (at > earlyAt) {
        const outcome = this.#look(earlyAt)
        if (outcome) return outcome
        earlyAt = Number.POSITIVE_INFINITY
      }
      if (this.#canaryJob() && earlyAt === Number.POSITIVE_INFINITY)
        earlyAt = Math.max(at, this.#lastLookMs - this.#totalMs) + earlyLookGapMs
    }
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
    const progress = { steps, step: this.#step, stepMs: this.#stepMs + sinceWindow, totalMs: ms, stepJobs: this.#stepJobs, lacksJobs }
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
  #canaryJob(): boolean {
    const { bucket, failure, lost, slow } = this.#canary.next(this.#random)
    const u = this.#random.next()
    const outcome = u < failure ? 'failed' : u < failure + lost ? 'lost' : 'ok'
    addAttempt(this.#evidence, { step: this.#step, arm: 'canary', stratum, bucket, outcome, slow: this.#random.next() < slow })
    this.#stepJobs++
    this.#canaryJobs++
    const current = outcome === 'ok' ? 'ok' : 'bad'
    if (current === 'bad') this.#casualties++
    const process = this.#random.below(this.#previous.length)
    const wants = wantsEarlyLook(this.#previous[process] ?? 'none', current)
    this.#previous[process] = current
    return wants
  }

  #stableJobs(): void {
    const cell: Evidence['cells'][string] = {}
    const perWindow = this.#jobsPerWindow()
    for (const { bucket, weight, failure, slow, lost } of this.#traffic.stable) {
      const mean = perWindow * weight
      const failed = this.#random.poisson(mean * failure * (1 - slow))
      const failedSlow = this.#random.poisson(mean * failure * slow)
      const gone = this.#random.poisson(mean * lost)
      const goodSlow = this.#random.poisson(mean * (1 - failure - lost) * slow)
      const good = this.#random.poisson(mean * (1 - failure - lost) * (1 - slow))
      const jobs = failed + failedSlow + gone + goodSlow + good
      if (jobs > 0) cell[bucket] = [jobs, failed + failedSlow, failedSlow + goodSlow, jobs, gone]
    }
    mergeEvidence(this.#evidence, { cells: { [`${this.#step}/stable/${stratum}`]: cell } })
  }

  #jobsPerWindow(): number {
    return (this.#simulation.jobsPerSecond * lookEveryMs) / 1000
  }

  #split(): ReturnType<Population['split']> {
    return this.#simulation.population.split(this.#simulation.steps[this.#step]?.share ?? 0)
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
