import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { fakeClock, memoryLogger } from 'zin/testing'
import type { Evidence } from './judge/index.js'
import { LocalCanaries, type LocalParts } from './local-canaries.js'
import { canaryRecord } from './testing/record.js'

/** The canary of a worker in one process. */
function localCanary(replay: LocalParts['replay'] = async () => undefined, hidesErrors = false) {
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
    hidesErrors: () => hidesErrors,
    replay,
    closeMs: () => 5_000,
  } as unknown as LocalParts)
  // An attempt that was routed by a process that is gone.
  const end = (id: string, outcome = 'completed', more: object = {}) =>
    listeners.get('onAttemptEnd')?.({
      worker: 'emails',
      version: '2.0.0',
      node: null,
      outcome,
      final: true,
      runMs: 1,
      job: { id, name: 'mail', queue: 'emails' },
      ...(outcome === 'failed' ? { error: new Error(`no mailbox ${id}`) } : {}),
      ...more,
    })
  const running = canaryRecord({ state: 'RUNNING' })
  local.take(running)
  const rollBack = () =>
    local.take({ ...running, generation: 2, state: 'ROLLED_BACK', spec: { ...running.spec, autoReplay: true, autoRollback: true } })
  /** As after a replay on request. */
  const later = () => local.take({ ...running, generation: 2, state: 'ROLLED_BACK', replaysLater: true })
  return { end, later, local, rollBack, stored }
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

it('the errors of both versions are counted with the attempts, retries included, and stored with them', async () => {
  for (const [hidesErrors, message] of [
    [false, 'no mailbox <n>'],
    [true, '[redacted]'],
  ] as const) {
    const { end, local, stored } = localCanary(undefined, hidesErrors)
    end('1', 'failed')
    for (const id of ['2', '3']) end(id, 'failed', { version: '1.0.0', node: 'n1', final: false, attempt: 2 })
    end('4', 'failed', { version: '3.0.0' })
    end('5', 'deferred', { error: new Error('later') })
    await local.close()
    assert.deepEqual((JSON.parse(stored.at(-1) ?? '{}') as Evidence).errors, {
      stable: [{ class: 'Error', message, count: 2, example: '2' }],
      canary: [{ class: 'Error', message, count: 1, example: '1' }],
    })
  }
})

it('jobs that fail after a replay on request are replayed too, and those that it knew are left to it', async () => {
  const replayed: string[] = []
  const { end, later, local } = localCanary(async (_record, casualties) => void replayed.push(...casualties.map(({ id }) => id)))
  end('1', 'failed')
  await local.flush()
  later()
  end('2', 'failed')
  await local.flush()
  await local.close()
  assert.deepEqual(replayed, ['2'])
})
