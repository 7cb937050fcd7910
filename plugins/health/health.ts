import type { Clock, HostState } from 'zin'
import {
  draftBody,
  type HealthResponse,
  hidesErrors,
  liveBody,
  type Moment,
  overallResponse,
  readyResponse,
  refusalOf,
  startupResponse,
} from './bodies.js'
import type { CheckBoard, Finding } from './service.js'

export interface HealthParts {
  readonly board: CheckBoard
  readonly clock: Clock
  readonly environment: string
  readonly state: () => HostState
  readonly hasDatabase: () => boolean
  readonly showChecks: boolean
  /** Seconds since the process started. */
  readonly uptime: () => number
}

/** Response format: the spec's JSON, or `application/health+json`. */
export type Form = 'plain' | 'draft'

/** Combines check results and the state of the host into a status and a body; the routes add the rest of HTTP. */
export class Health {
  readonly #parts: HealthParts
  #started = false

  constructor(parts: HealthParts) {
    this.#parts = parts
  }

  live(form: Form): object {
    return form === 'draft' ? draftBody(200, [], undefined, false) : liveBody(this.#moment())
  }

  async startup(form: Form): Promise<HealthResponse> {
    const { board, state } = this.#parts
    if (!this.#started) this.#started = isBooted(state()) && (await board.started())
    const response = startupResponse(this.#started, this.#moment())
    if (form === 'plain') return response
    const findings = board.last(({ kind }) => kind === 'startup')
    return { ...response, body: draftBody(response.status, findings, undefined, this.#hides('ready')) }
  }

  async overall(form: Form): Promise<HealthResponse> {
    const { board } = this.#parts
    const findings = await board.run(({ name, kind }) => name === 'database' || (form === 'draft' && kind !== 'startup'))
    const response = overallResponse(this.#databaseIn(findings), this.#moment())
    return form === 'plain' ? response : { ...response, body: draftBody(response.status, findings, undefined, this.#hides('health')) }
  }

  async ready(form: Form): Promise<HealthResponse> {
    const { board, showChecks, state } = this.#parts
    const refusal = refusals[state()]
    const wanted = ({ kind }: Pick<Finding, 'kind'>): boolean => kind === 'readiness'
    // While the app is starting or shutting down, no checks run: its dependencies may be closing already.
    const findings = refusal === undefined ? await board.run(wanted) : board.last(wanted)
    const response = readyResponse({ database: this.#databaseIn(findings), findings, refusal, showChecks }, this.#moment())
    if (form === 'plain') return response
    return { ...response, body: draftBody(response.status, findings, refusalOf({ refusal, findings }), this.#hides('ready')) }
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
