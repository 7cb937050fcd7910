import type { Breaker } from 'zin/plugins/breaker'
import type { Canaries } from 'zin/plugins/canary'
import type { Workers, WorkerView } from 'zin/plugins/workers'

/** Something that needs a person. */
export interface AttentionItem {
  readonly tone: 'bad' | 'warn'
  readonly kind: 'worker' | 'node' | 'breaker' | 'canary'
  readonly subject: string
  /** What is wrong, in words with its numbers. */
  readonly text: string
  /** ISO 8601; absent: unknown. */
  readonly since?: string
  /** Where in the console it is looked into. */
  readonly to: string
}

export interface Attention {
  readonly items: readonly AttentionItem[]
  /** What could not be looked at. */
  readonly unknown: readonly string[]
  /** ISO 8601. */
  readonly at: string
}

export interface AttentionParts {
  readonly workers: () => Workers | undefined
  readonly canaries: () => Canaries | undefined
  readonly breaker: () => Breaker | undefined
  readonly now: () => number
}

/** All callers of a process share one look in this time, ms. */
const sharedMs = 2_000
const pageSize = 100
const mostWorkers = 2_000
/** Workers with a canary or a breaker that are asked, and how many at once. */
const mostAsked = 200
const atOnce = 20

/** What needs a person now, over all nodes. */
export class AttentionService {
  readonly #parts: AttentionParts
  #latest: { readonly at: number; readonly found: Promise<Attention> } | undefined

  constructor(parts: AttentionParts) {
    this.#parts = parts
  }

  look(): Promise<Attention> {
    const at = this.#parts.now()
    if (this.#latest === undefined || at - this.#latest.at > sharedMs) this.#latest = { at, found: this.#look(at) }
    return this.#latest.found
  }

  async #look(at: number): Promise<Attention> {
    const unknown: string[] = []
    const items: AttentionItem[] = []
    const look = async (what: string, find: () => Promise<readonly AttentionItem[]>): Promise<void> => {
      try {
        items.push(...(await find()))
      } catch {
        unknown.push(what)
      }
    }
    const service = this.#parts.workers()
    let workers: readonly WorkerView[] = []
    if (service?.enabled === true) {
      await look('workers', async () => {
        workers = await allWorkers(service)
        return workers.filter(({ state }) => state === 'FAILED').map(failedWorker)
      })
      await look('nodes', async () => (await service.nodes()).filter(({ alive }) => !alive).map(lostNode))
    }
    const breaker = this.#parts.breaker()
    if (breaker !== undefined) {
      const guarded = workers.filter(({ features }) => features.circuitBreaker === true)
      await look('circuit breakers', () => each(guarded, async ({ name }) => openCircuits(name, await breaker.status(name))))
    }
    const canaries = this.#parts.canaries()
    if (canaries !== undefined) {
      const tried = workers.filter(({ features }) => features.canary === true)
      await look('canaries', () => each(tried, async ({ name }) => waitingCanary(await canaries.status(name).catch(noCanary))))
    }
    items.sort((a, b) => Number(a.tone === 'warn') - Number(b.tone === 'warn') || (a.subject < b.subject ? -1 : 1))
    return { items, unknown, at: new Date(at).toISOString() }
  }
}

async function allWorkers(workers: Workers): Promise<readonly WorkerView[]> {
  const found: WorkerView[] = []
  for (let page = 1; found.length < mostWorkers; page++) {
    const next = await workers.list({ page, limit: pageSize })
    found.push(...next.workers)
    if (page >= next.pagination.totalPages) break
  }
  return found
}

async function each(
  workers: readonly WorkerView[],
  find: (worker: WorkerView) => Promise<readonly AttentionItem[]>,
): Promise<readonly AttentionItem[]> {
  const found: AttentionItem[] = []
  for (let from = 0; from < Math.min(workers.length, mostAsked); from += atOnce)
    found.push(...(await Promise.all(workers.slice(from, from + atOnce).map(find))).flat())
  return found
}

function failedWorker({ name, updatedAt }: WorkerView): AttentionItem {
  const text = 'has failed, and takes no jobs until it is restarted'
  return { tone: 'bad', kind: 'worker', subject: name, text, since: updatedAt, to: `/workers/${encodeURIComponent(name)}` }
}

function lostNode({ id, leaseUntil }: Awaited<ReturnType<Workers['nodes']>>[number]): AttentionItem {
  const text = 'lost its lease: other nodes have taken over its share of the workers'
  return { tone: 'bad', kind: 'node', subject: id, text, since: leaseUntil, to: '/workers' }
}

function openCircuits(name: string, { circuits }: Awaited<ReturnType<Breaker['status']>>): readonly AttentionItem[] {
  return circuits.map((circuit) => ({
    tone: circuit.state === 'open' ? 'bad' : 'warn',
    kind: 'breaker',
    subject: circuit.jobName === null ? name : `${name} (${circuit.jobName})`,
    since: circuit.since,
    text: circuit.state === 'open' ? `circuit is open, so that its jobs wait: ${circuit.reason}` : `circuit tries again: ${circuit.reason}`,
    to: `/workers/${encodeURIComponent(name)}`,
  }))
}

function waitingCanary(canary: Awaited<ReturnType<Canaries['status']>> | undefined): readonly AttentionItem[] {
  if (canary?.state !== 'PAUSED') return []
  const { canary: version, evidence, pausedFor, updatedAt, worker } = canary
  const text = `canary ${version.version} waits for a decision${pausedFor === undefined ? '' : ` (${pausedFor})`}: ${evidence.reason}`
  return [{ tone: 'warn', kind: 'canary', subject: worker, text, since: updatedAt, to: `/workers/${encodeURIComponent(worker)}` }]
}

/** A worker that may have a canary, and has none. */
function noCanary(error: unknown): undefined {
  if ((error as { readonly code?: unknown }).code !== 'NO_CANARY') throw error
  return undefined
}
