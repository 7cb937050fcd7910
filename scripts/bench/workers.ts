import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startServices } from '../services.js'
import type { BenchRow } from './row.js'

const rounds = 7
const concurrencies = [1, 10, 50]

/**
 * Jobs a second of a managed worker with every feature on against a bare BullMQ worker on the same store. Each side runs in a process
 * of its own and they take turns; the jobs are the same and are in the queue before the time runs; the median ratio counts.
 */
export async function benchWorkers(): Promise<BenchRow[]> {
  const services = await startServices()
  try {
    return [
      ...(await compare('Redis', [services.redisUrl], { jobs: 20_000, budget: 0.95 })),
      ...(await compare('embedded', [], { jobs: 1500, budget: 0.9 })),
    ]
  } finally {
    await services.stop()
  }
}

async function compare(store: string, args: readonly string[], { jobs, budget }: { jobs: number; budget: number }): Promise<BenchRow[]> {
  const sides = await Promise.all([start('bare', args), start('managed', args)])
  const [bare, managed] = sides
  try {
    const rows: BenchRow[] = []
    for (const concurrency of concurrencies) {
      const work = { jobs: concurrency === 1 ? jobs / 5 : jobs, concurrency }
      await measure(bare, work)
      await measure(managed, work)
      const pairs: { bare: number; managed: number }[] = []
      for (let round = 0; round < rounds; round++) {
        // The order changes from round to round, so that neither is always the one that follows the other.
        const first = round % 2 === 0 ? await measure(bare, work) : undefined
        const second = await measure(managed, work)
        pairs.push({ bare: first ?? (await measure(bare, work)), managed: second })
      }
      const ratio = median(pairs.map((pair) => pair.managed / pair.bare))
      rows.push(
        {
          name: `bare BullMQ worker on ${store}, concurrency ${concurrency}`,
          value: Math.round(median(pairs.map((pair) => pair.bare))),
          unit: 'jobs/s',
        },
        {
          name: `managed worker on ${store} against bare, concurrency ${concurrency}`,
          value: ratio,
          unit: 'x',
          budget: `>= ${budget.toFixed(2)}`,
          pass: ratio >= budget,
        },
      )
    }
    return rows
  } finally {
    await Promise.all(sides.map(stop))
  }
}

async function start(kind: 'bare' | 'managed', args: readonly string[]): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL('./workers-child.mjs', import.meta.url)), [kind, ...args], { execArgv: [] })
  await answer(child)
  return child
}

/** The next message of a side, or an error when it ends instead. */
async function answer(child: ChildProcess): Promise<unknown> {
  const over = new AbortController()
  const ended = once(child, 'exit', over).then(([code]) => Promise.reject(new Error(`a side of the workers suite ended with ${code}`)))
  try {
    const [message] = (await Promise.race([once(child, 'message', over), ended])) as [unknown]
    return message
  } finally {
    over.abort()
    ended.catch(() => undefined)
  }
}

/** Jobs a second. */
async function measure(child: ChildProcess, work: { readonly jobs: number; readonly concurrency: number }): Promise<number> {
  child.send(work)
  return (work.jobs / ((await answer(child)) as number)) * 1000
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.send('stop')
  await ended
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number
