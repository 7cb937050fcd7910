// npm run model [-- --runs 200 --seed 1 --steps 40 --backend embedded | services --kills --minutes 60]: drives the management of workers and
// jobs by random sequences, two actions at a time, on the embedded stores and on two processes with Redis and MariaDB, and compares what is
// reported with what the processors did. A sequence that fails is shortened before it is printed.
import { parseArgs } from 'node:util'
import type { Env } from '../app-process.js'
import { startServices } from '../services.js'
import fc from '../testing/properties.js'
import { runModel } from './run.js'
import { sequences } from './steps.js'
import { startSystem } from './system.js'

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '200' },
    seed: { type: 'string' },
    steps: { type: 'string', default: '40' },
    backend: { type: 'string' },
    kills: { type: 'boolean', default: false },
    minutes: { type: 'string' },
  },
})
const seed = Number(values.seed ?? Date.now() % 1_000_000_000)
const runs = Number(values.runs)
const limitMs = values.minutes === undefined ? undefined : Number(values.minutes) * 60_000

async function drive(backend: string, nodes: number, env: Env): Promise<boolean> {
  const started = performance.now()
  let done = 0
  let isOver = false
  let system = await startSystem(nodes, env)
  const property = fc.asyncProperty(sequences({ steps: Number(values.steps), kills: values.kills }), async (steps) => {
    try {
      await runModel(system, steps)
      done++
    } catch (error) {
      // The time was up: the system that this sequence used is gone.
      if (isOver) return
      console.error(`\n✗ ${backend}: ${(error as Error).message}`)
      // What hangs would make every shorter sequence fail, too.
      await system.stop()
      system = await startSystem(nodes, env)
      throw error
    }
  })
  try {
    const { failed, counterexamplePath } = await fc.check(property, {
      seed,
      numRuns: runs,
      ...(limitMs === undefined ? {} : { interruptAfterTimeLimit: limitMs, markInterruptAsFailure: false }),
    })
    const took = Math.round((performance.now() - started) / 1000)
    console.log(
      `${failed ? '✗' : '✓'} ${backend}: ${done} sequences in ${took} s, seed ${seed}${failed ? `, path ${counterexamplePath}` : ''}`,
    )
    return !failed
  } finally {
    isOver = true
    await system.stop()
  }
}

const backends: Readonly<Record<string, () => Promise<boolean>>> = {
  embedded: () => drive('embedded', 1, {}),
  async services() {
    const services = await startServices()
    try {
      const database = { DB_CONNECTION: 'rdb', DB_HOST: '127.0.0.1', DB_PORT: `${services.mysqlPort}`, DB_DATABASE: 'zin' }
      return await drive('Redis and MariaDB', 2, { REDIS_URL: services.redisUrl, ...database, DB_USERNAME: 'zin', DB_PASSWORD: 'zin' })
    } finally {
      await services.stop()
    }
  },
}

const chosen = Object.entries(backends).filter(([name]) => values.backend === undefined || values.backend === name)
for (const [, run] of chosen) if (!(await run())) process.exitCode = 1
