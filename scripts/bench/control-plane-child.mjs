// The apps of the control-plane suite, on the built package: several hosts in one process, each a separate node.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { workers, workersService } from 'zin/plugins/workers'
import { Host, plainEnv } from 'zin/testing'

/** `managed`: every host has every worker. `bare`: every host has as many BullMQ workers. `nodes`: hosts that only manage workers. */
const [kind = 'managed', hostCount = '1', workerCount = '0', env = '{}'] = process.argv.slice(2)
const names = Array.from({ length: Number(workerCount) }, (_, n) => `worker-${n}`)
const folder = await mkdtemp(join(tmpdir(), 'zin-bench-'))
const hosts = []

async function startHost(index) {
  const plugins = kind === 'bare' ? [database(), queues()] : [database(), kv(), cluster(), queues(), ops(), workers({ processors })]
  const rootDir = join(folder, String(index))
  const settings = {
    LOG_LEVEL: 'error',
    WORKER_AUTO_START: 'true',
    WORKER_CONNECTION_TIMEOUT: '60000',
    ...(kind === 'nodes' ? { WORKER_ENABLED: 'false' } : {}),
  }
  const host = new Host({ plugins }, { rootDir, env: plainEnv({ ...settings, ...JSON.parse(env), ZIN_DATA_DIR: rootDir }) })
  await host.start({ listen: false })
  hosts.push(host)
  return host
}

const processors = Object.fromEntries(names.map((name) => [name, () => 1]))
const service = (host) => host.service(workersService)

async function until(test) {
  while (!(await test())) await new Promise((resolve) => setTimeout(resolve, 50))
}

async function inLanes(items, lanes, work) {
  const left = [...items]
  const lane = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

function createAll(host) {
  return inLanes(names, 20, (name) => service(host).create({ name, queueName: name }, { waitMs: 0 }))
}

const running = (host) =>
  service(host)
    .local.list()
    .filter(({ state }) => state === 'running').length

/** Creates the workers before the other hosts start, which is faster than notifying every host of every worker. */
async function start() {
  const first = await startHost(0)
  const rssBefore = process.memoryUsage.rss()
  const begun = performance.now()
  if (kind !== 'bare') await createAll(first)
  await inLanes(
    Array.from({ length: Number(hostCount) - 1 }, (_, index) => index + 1),
    4,
    startHost,
  )
  if (kind === 'bare') {
    const all = hosts.flatMap((host) => names.map((name) => host.service(queuesService).worker(name, async () => 1)))
    await Promise.all(all.map((worker) => worker.waitUntilReady()))
  } else {
    if (kind === 'managed') await until(() => hosts.every((host) => running(host) === names.length))
    await until(async () => (await service(first).nodes()).filter(({ alive }) => alive).length === hosts.length)
  }
  const memoryKiB = names.length === 0 ? 0 : (process.memoryUsage.rss() - rssBefore) / 1024 / names.length / hosts.length
  return { ms: performance.now() - begun, memoryKiB }
}

const tasks = {
  start,
  /** Reads a page of the list. */
  list: async () => (await service(hosts[0]).list({ limit: 100 })).workers.length,
  /** Creates workers sequentially, waiting until each runs; returns how many per second. */
  async create(count) {
    const begun = performance.now()
    for (let n = 0; n < count; n++) await service(hosts[0]).create({ name: `made-${n}`, queueName: 'made', processor: () => 1 })
    return count / ((performance.now() - begun) / 1000)
  },
  async stop() {
    await Promise.all(hosts.map((host) => host.stop()))
    await rm(folder, { recursive: true, force: true })
  },
}

process.on('message', async ({ task, value }) => {
  try {
    process.send({ value: await tasks[task](value) })
    if (task === 'stop') process.disconnect()
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) })
  }
})
process.send({ value: 'ready' })
