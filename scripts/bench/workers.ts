import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startServices } from '../services.js'
import { inTurn, median, medianRatio, type Round } from './rounds.js'
import type { BenchRow } from './row.js'

/** Two processes of the same code differ by a few percent for as long as they live, so each generation starts new ones. */
const generations = 5
const rounds = 3
const plain = { kinds: ['managed', 'bare'], concurrencies: [1, 10, 50] } as const

/** See workers-child.mjs. */
type Kind = 'bare' | 'managed' | 'idle' | 'acting' | 'observed' | 'compliant'

interface Comparison {
  readonly store: string
  readonly args: readonly string[]
  readonly jobs: number
  /** The minimum ratio. */
  readonly budget: number
  /** What is measured, and its baseline. */
  readonly kinds: readonly [kind: Kind, against: Kind]
  readonly concurrencies: readonly number[]
}

const names: Readonly<Record<Kind, string>> = {
  bare: 'bare BullMQ worker',
  managed: 'managed worker',
  idle: 'managed worker with idle canary, breaker, resources and autoscale',
  observed: 'managed worker with metrics and 1 % of the traces',
  compliant: 'managed worker with audit log and encryption',
  acting: 'managed worker with a canary at 20 %, breaker and resources',
}

interface Work {
  readonly jobs: number
  readonly concurrency: number
}

/**
 * Measures jobs per second of a managed worker with every feature on, against a bare BullMQ worker on the same store. The sides run in separate
 * processes and alternate. The jobs are the same and are in the queue before the measurement starts; the median ratio counts. On Redis, a third
 * process adds the jobs: after bulk adds, V8 allocates similar objects in the old generation, including Redis commands, and how many differs
 * from process to process.
 */
export async function benchWorkers(): Promise<BenchRow[]> {
  const services = await startServices()
  const redis = { store: 'Redis', args: [services.redisUrl], jobs: 20_000 }
  try {
    return [
      ...(await compareWorkers({ ...redis, ...plain, budget: 0.95 })),
      ...(await compareWorkers({ ...redis, kinds: ['acting', 'bare'], concurrencies: [10], budget: 0.93 })),
      ...(await compareWorkers({ ...redis, kinds: ['idle', 'managed'], concurrencies: [10], budget: 0.97 })),
      ...(await compareWorkers({ ...plain, store: 'embedded', args: [], jobs: 500, budget: 0.9 })),
    ]
  } finally {
    await services.stop()
  }
}

/** Measures jobs per second of two sides alternately. */
export async function compareWorkers({ args, budget, concurrencies, jobs, kinds, store }: Comparison): Promise<BenchRow[]> {
  const [kind, against] = kinds
  const pairs = new Map<number, Round[]>(concurrencies.map((concurrency) => [concurrency, []]))
  for (let generation = 0; generation < generations; generation++) {
    const [base, measured] = await Promise.all([start(against, args), start(kind, args)])
    const producers = args.length > 0 ? [await start(producerOf(against), args), await start(producerOf(kind), args)] : []
    const measure = async (side: ChildProcess, { jobs, concurrency }: Work): Promise<number> => {
      const producer = producers[side === base ? 0 : 1]
      const name = `bench-${randomUUID().slice(0, 8)}`
      await ask(side, { name, concurrency })
      await ask(producer ?? side, { name, jobs })
      return (jobs / ((await ask(side, { name, jobs, concurrency })) as number)) * 1000
    }
    try {
      for (const [concurrency, seen] of pairs) {
        const work = { jobs: concurrency === 1 ? jobs / 4 : jobs, concurrency }
        await measure(base, work)
        await measure(measured, work)
        const compared = await inTurn(
          rounds,
          () => measure(base, work),
          () => measure(measured, work),
        )
        seen.push(...compared)
      }
    } finally {
      await Promise.all([base, measured, ...producers].map(stop))
    }
  }
  return [...pairs].flatMap(([concurrency, seen]) => {
    const ratio = medianRatio(seen)
    return [
      {
        name: `${names[against]} on ${store}, concurrency ${concurrency}`,
        value: Math.round(median(seen.map(({ baseline }) => baseline))),
        unit: 'jobs/s',
      },
      {
        name: `${names[kind]} on ${store} against ${against}, concurrency ${concurrency}`,
        value: ratio,
        unit: 'x',
        budget: `>= ${budget.toFixed(2)}`,
        pass: ratio >= budget,
      },
    ]
  })
}

/** Jobs are encrypted by the producer; otherwise the kind of producer makes no difference. */
const producerOf = (kind: Kind): Kind => (kind === 'compliant' ? kind : 'bare')

async function start(kind: Kind, args: readonly string[]): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL('./workers-child.mjs', import.meta.url)), [kind, ...args], { execArgv: [] })
  await answer(child)
  return child
}

/** The next message of a side; rejects if it exits instead. */
async function answer(child: ChildProcess): Promise<unknown> {
  const over = new AbortController()
  const ended = once(child, 'exit', over).then(([code]) => Promise.reject(new Error(`a side of the workers suite exited with ${code}`)))
  try {
    const [message] = (await Promise.race([once(child, 'message', over), ended])) as [unknown]
    return message
  } finally {
    over.abort()
    ended.catch(() => undefined)
  }
}

async function ask(child: ChildProcess, message: object): Promise<unknown> {
  child.send(message)
  return answer(child)
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.send('stop')
  await ended
}
