import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, it } from 'node:test'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { eventually } from '../../scripts/testing/eventually.js'
import type { AttentionItem } from './attention/item.js'
import { AttentionLab, type Env } from './testing/attention-lab.js'
import { type AttentionRow, attentionRows } from './testing/attention-rows.js'

/** A store that can be cut off. */
export interface Cuttable {
  readonly env: Env
  /** Cuts all stores off that the backend can lose; the returned function brings them back. */
  cut(lab: AttentionLab): Promise<() => Promise<void>>
  /** What can still be checked while they are cut off. */
  readonly left: ReadonlySet<AttentionRow['reads']>
}

/** Every kind of what needs attention: each has a cause and a cure, so that a new kind fails here without them. */
export function attentionKindsContract(title: string, hasServers: boolean, env: () => Promise<Env>): void {
  describe(`each kind of what needs attention on ${title}`, () => {
    let lab: AttentionLab
    before(async () => {
      lab = await AttentionLab.open(await env())
    })
    after(() => lab?.close())

    const itemOf = async (kind: string, { subject }: AttentionRow): Promise<AttentionItem | undefined> =>
      (await lab.list()).items.find((one) => one.kind === kind && subject.test(one.subject))
    const rows = Object.entries(attentionRows)

    const isListedAndTold = async (kind: string, row: AttentionRow): Promise<void> => {
      await eventually(`${kind} is listed`, async () => (await itemOf(kind, row)) !== undefined)
      const item = (await itemOf(kind, row)) ?? assert.fail(kind)
      const { act, bar, cause, count, id, severity, since } = item
      assert.match(cause, row.cause)
      assert.match(id, /^at_[0-9a-f]{20}$/)
      assert.ok(severity === 'bad' || severity === 'warn', kind)
      assert.ok(act.label !== '' && act.href.startsWith('/console/'), `${kind}: ${act.href}`)
      assert.ok(Date.parse(since) <= lab.now() && count >= 1, `${kind}: ${since}, ${count}`)
      assert.ok(bar.length === 24 && bar.every(Number.isFinite) && (bar.at(-1) ?? 0) + (bar.at(-2) ?? 0) >= 1, `${kind}: ${bar.join(' ')}`)
      // Keys of the queue see it.
      if (/^(worker|queue):/.test(item.subject)) assert.ok(item.queue, kind)
      if (row.count !== undefined) assert.equal(count, row.count, kind)
      const status = await lab.status()
      assert.equal(status.code, 1)
      assert.match(status.text, row.cause, kind)
      if (row.untold !== undefined) return
      await eventually(`a webhook is told of ${kind}`, () => lab.told('attention.raised', row.subject).includes(kind))
    }
    const goes = async (kind: string, row: AttentionRow): Promise<void> => {
      await eventually(`${kind} has gone`, async () => (await itemOf(kind, row)) === undefined)
      if (row.untold !== undefined) return
      const often = (event: 'attention.raised' | 'attention.cleared') => lab.told(event, row.subject).filter((one) => one === kind).length
      // As often as it was raised: a kind of a process may have gone and come meanwhile.
      await eventually(`a webhook is told that ${kind} is over`, () => {
        const times = often('attention.cleared')
        return times > 0 && times === often('attention.raised')
      })
      // The next process of the app may find it again.
      if (row.ofProcess === undefined) assert.equal(often('attention.raised'), 1, kind)
    }

    it('has a cause and a cure here, and a line in the README', async () => {
      const declared = lab.host.host.view.plugins().flatMap(({ attention }) => attention)
      assert.deepEqual(declared.toSorted(), rows.map(([kind]) => kind).toSorted())
      const listeners = lab.host.host.view.hooks().find(({ name }) => name === 'collectAttention')?.listeners ?? []
      const declaring = new Set(lab.host.host.view.plugins().flatMap(({ attention, name }) => (attention.length > 0 ? [name] : [])))
      assert.deepEqual([...new Set(listeners.map(({ plugin }) => plugin))].toSorted(), [...declaring].toSorted())
      const readme = await readFile(new URL('README.md', import.meta.url), 'utf8')
      for (const kind of declared) assert.ok(readme.includes(`| \`${kind}\` |`), kind)
    })

    describe('which occurs beside others', () => {
      const beside = rows.filter(([, { alone }]) => alone === undefined)
      before(async () => {
        await eventually('nothing needs attention', async () => {
          const { items, notChecked } = await lab.list()
          return items.length === 0 && notChecked.length === 0
        })
        for (const [, { arise }] of beside) await arise(lab)
        // The longest time after which something is listed.
        await lab.pass(31_000)
      })
      for (const [kind, row] of beside) it(`${kind} is listed and told`, () => isListedAndTold(kind, row))

      it('is a line of Slack, and of a kind that is declared', async () => {
        const lines = () => lab.receiver.at('/slack').map(({ body }) => String(body.text))
        await eventually('Slack is told', () => lines().some((line) => line.includes('worker:failing:')))
        const line = lines().find((one) => one.includes('worker:failing:')) ?? ''
        assert.match(line, /^:rotating_light: worker:failing: worker-failed raised: The worker "failing" has failed and takes no jobs/)
        const declared = new Set(lab.host.host.view.plugins().flatMap(({ attention }) => attention))
        for (const { kind } of (await lab.list()).items) assert.ok(declared.has(kind), kind)
      })

      it('keeps its start, and is not told again, when the process is restarted', async () => {
        const kept = beside.filter(([, { ofProcess }]) => ofProcess === undefined)
        const starts = async () => Promise.all(kept.map(async ([kind, row]) => [kind, (await itemOf(kind, row))?.since]))
        const earlier = await starts()
        await lab.restart()
        const booted = lab.now()
        await eventually('they are checked', async () => Date.parse((await lab.list()).at) > booted)
        assert.deepEqual(await starts(), earlier)
        for (const [kind, { subject }] of kept) {
          const often = lab.told('attention.raised', subject).filter((one) => one === kind).length
          assert.equal(often, 1, kind)
        }
      })

      describe('is over', () => {
        before(async () => {
          for (const [, { cure, ofProcess }] of beside) if (ofProcess === undefined) await cure(lab)
          await lab.ok('POST', '/api/resources/stop')
        })
        for (const [kind, row] of beside) it(`${kind} goes with its cause`, () => goes(kind, row))
      })
    })

    const here = rows.filter(([, { embedded, servers }]) => (hasServers ? embedded : servers) === undefined)
    for (const [kind, row] of here.filter(([, { alone }]) => alone)) {
      it(`${kind} is listed and told, and goes with its cause`, async () => {
        await row.arise(lab)
        await isListedAndTold(kind, row)
        await row.cure(lab)
        await goes(kind, row)
      })
    }

    it('no-live-node says which node drains, and how to undo that', async () => {
      await lab.worker('drained', 'one.mjs')
      const { id } = (await lab.workers.nodes()).find(({ alive, consumes }) => alive && consumes) ?? assert.fail('a node')
      await lab.ok('POST', `/api/nodes/${encodeURIComponent(id)}/drain`)
      await lab.pass(16_000)
      const cause = async () => (await lab.list()).items.find(({ subject }) => subject === 'worker:drained')?.cause
      await eventually('it is listed', async () => (await cause()) !== undefined)
      const told = `The node ${id} drains and takes no jobs: let it take jobs again with "zin node:drain ${id} --undo"`
      assert.ok((await cause())?.includes(told), await cause())
      await lab.ok('DELETE', `/api/nodes/${encodeURIComponent(id)}/drain`)
      await eventually('it has gone', async () => (await cause()) === undefined)
    })
  })
}

/**
 * No kind is well while the stores are cut off.
 *
 * @param cuttable opens the stores.
 */
export function attentionCutContract(
  title: string,
  hasServers: boolean,
  cuttable: (atEnd: ReturnType<typeof cleanUp>) => Promise<Cuttable>,
): void {
  it(`what needs attention on ${title} is named kind by kind as not checked while its stores are cut off, never well`, async (t) => {
    const atEnd = cleanUp(t)
    const { cut, env, left } = await cuttable(atEnd)
    const lab = await AttentionLab.open(env)
    atEnd(() => lab.close())
    const isWell = async (): Promise<boolean> => {
      const { items, notChecked } = await lab.list()
      return items.length === 0 && notChecked.length === 0
    }
    await eventually('nothing needs attention', isWell)
    assert.deepEqual(await lab.status(), { code: 0, text: 'Nothing needs attention' })
    const heal = await cut(lab)
    try {
      const missing = async (): Promise<readonly string[]> => {
        const { items, notChecked } = await lab.list()
        const known = new Set([...items, ...notChecked].map(({ kind }) => kind))
        return Object.entries(attentionRows).flatMap(([kind, { reads }]) => (known.has(kind) || left.has(reads) ? [] : [kind]))
      }
      let last: readonly string[] = []
      await eventually('every kind is named', async () => (last = await missing()).length === 0).catch(() => undefined)
      assert.deepEqual(last, [])
      const { items, notChecked } = await lab.list()
      const gone = items.filter(({ kind }) => kind === 'store-unavailable').map(({ subject }) => subject)
      assert.ok(!hasServers || (gone.includes('check:database') && gone.includes('check:queues')), gone.join(', '))
      assert.ok(notChecked.every(({ reason }) => reason.length > 10))
      const { code, text } = await lab.status()
      assert.equal(code, 1)
      assert.match(text, /^not checked: .*history: /m)
      assert.doesNotMatch(text, /Nothing needs attention/)
    } finally {
      await heal()
    }
    await eventually('it is well again', isWell)
  })
}
