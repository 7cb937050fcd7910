import {
  buildSchema,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  parse,
  specifiedRules,
  validate,
} from 'graphql'
import { createHandler, type Handler } from 'graphql-http'
import { messageOf, ZinError } from 'zin'
import type { Scope } from '../access/scope.js'
import type { ListedStatus, QueueEntry } from '../contract.js'
import { monitorErrors } from '../errors.js'
import type { MonitorReads } from '../service.js'
import { limits, measure } from './limits.js'

const sdl = `
type Query {
  "Statistics of all queues the caller can see."
  queueStats: QueueStats!
  queue(name: String!): Queue!
  jobs(status: ListedStatus!, queue: String, page: Int = 1, limit: Int = 20): JobPage!
  "The id may be <queue>:<id>. The payload requires the permission payload:read."
  job(id: String!, queue: String, payload: Boolean = false): Job!
}
enum ListedStatus { active failed completed waiting delayed }
type Times { p50: Float! p95: Float! p99: Float! }
type QueueStats {
  totalQueues: Int! totalJobs: Float! activeJobs: Float! completedJobs: Float! failedJobs: Float!
  averageProcessingTime: Float! throughput: Float! queues: [Queue!]!
  oldestWaitingMs: Float kept: Float! processingTime: Times sampledAt: String!
}
type Queue {
  name: String! size: Float! active: Float! completed: Float! failed: Float! averageProcessingTime: Float!
  waiting: Float! delayed: Float! waitingChildren: Float! paused: Boolean! oldestWaitingMs: Float kept: Float!
  throughput: Float! attempts: Float! failureRate: Float processingTime: Times
  "Whether the queue could not be read although its store responds, and why."
  broken: Boolean reason: String
}
type Pagination { page: Int! limit: Int! total: Float! totalPages: Float! }
type JobPage { jobs: [Job!]! pagination: Pagination! }
type Job {
  id: String! queue: String! status: String! attempts: Int! maxAttempts: Int!
  createdAt: String! startedAt: String completedAt: String failedAt: String error: String processingTime: Float
  name: String! state: String! priority: Int readyAt: String parent: String
  "The redacted payload as JSON."
  payload: String
  payloadBytes: Float payloadTruncated: Boolean!
  "Whether the error is left out: it requires the permission payload:read, and a plugin may deny the view of an encrypted one."
  withheld: Boolean!
}`

export interface GraphqlRequest {
  readonly query: string
  readonly variables: Readonly<Record<string, unknown>>
  readonly operationName: string | undefined
}

export interface GraphqlReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** Runs the queries of the REST routes as GraphQL, within limits. */
export class GraphqlEngine {
  readonly #handler: Handler<GraphqlRequest, Scope>

  constructor(monitor: MonitorReads, production: boolean) {
    const schema: GraphQLSchema = buildSchema(sdl)
    const rootValue = rootOf(monitor)
    const rules = production ? [...specifiedRules, NoSchemaIntrospectionCustomRule] : specifiedRules
    this.#handler = createHandler<GraphqlRequest, Scope>({
      schema,
      parseRequestParams: ({ raw }) => ({
        query: raw.query,
        variables: { ...raw.variables },
        ...(raw.operationName === undefined ? {} : { operationName: raw.operationName }),
      }),
      onSubscribe: ({ context }, { operationName, query, variables }) => {
        const document = parse(query, { maxTokens: limits.tokens })
        const problems = validate(schema, document, rules, { maxErrors: 10 })
        if (problems.length > 0) return problems
        return { schema, document, rootValue, contextValue: { scope: context }, variableValues: variables, operationName } as never
      },
      execute: (args) => execute(args) as ExecutionResult | Promise<ExecutionResult>,
      formatError: (error) => shown(error),
    })
  }

  /** Throws GRAPHQL_LIMIT (400) for a request beyond the limits. */
  async run(request: GraphqlRequest, scope: Scope): Promise<GraphqlReply> {
    checkLimits(request)
    const [body, { headers = {}, status }] = await this.#handler({
      method: 'POST',
      url: '/graphql',
      // With this media type, an invalid request gets a 400.
      headers: { accept: 'application/graphql-response+json', 'content-type': 'application/json' },
      body: null,
      raw: request,
      context: scope,
    })
    return { status, headers: headers as Record<string, string>, text: body ?? '' }
  }
}

function checkLimits({ query, variables }: GraphqlRequest): void {
  let measured: ReturnType<typeof measure>
  let isOnlyQueries: boolean
  try {
    const document = parse(query, { maxTokens: limits.tokens, noLocation: true })
    isOnlyQueries = document.definitions.every((node) => node.kind !== 'OperationDefinition' || node.operation === 'query')
    measured = measure(document, variables)
  } catch (error) {
    if (/more tha[nt] \d+ tokens/.test(messageOf(error))) throw monitorErrors.GRAPHQL_LIMIT('tokens', limits.tokens)
    throw monitorErrors.GRAPHQL_INVALID(messageOf(error))
  }
  if (!isOnlyQueries) throw monitorErrors.GRAPHQL_INVALID('only queries are supported; use the REST routes for actions')
  for (const name of ['depth', 'aliases', 'cost'] as const) {
    if (measured[name] > limits[name]) throw monitorErrors.GRAPHQL_LIMIT(name, limits[name])
  }
}

type Args<T> = (args: T, context: { readonly scope: Scope }) => Promise<unknown>

function rootOf(monitor: MonitorReads): Readonly<Record<string, Args<never>>> {
  const entry = (name: string, queue: QueueEntry) => ({ name, ...queue })
  const queueStats: Args<unknown> = async (_args, { scope }) => {
    const { queues, ...stats } = await monitor.stats(scope)
    return { ...stats, queues: Object.entries(queues).map(([name, queue]) => entry(name, queue)) }
  }
  const queue: Args<{ name: string }> = async ({ name }, { scope }) => entry(name, await monitor.queueStats(name, scope))
  const jobs: Args<{ status: ListedStatus; queue?: string | null; page: number; limit: number }> = async (args, { scope }) => {
    const { limit, page, queue: name, status } = args
    if (!(page >= 1 && page <= 1_000_000 && limit >= 1 && limit <= 100)) {
      throw monitorErrors.INVALID_JOB_FILTER('page must be at least 1, and limit 1 to 100')
    }
    return monitor.jobs(status, { page, limit, ...(name == null ? {} : { queue: name }) }, scope)
  }
  const job: Args<{ id: string; queue?: string | null; payload: boolean }> = async ({ id, payload, queue: name }, { scope }) => {
    const found = await monitor.job(id, { payload, ...(name == null ? {} : { queue: name }) }, scope)
    return { ...found, payload: payload ? JSON.stringify(found.payload) : null }
  }
  return { queueStats, queue, jobs, job } as Readonly<Record<string, Args<never>>>
}

/** Formats an error: errors of the app keep their code, unexpected errors are shown without details. */
function shown(error: Readonly<GraphQLError | Error>): GraphQLError {
  const cause = error instanceof GraphQLError ? error.originalError : error
  if (cause instanceof ZinError) {
    const path = error instanceof GraphQLError && error.path !== undefined ? { path: error.path } : {}
    return new GraphQLError(cause.message, { ...path, extensions: { code: cause.code, status: cause.status } })
  }
  if (error instanceof GraphQLError && (cause === undefined || cause === null)) return error
  return new GraphQLError('The query failed', { extensions: { code: 'INTERNAL_ERROR' } })
}
