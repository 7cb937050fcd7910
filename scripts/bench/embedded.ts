import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { openEmbeddedBackend } from '../../plugins/queues/backends/embedded.js'
import { openEmbedded } from '../../plugins/queues/embedded/open.js'
import type { BenchRow } from './row.js'

const few = 500
const many = 200_000
/** Calls per measurement; the median counts. */
const calls = 9
/** Jobs that a search of the monitor reads, 100 at a time. */
const searched = 2_000

/** Jobs of which one in ten has failed, as a processor would leave them. */
const kept = `insert into job (queue, id, seq, name, state, data, opts, added_at_ms, processed_at_ms, finished_at_ms, return_value)
  select 'kept', i::text, i, 'job', (case when i % 10 = 0 then 'failed' else 'completed' end)::job_state,
    jsonb_build_object('text', repeat('a', 200), 'n', i), '{"attempts": 3}', 1700000000000 + i, 1700000000000 + i, 1700000000000 + i, '{"ok": true}'
  from generate_series($1::int, $2::int) i`

interface Measured {
  /** Median duration in ms. */
  readonly ms: number
  /** Longest time that the event loop was blocked, in ms. */
  readonly stallMs: number
}

async function measure(run: () => Promise<unknown>): Promise<Measured> {
  const delays = monitorEventLoopDelay({ resolution: 1 })
  const durations: number[] = []
  await run()
  delays.enable()
  for (let call = 0; call < calls; call++) {
    const start = performance.now()
    await run()
    durations.push(performance.now() - start)
  }
  delays.disable()
  return { ms: durations.toSorted((a, b) => a - b)[Math.floor(calls / 2)] ?? 0, stallMs: delays.max / 1e6 }
}

/** Measures what the embedded queue costs with few and with many kept jobs. */
export async function benchEmbedded(): Promise<BenchRow[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'zin-bench-embedded-'))
  const store = await openEmbedded({ dataDir, fsync: false })
  const backend = openEmbeddedBackend(store)
  const queue = backend.makeQueue('kept', {})
  const reads: Readonly<Record<string, () => Promise<unknown>>> = {
    counts: () => backend.counts(['kept']),
    sample: () => backend.samples(['kept']),
    'first page of 20': () => backend.page(queue, 'completed', 0, 20, true),
    'search over 2,000 jobs': async () => {
      for (let offset = 0; offset < searched; offset += 100) await backend.page(queue, 'completed', offset, 100, true)
    },
    maintenance: () => store.maintain(),
  }
  const of = async (from: number, to: number): Promise<ReadonlyMap<string, Measured>> => {
    await store.pool.query(kept, [from, to])
    await store.maintain()
    const found = new Map<string, Measured>()
    for (const [name, run] of Object.entries(reads)) found.set(name, await measure(run))
    return found
  }
  try {
    const small = await of(1, few)
    const large = await of(few + 1, many)
    return Object.keys(reads).flatMap((name) => {
      const [least, most] = [small.get(name), large.get(name)]
      return [
        { name: `embedded: ${name}, ${few} kept jobs`, value: least?.ms ?? 0, unit: 'ms' },
        { name: `the same, ${many} kept jobs`, value: most?.ms ?? 0, unit: 'ms' },
        { name: 'the same, longest time that the process was blocked', value: most?.stallMs ?? 0, unit: 'ms' },
      ]
    })
  } finally {
    await queue.close()
    await store.close()
    await rm(dataDir, { recursive: true, force: true })
  }
}
