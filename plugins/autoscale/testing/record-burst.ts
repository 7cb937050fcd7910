// Records how a burst of 10,000 jobs is handled on a real Redis, for recommend/burst.test.ts. Run it with REDIS_URL set to an empty Redis.
import { writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { cluster } from 'zin/plugins/cluster'
import { decisions } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { workers, workersService } from 'zin/plugins/workers'
import { createTestHost } from 'zin/testing'
import { autoscale } from '../index.js'
import type { Recommendation, ScalingLimits, Signals } from '../recommend/recommend.js'

const policy = { drainSeconds: 10, stabilizationSeconds: 20 }
const name = 'burst'
const host = await createTestHost({
  plugins: [kv(), cluster(), queues(), ops(), decisions(), workers(), autoscale(policy)],
  env: {
    REDIS_URL: process.env.REDIS_URL ?? '',
    WORKER_AUTO_START: 'true',
    WORKER_AUTO_SCALING_ENABLED: 'true',
    WORKER_AUTO_SCALING_INTERVAL: '1',
  },
})
const service = host.service(workersService)
const store = host.service(queuesService)
await service.create({
  name,
  queueName: name,
  concurrency: 5,
  processor: () => setTimeout(50),
  features: { autoScaling: true },
  extensions: { autoscale: { minWorkers: 1, maxWorkers: 8, scaleUpThreshold: 100, scaleDownThreshold: 10 } },
})
for (let batch = 0; batch < 10; batch++) {
  await store.addBulk(
    name,
    Array.from({ length: 1000 }, (_, job) => ({ name: 'job', data: batch * 1000 + job })),
  )
}

interface Evaluation {
  readonly signals: Signals
  readonly limits: ScalingLimits
  readonly recommendation: Recommendation
}
const evaluations = (): readonly Evaluation[] =>
  host.logs.flatMap((line) => ('recommendation' in line ? [line as unknown as Evaluation] : []))
const isBack = (): boolean => {
  const all = evaluations()
  const last = all.at(-1)
  return all.some(({ signals }) => signals.current > 1) && last?.signals.backlog === 0 && last.signals.current === 1
}
for (let second = 0; second < 300 && !isBack(); second++) await setTimeout(1000)
await setTimeout(5000)
const recorded = evaluations().map(({ limits, recommendation, signals }) => ({ signals, limits, recommendation }))
writeFileSync(new URL('burst-10000.json', import.meta.url), `${JSON.stringify({ policy, evaluations: recorded }, null, 1)}\n`)
const { completed } = await store.counts(name)
console.log(`${recorded.length} evaluations, ${completed} jobs kept as completed`)
await host.stop()
