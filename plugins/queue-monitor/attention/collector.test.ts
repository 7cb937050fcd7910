import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AttentionFact, AttentionReport } from 'zin'
import type { Cluster } from 'zin/plugins/cluster'
import type { Kv } from 'zin/plugins/kv'
import { Collector } from './collector.js'

const fact: AttentionFact = { kind: 'jam', subject: 'printer:1', cause: 'It is jammed', act: { label: 'Open', href: '/console' } }

/** Processes of an app with one store; each has one plugin, `office`, which declares two kinds, and `lamp`, which declares none. */
function appOf(processes: Readonly<Record<string, (where: 'app' | 'process') => AttentionReport | Error>>) {
  const stored = new Map<string, string>()
  const kv = {
    set: async (key: string, value: string) => stored.set(key, value).size > 0,
    delete: async (key: string) => stored.delete(key),
    getMany: async (keys: readonly string[]) => keys.map((key) => stored.get(key) ?? null),
  } as unknown as Kv
  const nodes = Object.keys(processes).map((id) => ({ id, alive: true }))
  const collectorOf = (id: string): Collector =>
    new Collector({
      slot: { active: true, call: async (where) => new Map(['office', 'lamp'].map((plugin) => [plugin, reportOf(id, plugin, where)])) },
      cluster: { node: { id }, nodes: () => nodes } as unknown as Cluster,
      kv,
      kindsOf: (plugin) => (plugin === 'office' ? ['jam', 'paper-low'] : []),
      keptMs: 1_000,
    })
  const reportOf = (id: string, plugin: string, where: 'app' | 'process'): AttentionReport | Error =>
    plugin === 'office' ? (processes[id]?.(where) ?? { facts: [] }) : { facts: [] }
  return { collectorOf, stored }
}
const kinds = ({ notChecked }: { readonly notChecked: readonly { readonly kind: string; readonly reason: string }[] }) =>
  notChecked.map(({ kind, reason }) => `${kind}: ${reason}`)

it('a plugin that cannot be asked is named by every kind that it declares', async () => {
  const { collectorOf } = appOf({ a: (where) => (where === 'app' ? new Error('no response') : { facts: [] }) })
  const found = await collectorOf('a').collect()
  const reason = 'The plugin office could not be asked: no response'
  assert.deepEqual([kinds(found), [...found.failed]], [[`jam: ${reason}`, `paper-low: ${reason}`], ['office']])
})

it('what another process could not check is named, too, once for all processes, until it can', async () => {
  let isDown = true
  const report = (why: string) => (where: 'app' | 'process') =>
    where === 'process' && isDown ? { facts: [], notChecked: [{ kind: 'jam', reason: why }] } : { facts: where === 'app' ? [] : [fact] }
  const { collectorOf, stored } = appOf({ a: () => ({ facts: [] }), b: report('no cable at b'), c: report('no cable at c') })
  const [b, c] = [collectorOf('b'), collectorOf('c')]
  await Promise.all([b.publish(), c.publish()])
  assert.deepEqual(kinds(await collectorOf('a').collect()), ['jam: no cable at b (and 1 other reason)'])
  isDown = false
  await Promise.all([b.publish(), c.publish()])
  const { facts, notChecked } = await collectorOf('a').collect()
  assert.deepEqual([facts.map(({ count, subject }) => [subject, count]), notChecked], [[['printer:1', 2]], []])
  assert.equal(stored.size, 2)
})
