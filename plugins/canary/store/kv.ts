import { withDeadline } from 'zin'
import { type Kv, updateKey } from 'zin/plugins/kv'
import type { PastCanary } from '../contract.js'
import { canaryErrors } from '../errors.js'
import { type Evidence, emptyEvidence, mergeEvidence } from '../judge/index.js'
import { isLive, isOfSameWorker } from '../machine.js'
import type { CanaryRecord } from '../record.js'
import { type CanaryStore, type Casualty, mostPast } from './contract.js'

export type KeyValues = Pick<Kv, 'get' | 'getMany' | 'set' | 'delete'>

const deadlineMs = 5_000
/** How long evidence and casualties are kept, in ms. */
const keepMs = 30 * 86_400_000
const batch = 100

const keys = {
  record: (worker: string) => `canary:of:${worker}`,
  past: (worker: string) => `canary:past:${worker}`,
  live: 'canary:live',
  nodes: (canary: string) => `canary:nodes:${canary}`,
  evidence: (canary: string, node: string, step: number) => `canary:seen:${canary}:${step}:${node}`,
  casualties: (canary: string, node: string) => `canary:casualties:${canary}:${node}`,
}

/** Stores canaries in the app's key-value store: Redis, or a table of the database. */
export function kvStore(values: KeyValues, kind: CanaryStore['kind']): CanaryStore {
  const known = new Set<string>()
  const kv: KeyValues = {
    get: (key) => ask(values.get(key)),
    getMany: async (wanted) => {
      const found: (string | null)[] = []
      for (let at = 0; at < wanted.length; at += batch) found.push(...(await ask(values.getMany(wanted.slice(at, at + batch)))))
      return found
    },
    set: (key, value, options) => ask(values.set(key, value, options)),
    delete: (key) => ask(values.delete(key)),
  }
  const read = async <T>(key: string): Promise<T | undefined> => parsed<T>(await kv.get(key))
  /** Changes a list that several processes write to. */
  const change = async <T>(key: string, next: (list: readonly T[]) => readonly T[], ttlMs?: number): Promise<void> => {
    await updateKey(kv, key, (text) => {
      const list = parsed<readonly T[]>(text) ?? []
      const after = next(list)
      return after === list ? undefined : { value: JSON.stringify(after), ...(ttlMs === undefined ? {} : { ttlMs }) }
    })
  }
  const mark = (worker: string) => change<string>(keys.live, (list) => (list.includes(worker) ? list : [...list, worker]))
  const unmark = (worker: string) =>
    change<string>(keys.live, (list) => (list.includes(worker) ? list.filter((one) => one !== worker) : list))
  const nodesOf = async (canary: string) => (await read<readonly string[]>(keys.nodes(canary))) ?? []
  /** Registers a node that has data of a canary, once. */
  const join = async (canary: string, node: string): Promise<void> => {
    const key = `${canary} ${node}`
    if (known.has(key)) return
    await change<string>(keys.nodes(canary), (list) => (list.includes(node) ? list : [...list, node]), keepMs)
    if (known.size > 1000) known.clear()
    known.add(key)
  }
  const get = (worker: string) => read<CanaryRecord>(keys.record(worker))

  return {
    kind,
    get,
    async live() {
      const workers = (await read<readonly string[]>(keys.live)) ?? []
      if (workers.length === 0) return []
      const found = await kv.getMany(workers.map(keys.record))
      return found.flatMap((text) => parsed<CanaryRecord>(text) ?? []).filter(isLive)
    },
    async insert(record, last) {
      const condition = last === undefined ? { ifAbsent: true } : { ifValue: JSON.stringify(last) }
      if (!(await kv.set(keys.record(record.worker), JSON.stringify(record), condition))) return false
      await mark(record.worker)
      // Those of an earlier worker of the same name are forgotten.
      if (last !== undefined)
        await change<PastCanary>(keys.past(record.worker), (list) =>
          isOfSameWorker(record, last) ? [pastOf(last), ...list].slice(0, mostPast) : [],
        )
      return true
    },
    async replace(record) {
      const key = keys.record(record.worker)
      const before = await kv.get(key)
      const stored = parsed<CanaryRecord>(before)
      if (before === null || stored?.id !== record.id || stored.generation !== record.generation - 1) return false
      if (!(await kv.set(key, JSON.stringify(record), { ifValue: before }))) return false
      if (!isLive(record)) {
        await unmark(record.worker)
        // Another canary may have been started meanwhile.
        const now = await get(record.worker)
        if (now !== undefined && isLive(now)) await mark(record.worker)
      }
      return true
    },
    mark,
    past: async (worker) => (await read<readonly PastCanary[]>(keys.past(worker))) ?? [],

    async saveEvidence(canary, node, step, evidence) {
      await join(canary, node)
      await kv.set(keys.evidence(canary, node, step), JSON.stringify(evidence), { ttlMs: keepMs })
    },
    async evidence(canary, steps) {
      const nodes = await nodesOf(canary)
      const wanted = nodes.flatMap((node) => Array.from({ length: steps }, (_, step) => keys.evidence(canary, node, step)))
      const all = emptyEvidence()
      for (const text of await kv.getMany(wanted)) {
        const part = parsed<Evidence>(text)
        if (part !== undefined) mergeEvidence(all, part)
      }
      return all
    },
    async saveCasualties(canary, node, casualties) {
      await join(canary, node)
      await kv.set(keys.casualties(canary, node), JSON.stringify(casualties), { ttlMs: keepMs })
    },
    async casualties(canary) {
      const nodes = await nodesOf(canary)
      const found = await kv.getMany(nodes.map((node) => keys.casualties(canary, node)))
      return found.flatMap((text) => parsed<readonly Casualty[]>(text) ?? [])
    },
  }
}

async function ask<T>(response: Promise<T>): Promise<T> {
  return withDeadline(response, deadlineMs, () => canaryErrors.CANARY_STORE_UNAVAILABLE(`no response within ${deadlineMs} ms`))
}

function parsed<T>(text: string | null): T | undefined {
  return text === null ? undefined : (JSON.parse(text) as T)
}

function pastOf({ canary, endedAt, history, id, judgement, stable, startedAt, state, updatedAt }: CanaryRecord): PastCanary {
  const iso = (ms: number) => new Date(ms).toISOString()
  const reason = history.at(-1)?.reason ?? ''
  const errors = judgement?.errors?.canary ?? []
  const past = { id, stable, canary, state, startedAt: iso(startedAt), endedAt: iso(endedAt ?? updatedAt), reason }
  return errors.length === 0 ? past : { ...past, errors }
}
