import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it } from 'node:test'
import type { FlowJob } from 'bullmq'
import { eventually } from '../../scripts/testing/eventually.js'
import { keys, type MonitoredApp } from './testing/app.js'

/** Jobs by name: `own` is the one that is acted on; it and all others of its queue are in `mails-a`, the only queue of the key. */
type Shape = (ids: (name: string) => object) => FlowJob

const a = 'mails-a'
const b = 'mails-b'
/** A job that no worker takes during the test. */
const late = { delay: 3_600_000 }

const shapes: Readonly<Record<string, { readonly flow: Shape; readonly within: boolean }>> = {
  'a parent with a child in another queue': {
    within: false,
    flow: (id) => ({ name: 'own', queueName: a, opts: id('own'), children: [{ name: 'other', queueName: b, opts: id('other') }] }),
  },
  'a child with a parent in another queue': {
    within: false,
    flow: (id) => ({ name: 'other', queueName: b, opts: id('other'), children: [{ name: 'own', queueName: a, opts: id('own') }] }),
  },
  'a child with a sibling in another queue': {
    within: false,
    flow: (id) => ({
      name: 'root',
      queueName: a,
      opts: id('root'),
      children: [
        { name: 'own', queueName: a, opts: id('own') },
        { name: 'other', queueName: b, opts: id('other') },
      ],
    }),
  },
  'a job with a grandchild in another queue': {
    within: false,
    flow: (id) => ({
      name: 'own',
      queueName: a,
      opts: id('own'),
      children: [{ name: 'child', queueName: a, opts: id('child'), children: [{ name: 'other', queueName: b, opts: id('other') }] }],
    }),
  },
  'a job whose grandparent is in another queue': {
    within: false,
    flow: (id) => ({
      name: 'other',
      queueName: b,
      opts: id('other'),
      children: [{ name: 'parent', queueName: a, opts: id('parent'), children: [{ name: 'own', queueName: a, opts: id('own') }] }],
    }),
  },
  'a parent with a child in its own queue': {
    within: true,
    flow: (id) => ({ name: 'own', queueName: a, opts: id('own'), children: [{ name: 'child', queueName: a, opts: id('child') }] }),
  },
}

/** Actions on a job whose id is given; `needsFailed`: it must have failed before. */
const actions: Readonly<Record<string, { readonly method: string; readonly path: (id: string) => string; readonly needsFailed?: true }>> = {
  cancel: { method: 'POST', path: (id) => `/api/jobs/mails-a:${id}/cancel` },
  delete: { method: 'DELETE', path: (id) => `/api/jobs/mails-a:${id}` },
  'delete now': { method: 'DELETE', path: (id) => `/api/jobs/mails-a:${id}?now=true` },
  promote: { method: 'POST', path: (id) => `/api/jobs/mails-a:${id}/promote` },
  retry: { method: 'POST', path: (id) => `/api/jobs/mails-a:${id}/retry`, needsFailed: true },
}

/** Actions of a key for one queue on jobs of flows; part of the operator contract, whose app it shares. */
export function flowAccessContract(app: () => MonitoredApp): void {
  it('show a key of one queue nothing of a failed child in another one, in any text about the jobs above it', async () => {
    const run = randomUUID().slice(0, 8)
    const told = `card ${run} of ada@example.com refused`
    const opts = (id: string) => ({ jobId: `${run} ${id}`, attempts: 1, failParentOnFailure: true })
    const other = { name: 'other', queueName: b, opts: { ...opts('secret'), ...late } }
    const parent = { name: 'parent', queueName: a, opts: opts('parent'), children: [other] }
    await app().queues.addFlow({ name: 'root', queueName: a, opts: opts('root'), children: [parent] })
    await app().queues.fail(b, `${run} secret`, told)
    const idOf = (name: string) => encodeURIComponent(`${run} ${name}`)
    await eventually('the root fails', async () => (await app().queues.job(a, `${run} root`))?.state === 'failed')
    try {
      const graphql = { query: `{ jobs(status: failed, queue: "${a}", limit: 100) { jobs { id error } } }` }
      const asked: readonly (readonly [method: string, path: string, body?: object])[] = [
        ...['root', 'parent'].flatMap((name) =>
          ['', '/attempts', '/flow', '/logs'].map((more) => ['GET', `/api/jobs/mails-a:${idOf(name)}${more}`] as const),
        ),
        ['GET', '/api/jobs/failed?limit=100'],
        ['GET', `/api/jobs/failed?limit=100&queue=${a}&include=payload`],
        ...['error:child', 'error:failed', 'error:ada@example', `error:${run}`, 'error:mails-b'].map(
          (q) => ['GET', `/api/jobs?limit=100&q=${q}`] as const,
        ),
        ['POST', '/graphql', graphql],
        ['POST', '/api/queue/mails-a/purge', { status: 'failed', dryRun: true }],
        ['POST', '/api/queue/mails-a/retry', { status: 'failed', dryRun: true }],
        ['POST', `/api/jobs/mails-a:${idOf('root')}/flow/retry`, { dryRun: true }],
        ['GET', '/api/attention'],
      ]
      const secrets = [told, 'ada@example', b, `${run} secret`]
      let shown = 0
      for (const [method, path, body] of asked) {
        const [limited, full] = await Promise.all(
          [keys.adminA, keys.adminAll].map((key) => app().call(method, path, { key, ...(body === undefined ? {} : { body }) })),
        )
        const text = JSON.stringify(limited?.body)
        for (const secret of secrets) assert.ok(!text.includes(secret) || path.includes(secret), `${path}: ${text}`)
        if (JSON.stringify(full?.body).includes(told)) shown++
      }
      assert.ok(shown >= 8, `${shown} responses show the error to a key of all queues`)
      const found = async (q: string) =>
        (await app().call('GET', `/api/jobs?limit=100&q=${encodeURIComponent(q)}`, { key: keys.adminA })).body.jobs.length
      assert.deepEqual([await found(`error:"${told}"`), await found('error:mails-b'), await found('error:ada@')], [0, 0, 0])
      const { error, stacktrace } = (await app().call('GET', `/api/jobs/mails-a:${idOf('root')}`, { key: keys.adminA })).body
      const hidden = `child mails-a:${run} parent failed: a child in another queue failed`
      assert.deepEqual([error, stacktrace], [hidden, [`UnrecoverableError: ${hidden}`]])
      assert.equal(await found('error:"a child in another queue failed"'), 2)
    } finally {
      await app().queues.purge(a, [`${run} root`, `${run} parent`])
      await app().queues.purge(b, [`${run} secret`])
    }
  })

  for (const [shape, { flow, within }] of Object.entries(shapes)) {
    it(`${within ? 'reaches' : 'does not reach'} other jobs with a key of one queue, of ${shape}`, async () => {
      const check = async (verb: string, idOf: (name: string) => string): Promise<void> => {
        const { method, needsFailed, path } = actions[verb] as (typeof actions)[string]
        if (needsFailed === true) await app().queues.fail(a, idOf('own'), 'planted')
        const stateOf = async (name: string) => (await app().queues.job(name === 'other' ? b : a, idOf(name)))?.state
        const before = [await stateOf('own'), await stateOf('other')]
        // A parent that failed has lost the children that were waiting: nothing in the other queue is left to protect.
        if (!within && before[1] === undefined) return
        const { body, status } = await app().call(method, path(idOf('own')), { key: keys.adminA })
        if (within) assert.notEqual(status, 403, `${verb}: ${body.message}`)
        else {
          // A conflict of the state may be found before the flow is looked at.
          assert.ok(status === 403 || status === 409, `${verb}: ${status} ${body.message}`)
          assert.deepEqual([await stateOf('own'), await stateOf('other')], before, verb)
          const { body: details } = await app().call('GET', `/api/jobs/mails-a:${idOf('own')}`, { key: keys.adminA })
          assert.ok(!JSON.stringify(details).includes('mails-b'), verb)
          const bulk = { status: needsFailed === true ? 'failed' : 'delayed' }
          const many = needsFailed === true ? 'retry' : 'cancel'
          await app().call('POST', `/api/queue/mails-a/${many}?wait=30000`, { key: keys.adminA, body: bulk })
          assert.deepEqual([await stateOf('own'), await stateOf('other')], before, `${verb} of many`)
        }
      }
      for (const verb of Object.keys(actions)) {
        const run = randomUUID().slice(0, 8)
        const idOf = (name: string): string => `${run}-${name}`
        await app().queues.addFlow(flow((name) => ({ jobId: idOf(name), ...late })))
        try {
          await check(verb, idOf)
        } finally {
          for (const name of ['own', 'child', 'parent', 'root']) await app().queues.purge(a, [idOf(name)])
          await app().queues.purge(b, [idOf('other')])
        }
      }
    })
  }
}
