import fc from 'fast-check'
import type { Client, FuzzResponse } from './client.js'
import type { FuzzRequest, Route } from './requests.js'

/** A request that the app handled wrongly, shrunk to the smallest one that still fails. */
export interface Finding {
  readonly route: string
  readonly what: string
  readonly request: unknown
  readonly seed: number
}

export interface Summary {
  readonly sent: number
  /** Responses by route, then by status and code. */
  readonly responses: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** The longest response time by route, in ms. */
  readonly slowest: ReadonlyMap<string, number>
  readonly findings: readonly Finding[]
  /** Whether the app accepted no more connections: one of the findings with a broken connection ended it. */
  readonly gone: boolean
}

const perRound = 50
const shrinkMs = 10_000

/**
 * Fuzzes the routes in turn, a few requests per round, through all clients at once, until `total` requests were sent. `prepare` runs before
 * each round.
 */
export async function fuzz(
  routes: readonly Route[],
  clients: readonly Client[],
  total: number,
  seed: number,
  prepare: () => Promise<void>,
): Promise<Summary> {
  const responses = new Map<string, Map<string, number>>()
  const slowest = new Map<string, number>()
  const findings = new Map<string, Finding>()
  let sent = 0
  let round = 0
  let gone = false
  /** Requests that follow the end of the app prove nothing, so that they also shrink nothing. */
  const unlessGone = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    if (gone) return undefined
    try {
      return await work()
    } catch (error) {
      gone ||= isRefused(error)
      if (!gone) throw error
      return undefined
    }
  }
  const lane = async (client: Client): Promise<void> => {
    while (sent < total && !gone) {
      const route = routes[round % routes.length] as Route
      const roundSeed = seed + round
      round += 1
      await unlessGone(prepare)
      const finding = await tryRoute(route, roundSeed, async (request) => {
        if (!gone) sent += 1
        const sentAt = performance.now()
        const response = await unlessGone(() => client.send(request))
        if (response === undefined) return undefined
        slowest.set(route.title, Math.max(slowest.get(route.title) ?? 0, performance.now() - sentAt))
        count(responses, route.title, `${response.status} ${errorCode(response.body) ?? ''}`.trim())
        return response
      })
      if (finding !== undefined) findings.set(`${finding.route} ${finding.what}`, finding)
    }
  }
  await Promise.all(clients.map(lane))
  return { sent, responses, slowest, findings: [...findings.values()], gone }
}

function count(responses: Map<string, Map<string, number>>, route: string, kind: string): void {
  const ofRoute = responses.get(route) ?? new Map<string, number>()
  responses.set(route, ofRoute.set(kind, (ofRoute.get(kind) ?? 0) + 1))
}

/** Whether no process listens any more; `fetch` hides the code in the cause. */
function isRefused(error: unknown): boolean {
  return error instanceof Error && (('code' in error && error.code === 'ECONNREFUSED') || isRefused(error.cause))
}

type Send = (request: FuzzRequest) => Promise<FuzzResponse | undefined>

async function tryRoute(route: Route, seed: number, send: Send): Promise<Finding | undefined> {
  const property = fc.asyncProperty(route.requests, async (request) => {
    const response = await send(request)
    const wrong = response && problemOf(request, response)
    if (wrong !== undefined) throw new Error(wrong)
  })
  const result = await fc.check(property, { seed, numRuns: perRound, interruptAfterTimeLimit: shrinkMs, markInterruptAsFailure: false })
  if (!result.failed || result.counterexample === null) return undefined
  const what = result.errorInstance instanceof Error ? result.errorInstance.message : String(result.errorInstance)
  return { route: route.title, what, request: result.counterexample[0], seed }
}

/** Codes that report overload and ask the client to retry; they are not findings. */
const overload = new Set(['LOGIN_BUSY'])

/** What is wrong with a response, whatever the request was; undefined if nothing is. */
function problemOf(request: FuzzRequest, { status, headers, body }: FuzzResponse): string | undefined {
  const code = errorCode(body)
  if (status >= 500 && !overload.has(code ?? '')) return `status ${status} ${code ?? body.slice(0, 200)}`
  if (request.method === 'HEAD' || status < 400) return undefined
  if (!headers['content-type']?.includes('json')) return `status ${status} with a body that is not JSON: ${headers['content-type']}`
  if (code === undefined && !isGraphqlError(request, body)) return `status ${status} without error, message and code: ${body.slice(0, 200)}`
  return undefined
}

/** Errors of GraphQL have their own form. */
function isGraphqlError({ target }: FuzzRequest, body: string): boolean {
  return target.startsWith('/graphql') && body.startsWith('{"errors":[')
}

function errorCode(body: string): string | undefined {
  try {
    const { error, message, code } = JSON.parse(body) as Record<string, unknown>
    return typeof error === 'string' && typeof message === 'string' && typeof code === 'string' ? code : undefined
  } catch {
    return undefined
  }
}
