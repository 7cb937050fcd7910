import { type AppClient, suggest, ZinError } from 'zin'
import { decisionErrors } from './errors.js'

type App = Pick<AppClient, 'request'>
type Fields = Readonly<Record<string, unknown>>

/** What is known about the subjects of a type. */
interface Kind {
  /** Whether there is one with this name. Rejects with 404 if there is not, or if the plugin that knows them is not enabled. */
  readonly exists: (app: App, name: string) => Promise<boolean>
  /** Some of their names, for a suggestion. */
  readonly names?: (app: App) => Promise<readonly string[]>
  /** Lists them, for the message. */
  readonly command: string
}

const get = (app: App, path: string, query?: Readonly<Record<string, string | number>>): Promise<Fields> =>
  app.request<Fields>({ method: 'GET', path, ...(query === undefined ? {} : { query }) })

const at = async (app: App, path: string): Promise<boolean> => {
  await get(app, path)
  return true
}

/** A type whose subjects all are in one list. */
function listed(command: string, path: string, namesOf: (body: Fields) => readonly (string | undefined)[]): Kind {
  const names = async (app: App): Promise<readonly string[]> => namesOf(await get(app, path)).filter((name) => name !== undefined)
  return { command, names, exists: async (app, name) => (await names(app)).includes(name) }
}

const fieldsOf = (body: Fields, list: string, field: string): readonly (string | undefined)[] =>
  ((body[list] ?? []) as readonly Readonly<Record<string, string | undefined>>[]).map((one) => one[field])

/** A schedule has a next run, `repeat:<key>:<ms>`, until it has ended. */
async function scheduleExists(app: App, name: string): Promise<boolean> {
  const [queue = '', key = ''] = name.split(/:(.*)/s, 2)
  for (const status of ['delayed', 'waiting', 'active'])
    for (let page = 1; page <= mostPages; page++) {
      const body = await get(app, `/api/jobs/${status}`, { queue, limit: 100, page })
      const ids = fieldsOf(body, 'jobs', 'id')
      if (ids.some((id) => id?.startsWith(`repeat:${key}:`))) return true
      if (ids.length < 100) break
    }
  return false
}

const mostPages = 20

const kinds: Readonly<Record<string, Kind>> = {
  worker: {
    command: 'zin worker:list',
    exists: (app, name) => at(app, `/api/workers/${encodeURIComponent(name)}`),
    names: async (app) => fieldsOf(await get(app, '/api/workers', { limit: 100 }), 'workers', 'name').filter((one) => one !== undefined),
  },
  queue: {
    command: 'zin queue:list',
    exists: (app, name) => at(app, `/api/queue/${encodeURIComponent(name)}/stats`),
    names: async (app) => Object.keys((await get(app, '/api/queue/stats')).queues as object),
  },
  job: { command: 'zin queue:jobs', exists: (app, name) => at(app, `/api/jobs/${encodeURIComponent(name)}`) },
  schedule: { command: 'zin status', exists: scheduleExists },
  node: listed('zin worker:nodes', '/api/nodes', (body) => fieldsOf(body, 'nodes', 'id')),
  region: listed('zin worker:nodes', '/api/nodes', (body) => fieldsOf(body, 'nodes', 'region')),
  // The second is about all of them.
  webhook: listed('zin webhook:list', '/api/queue/webhooks', (body) => [...fieldsOf(body, 'webhooks', 'id'), 'followed']),
  service: listed('zin service:list', '/api/services', (body) => fieldsOf(body, 'services', 'name')),
  erasure: { command: 'zin status', exists: (app, name) => at(app, `/api/compliance/erasures/${encodeURIComponent(name)}`) },
}

/** Decisions about these are recorded with their worker. */
const ofWorkers: ReadonlySet<string> = new Set(['canary', 'version', 'rollout', 'breaker', 'circuit', 'scale'])

/** Throws DECISION_SUBJECT_UNKNOWN for a subject that does not exist; of other types, those exist that need attention. */
export async function demandSubject(app: App, subject: string): Promise<void> {
  const [type = '', name = ''] = subject.split(/:(.*)/s, 2)
  const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined
  const found = kind === undefined ? false : await orMissing(kind.exists(app, name))
  // Without the plugin queue-monitor, nobody knows which queues exist.
  if (found === true || (found === 'no route' && type === 'queue')) return
  if ((await needsAttention(app)).includes(subject)) return
  if (kind === undefined) throw decisionErrors.DECISION_SUBJECT_UNKNOWN(`subject "${subject}"`, adviceFor(type, name))
  const names = kind.names === undefined ? [] : await kind.names(app).catch(() => [])
  const near = suggest(name, names)
  const advice = near === undefined ? `see ${kind.command}` : `did you mean "${near}"? See ${kind.command}`
  throw decisionErrors.DECISION_SUBJECT_UNKNOWN(`${type} "${name}"`, advice)
}

function adviceFor(type: string, name: string): string {
  const worker = name.split(/[:@/]/, 1)[0] ?? ''
  if (ofWorkers.has(type)) return `ask for its worker: zin why ${worker} --kind ${type === 'version' ? 'canary' : type}`
  const near = suggest(type, Object.keys(kinds))
  return `${near === undefined ? '' : `did you mean ${near}:${name}? `}The types of subjects are ${Object.keys(kinds).join(', ')}`
}

async function orMissing(exists: Promise<boolean>): Promise<boolean | 'no route'> {
  try {
    return await exists
  } catch (error) {
    if (!(error instanceof ZinError) || error.status !== 404) throw error
    return error.code === 'NOT_FOUND' ? 'no route' : false
  }
}

/** The subjects of what needs attention; none without the plugin queue-monitor. */
async function needsAttention(app: App): Promise<readonly (string | undefined)[]> {
  try {
    return fieldsOf(await get(app, '/api/attention'), 'items', 'subject')
  } catch (error) {
    if (error instanceof ZinError && error.status === 404) return []
    throw error
  }
}
