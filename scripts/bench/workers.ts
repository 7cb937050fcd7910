import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startServices } from '../services.js'
import type { BenchRow } from './row.js'

/** Two processes that do the same differ by some percent for as long as they live, so new ones take over. */
const generations = 5
const rounds = 3
const concurrencies = [1, 10, 50]

interface Work {
  readonly jobs: number
  readonly concurrency: number
}

/** Jobs a second. */
interface Pair {
  readonly bare: number
  readonly managed: number
}

/**
 * Jobs a second of a managed worker with every feature on against a bare BullMQ worker on the same store. Each side runs in a process
 * of its own and they take turns; the jobs are the same and are in the queue before the time runs; the median ratio counts.
 */
export async function benchWorkers(): Promise<BenchRow[]> {
  const services = await startServices()
  try {
    return [
      ...(await compare('Redis', [services.redisUrl], { jobs: 8000, budget: 0.95 })),
      ...(await compare('embedded', [], { jobs: 500, budget: 0.9 })),
    ]
  } finally {
    await services.stop()
  }
}

async function compare(store: string, args: readonly string[], { jobs, budget }: { jobs: number; budget: number }): Promise<BenchRow[]> {
  const pairs = new Map<number, Pair[]>(concurrencies.map((concurrency) => [concurrency, []]))
  for (let generation = 0; generation < generations; generation++) {
    const [bare, managed] = await Promise.all([start('bare', args), start('managed', args)])
    try {
      for (const [concurrency, measured] of pairs) {
        const work = { jobs: concurrency === 1 ? jobs / 4 : jobs, concurrency }
        await measure(bare, work)
        await measure(managed, work)
        for (let round = 0; round < rounds; round++) measured.push(await measurePair(bare, managed, work, round % 2 === 0))
      }
    } finally {
      await Promise.all([bare, managed].map(stop))
    }
  }
  return [...pairs].flatMap(([concurrency, measured]) => {
    const ratio = median(measured.map((pair) => pair.managed / pair.bare))
    return [
      {
        name: `bare BullMQ worker on ${store}, concurrency ${concurrency}`,
        value: Math.round(median(measured.map((pair) => pair.bare))),
        unit: 'jobs/s',
      },
      {
        name: `managed worker on ${store} against bare, concurrency ${concurrency}`,
        value: ratio,
        unit: 'x',
        budget: `>= ${budget.toFixed(2)}`,
        pass: ratio >= budget,
      },
    ]
  })
}

/** The order changes from round to round, so that neither is always the one that follows the other. */
async function measurePair(bare: ChildProcess, managed: ChildProcess, work: Work, bareFirst: boolean): Promise<Pair> {
  if (bareFirst) return { bare: await measure(bare, work), managed: await measure(managed, work) }
  return { managed: await measure(managed, work), bare: await measure(bare, work) }
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
async function measure(child: ChildProcess, work: Work): Promise<number> {
  child.send(work)
  return (work.jobs / ((await answer(child)) as number)) * 1000
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.send('stop')
  await ended
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number
