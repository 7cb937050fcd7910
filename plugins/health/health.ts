import type { Clock, HostState } from 'zin'
import {
  type Answer,
  draftBody,
  hidesErrors,
  liveBody,
  type Moment,
  overallAnswer,
  readyAnswer,
  refusalOf,
  startupAnswer,
} from './bodies.js'
import type { CheckBoard, Finding } from './service.js'

export interface HealthParts {
  readonly board: CheckBoard
  readonly clock: Clock
  readonly environment: string
  readonly state: () => HostState
  readonly hasDatabase: () => boolean
  readonly showChecks: boolean
  /** Seconds since the process began. */
  readonly uptime: () => number
}

/** An answer in the spec's form, or as `application/health+json`. */
export type Form = 'plain' | 'draft'

/** Puts findings and the host's state together. Knows nothing of HTTP but status and body. */
export class Health {
  readonly #parts: HealthParts
  #started = false

  constructor(parts: HealthParts) {
    this.#parts = parts
  }

  live(form: Form): object {
    return form === 'draft' ? draftBody(200, [], undefined, false) : liveBody(this.#moment())
  }

  async startup(form: Form): Promise<Answer> {
    const { board, state } = this.#parts
    if (!this.#started) this.#started = isBooted(state()) && (await board.started())
    const answer = startupAnswer(this.#started, this.#moment())
    if (form === 'plain') return answer
    const findings = board.last(({ kind }) => kind === 'startup')
    return { ...answer, body: draftBody(answer.status, findings, undefined, this.#hides('ready')) }
  }

  async overall(form: Form): Promise<Answer> {
    const { board } = this.#parts
    const findings = await board.run(({ name, kind }) => name === 'database' || (form === 'draft' && kind !== 'startup'))
    const answer = overallAnswer(this.#databaseIn(findings), this.#moment())
    return form === 'plain' ? answer : { ...answer, body: draftBody(answer.status, findings, undefined, this.#hides('health')) }
  }

  async ready(form: Form): Promise<Answer> {
    const { board, showChecks, state } = this.#parts
    const refusal = refusals[state()]
    const wanted = ({ kind }: Pick<Finding, 'kind'>): boolean => kind === 'readiness'
    // An app that is not ready by itself answers at once: its dependencies may be closing already.
    const findings = refusal === undefined ? await board.run(wanted) : board.last(wanted)
    const answer = readyAnswer({ database: this.#databaseIn(findings), findings, refusal, showChecks }, this.#moment())
    if (form === 'plain') return answer
    return { ...answer, body: draftBody(answer.status, findings, refusalOf({ refusal, findings }), this.#hides('ready')) }
  }

  #databaseIn(findings: readonly Finding[]) {
    return { configured: this.#parts.hasDatabase(), finding: findings.find(({ name }) => name === 'database') }
  }

  #hides(route: 'health' | 'ready'): boolean {
    return hidesErrors(route, this.#parts.environment)
  }

  #moment(): Moment {
    return { now: this.#parts.clock.now(), uptime: this.#parts.uptime(), environment: this.#parts.environment }
  }
}

const refusals = {
  created: 'The app is starting',
  starting: 'The app is starting',
  ready: undefined,
  draining: 'The app is shutting down',
  stopped: 'The app is shutting down',
} as const satisfies Record<HostState, string | undefined>

function isBooted(state: HostState): boolean {
  return state !== 'created' && state !== 'starting'
}
