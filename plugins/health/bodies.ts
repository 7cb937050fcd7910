import type { Finding } from './service.js'

/** Values that every response contains. */
export interface Moment {
  /** Wall clock, ms. */
  readonly now: number
  /** Seconds, 0 when unavailable. */
  readonly uptime: number
  readonly environment: string
}

/** Whether the app has a database plugin, and the result of its check. */
export interface DatabaseState {
  readonly configured: boolean
  readonly finding: Finding | undefined
}

export interface HealthResponse {
  readonly status: 200 | 503
  readonly body: object
}

const redacted = 'Service unavailable'

/** `GET /health` hides error texts in these environments; `GET /health/ready` in `production` alone. */
export function hidesErrors(route: 'health' | 'ready', environment: string): boolean {
  const name = environment.trim().toLowerCase()
  return name === 'production' || (route === 'health' && name === 'prod')
}

export function liveBody({ now, uptime }: Moment): object {
  return { status: 'alive', timestamp: isoTime(now), uptime }
}

export function startupResponse(started: boolean, { now, uptime }: Moment): HealthResponse {
  return { status: started ? 200 : 503, body: { status: started ? 'started' : 'starting', timestamp: isoTime(now), uptime } }
}

export function overallResponse({ configured, finding }: DatabaseState, { now, uptime, environment }: Moment): HealthResponse {
  const timestamp = isoTime(now)
  if (finding !== undefined && !finding.reading.ok) {
    const error = hidesErrors('health', environment) ? redacted : (finding.reading.error ?? redacted)
    return { status: 503, body: { status: 'unhealthy', timestamp, database: 'disconnected', error } }
  }
  const database = configured && finding !== undefined ? 'connected' : 'unconfigured'
  return { status: 200, body: { status: 'healthy', timestamp, uptime, database, environment } }
}

/** The inputs of readiness. */
export interface ReadyFacts {
  readonly database: DatabaseState
  /** All readiness checks, including those of the database and the cache. */
  readonly findings: readonly Finding[]
  /** Why the app itself is not ready, e.g. because it is shutting down. */
  readonly refusal: string | undefined
  /** Lists checks of other plugins too. */
  readonly showChecks: boolean
}

export function readyResponse(facts: ReadyFacts, { now, environment }: Moment): HealthResponse {
  const timestamp = isoTime(now)
  const dependencies: Record<string, unknown> = { database: databaseEntry(facts.database) }
  for (const { name, reading } of facts.findings) {
    if (name === 'cache' || (facts.showChecks && name !== 'database')) {
      dependencies[name] = { status: reading.ok ? 'ready' : 'unavailable', responseTime: reading.responseTime }
    }
  }
  const reason = refusalOf(facts)
  if (reason === undefined) return { status: 200, body: { status: 'ready', timestamp, environment, dependencies } }
  const error = hidesErrors('ready', environment) ? redacted : reason
  return { status: 503, body: { status: 'not_ready', timestamp, environment, dependencies, error } }
}

/** Why readiness is refused; undefined when it is not. */
export function refusalOf({ refusal, findings }: Pick<ReadyFacts, 'refusal' | 'findings'>): string | undefined {
  const blocking = findings.find(({ blocks }) => blocks)
  return refusal ?? (blocking === undefined ? undefined : (blocking.reading.error ?? redacted))
}

function databaseEntry({ configured, finding }: DatabaseState): object {
  if (!configured) return { status: 'unconfigured', responseTime: 0 }
  if (finding === undefined) return { status: 'unavailable', responseTime: 0 }
  return { status: finding.reading.ok ? 'ready' : 'unavailable', responseTime: finding.reading.responseTime }
}

/** The same response as `application/health+json` (draft-inadarei-api-health-check). */
export function draftBody(status: 200 | 503, findings: readonly Finding[], output: string | undefined, hide: boolean): object {
  const worst = status === 503 ? 'fail' : findings.every(({ reading }) => reading.ok) ? 'pass' : 'warn'
  const text = (value: string): string => (hide ? redacted : value)
  const checks = Object.fromEntries(
    findings.map(({ name, kind, reading, blocks }) => [
      `${name}:${reading.measured?.name ?? 'responseTime'}`,
      [
        {
          componentId: name,
          componentType:
            name === 'database' || name === 'cache' ? 'datastore' : kind === 'info' || name === 'clock' ? 'system' : 'component',
          observedValue: reading.measured?.value ?? reading.responseTime,
          observedUnit: reading.measured?.unit ?? 'ms',
          status: reading.ok ? 'pass' : blocks ? 'fail' : 'warn',
          time: isoTime(reading.time),
          ...(reading.error !== undefined && { output: text(reading.error) }),
        },
      ],
    ]),
  )
  return { status: worst, ...(output !== undefined && { output: text(output) }), ...(findings.length > 0 && { checks }) }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
