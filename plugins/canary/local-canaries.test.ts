import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { fakeClock, memoryLogger } from 'zin/testing'
import type { Evidence } from './judge/index.js'
import { LocalCanaries, type LocalParts } from './local-canaries.js'
import { canaryRecord } from './testing/record.js'

/** The canary of a worker in one process. */
function localCanary(replay: LocalParts['replay'] = async () => undefined) {
  const stored: string[] = []
  const listeners = new Map<string, (end: object) => void>()
  const local = new LocalCanaries({
    store: {
      async saveEvidence(_canary: string, _node: string, _step: number, evidence: Evidence) {
        const text = JSON.stringify(evidence)
        await setImmediate()
        stored.push(text)
      },
      saveCasualties: async () => undefined,
    },
    workers: { routeVersions: () => () => undefined },
    cluster: { node: { id: 'n1' }, send: async () => undefined },
    hooks: {
      on(name: string, listener: (end: object) => void) {
        listeners.set(name, listener)
        return () => undefined
      },
    },
    clock: fakeClock(),
    log: memoryLogger(),
    replay,
    closeMs: () => 5_000,
  } as unknown as LocalParts)
  // An attempt that was routed by a process that is gone.
  const end = (id: string, outcome = 'completed') =>
    listeners.get('onAttemptEnd')?.({
      worker: 'emails',
      version: '2.0.0',
      node: null,
      outcome,
      final: true,
      runMs: 1,
      job: { id, name: 'mail', queue: 'emails' },
    })
  const running = canaryRecord({ state: 'RUNNING' })
  local.take(running)
  const rollBack = () =>
    local.take({ ...running, generation: 2, state: 'ROLLED_BACK', spec: { ...running.spec, autoReplay: true, autoRollback: true } })
  return { end, local, rollBack, stored }
}

it('the canaries of a process store all counts before they close, also those that a running flush has missed', async () => {
  const { end, local, stored } = localCanary()
  end('1')
  const running = local.flush()
  end('2')
  await local.close()
  await running
  const jobs = Object.values((JSON.parse(stored.at(-1) ?? '{}') as Evidence).cells).flatMap((cell) =>
    Object.values(cell).map(([count]) => count),
  )
  assert.deepEqual([stored.length, jobs.reduce((sum, count) => sum + count, 0)], [2, 2])
})

it('the canaries of a process finish automatic replays before they close', async () => {
  const replayed: string[] = []
  const { end, local, rollBack } = localCanary(async (_record, casualties) => {
    for (let turn = 0; turn < 20; turn++) await setImmediate()
    replayed.push(...casualties.map(({ id }) => id))
  })
  end('1', 'failed')
  rollBack()
  await local.close()
  assert.deepEqual(replayed, ['1'])
})

it('an automatic replay that fails is repeated for the jobs that were not replayed', async () => {
  const tries: string[][] = []
  const { end, local, rollBack } = localCanary(async (_record, casualties, onDone) => {
    tries.push(casualties.map(({ id }) => id))
    if (tries.length > 1) return
    casualties.slice(0, 1).forEach(onDone)
    throw new Error('the queue did not respond')
  })
  for (const id of ['1', '2']) end(id, 'failed')
  rollBack()
  await local.flush()
  await setImmediate()
  await local.flush()
  await local.close()
  assert.deepEqual(tries, [['1', '2'], ['2']])
})
