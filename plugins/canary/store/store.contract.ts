import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { addAttempt, type Evidence, emptyEvidence, type FirstAttempt } from '../judge/index.js'
import { moved } from '../machine.js'
import type { CanaryRecord, CanaryState } from '../record.js'
import { canaryRecord } from '../testing/record.js'
import { itself } from '../transitions.js'
import { type CanaryStore, mostPast } from './contract.js'

const go = (record: CanaryRecord, to: CanaryState, at = 1): CanaryRecord =>
  moved(record, { to, at, actor: itself, reason: `${to} at ${at}` })

/** The contract of every store of canaries. Each call of `open` returns another process's view of the same store. */
export function canaryStoreContract(title: string, open: () => CanaryStore): void {
  const fresh = (worker = `worker-${randomUUID()}`): CanaryRecord => canaryRecord({ id: randomUUID(), worker })
  const isLive = async (store: CanaryStore, { id }: CanaryRecord) => (await store.live()).some((record) => record.id === id)

  describe(`canaries in ${title}`, () => {
    it('are started by only one of several concurrent processes', async () => {
      const worker = `worker-${randomUUID()}`
      const all = Array.from({ length: 8 }, () => fresh(worker))
      const [one, other] = [open(), open()]
      const inserted = await Promise.all(all.map((record, index) => (index % 2 === 0 ? one : other).insert(record, undefined)))
      const first = all[inserted.indexOf(true)] as CanaryRecord
      assert.equal(inserted.filter(Boolean).length, 1)
      assert.deepEqual(await other.get(worker), first)
      assert.equal(await isLive(other, first), true)
      assert.equal(await one.get(`unknown-${worker}`), undefined)
    })

    it('are changed by only one process per generation, and not by one with an earlier canary', async () => {
      const [one, other] = [open(), open()]
      const record = fresh()
      await one.insert(record, undefined)
      const changes = [go(record, 'RUNNING'), go(record, 'ROLLING_BACK'), go(record, 'FAILED_TO_START')]
      const written = await Promise.all(changes.map((change, index) => (index === 1 ? other : one).replace(change)))
      assert.equal(written.filter(Boolean).length, 1)
      assert.deepEqual(await one.get(record.worker), changes[written.indexOf(true)])
      assert.equal(await one.replace(go(record, 'RUNNING')), false)
      assert.equal(await one.replace({ ...go(record, 'RUNNING'), generation: 3, id: randomUUID() }), false)
      assert.equal(await one.replace(go(fresh(), 'RUNNING')), false)
    })

    it('are not listed as live once they have ended, and are kept when the next one begins', async () => {
      const store = open()
      const first = fresh()
      await store.insert(first, undefined)
      const ended = go(first, 'FAILED_TO_START', 5)
      assert.equal(await store.replace(ended), true)
      assert.equal(await isLive(store, first), false)
      assert.deepEqual(await store.past(first.worker), [])

      const second = fresh(first.worker)
      assert.equal(await store.insert(second, first), false, 'it is not the last one any more')
      assert.equal(await store.insert(second, ended), true)
      assert.equal(await isLive(store, second), true)
      assert.deepEqual(await store.past(first.worker), [
        {
          id: first.id,
          stable: '1.0.0',
          canary: '2.0.0',
          state: 'FAILED_TO_START',
          startedAt: '1970-01-01T00:00:00.000Z',
          endedAt: '1970-01-01T00:00:00.005Z',
          reason: 'FAILED_TO_START at 5',
        },
      ])
    })

    it(`keep the last ${mostPast} of a worker, newest first`, async () => {
      const store = open()
      const { worker } = fresh()
      const ids: string[] = []
      let last: CanaryRecord | undefined
      for (let round = 0; round <= mostPast + 1; round++) {
        const record = fresh(worker)
        ids.unshift(record.id)
        assert.equal(await store.insert(record, last), true)
        last = go(record, 'FAILED_TO_START', round)
        await store.replace(last)
      }
      assert.deepEqual(
        (await store.past(worker)).map(({ id }) => id),
        ids.slice(1, mostPast + 1),
      )
    })

    it('add up the evidence of all nodes, each with its last value for a step', async () => {
      const [one, other] = [open(), open()]
      const canary = randomUUID()
      const seen = (...outcomes: readonly FirstAttempt['outcome'][]): Evidence => {
        const evidence = emptyEvidence()
        for (const outcome of outcomes) addAttempt(evidence, { step: 0, arm: 'canary', stratum: '*', bucket: 7, outcome })
        return evidence
      }
      assert.deepEqual(await one.evidence(canary, 2), { cells: {} })
      await Promise.all([one.saveEvidence(canary, 'a', 0, seen('ok')), other.saveEvidence(canary, 'b', 0, seen('failed', 'lost'))])
      await one.saveEvidence(canary, 'a', 0, seen('ok', 'ok'))
      assert.deepEqual(await other.evidence(canary, 2), { cells: { '0/canary/*': { 7: [4, 1, 0, 0, 1] } } })
      assert.deepEqual(await one.evidence(randomUUID(), 2), { cells: {} })
    })

    it('store the casualties of every node', async () => {
      const [one, other] = [open(), open()]
      const canary = randomUUID()
      const [first, second, third] = ['1', '2', '3'].map((id) => ({ queue: 'emails', id, at: 1 }))
      assert.ok(first && second && third)
      assert.deepEqual(await one.casualties(canary), [])
      await Promise.all([one.saveCasualties(canary, 'a', [first]), other.saveCasualties(canary, 'b', [third])])
      await one.saveCasualties(canary, 'a', [first, second])
      const found = (await other.casualties(canary)).toSorted((a, b) => a.id.localeCompare(b.id))
      assert.deepEqual(found, [first, second, third])
    })
  })
}
