import type { HealthSample } from '../outcome.js'
import type { HistoryStore } from './contract.js'

/** Most samples per worker. */
const most = 10_000

/** History in memory, lost when the process ends. */
export function memoryHistory(): HistoryStore {
  const workers = new Map<string, HealthSample[]>()
  return {
    shared: false,
    async add(sample) {
      const samples = workers.get(sample.worker) ?? []
      samples.push(sample)
      if (samples.length > most) samples.shift()
      workers.set(sample.worker, samples)
    },
    async read(worker, since, limit) {
      const samples = workers.get(worker) ?? []
      return samples
        .filter((sample) => sample.at >= since)
        .sort((a, b) => b.at - a.at)
        .slice(0, limit)
    },
    async prune(before) {
      for (const [worker, samples] of workers) {
        const kept = samples.filter((sample) => sample.at >= before)
        if (kept.length === 0) workers.delete(worker)
        else workers.set(worker, kept)
      }
    },
  }
}
