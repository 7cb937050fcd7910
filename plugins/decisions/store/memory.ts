import type { Decision } from '../contract.js'
import type { DecisionStore } from './contract.js'

/** Maximum number of decisions in memory; beyond it, the oldest are dropped. */
const most = 10_000

/** Stores decisions in memory; they are lost when the process ends. */
export function memoryStore(): DecisionStore {
  let kept: readonly Decision[] = []
  const newestFirst = (a: Decision, b: Decision): number => compare(b.at, a.at) || compare(b.id, a.id)
  return {
    kind: 'memory',
    async add(decisions) {
      const known = new Set(kept.map(({ id }) => id))
      kept = [...kept, ...decisions.filter(({ id }) => !known.has(id))].sort(newestFirst).slice(0, most)
    },
    async list({ subject, kind, since, offset, limit }) {
      const matching = kept.filter(
        (one) =>
          (subject === undefined || one.subject === subject) &&
          (kind === undefined || one.kind === kind) &&
          (since === undefined || Date.parse(one.at) >= since),
      )
      return { decisions: matching.slice(offset, offset + limit), total: matching.length }
    },
    async prune(before, keep) {
      kept = kept.slice(0, keep).filter(({ at }) => Date.parse(at) >= before)
    },
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
