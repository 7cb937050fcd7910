import assert from 'node:assert/strict'
import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type AppFolder, appFolder, type RunningApp } from '../../scripts/testing/app-folder.js'
import { eventually } from '../../scripts/testing/eventually.js'

const config = `
import { defineConfig, definePlugin } from 'zin'
import { databaseService } from 'zin/plugins/database'
import { cluster } from 'zin/plugins/cluster'
import { compliance } from 'zin/plugins/compliance'
import { database } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queueMonitor } from 'zin/plugins/queue-monitor'
import { queues } from 'zin/plugins/queues'
import { workers } from 'zin/plugins/workers'

const vandal = definePlugin({
  name: 'vandal',
  version: '1.0.0',
  uses: { database: databaseService },
  setup: (ctx) => ctx.route({
    method: 'POST',
    path: '/vandalize/:id',
    summary: 'Alter an entry of the audit log',
    handler: async ({ input }) => {
      await ctx.services.database.tables().updateTable('zin_audit').set({ actor: 'user:other' }).where('id', '=', Number(input.params.id)).execute()
      return { ok: true }
    },
  }),
})

export default defineConfig({
  app: { name: 'shop', port: 0 },
  plugins: [
    database(), kv(), cluster(), queues(), ops(), decisions(), workers(), queueMonitor(),
    compliance({ subjects: { mail: ['user.id'] } }), vandal(),
  ],
})
`

describe('zin audit:*, gdpr:* and compliance:report', () => {
  let app: AppFolder
  let running: RunningApp
  const call = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${running.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-requested-with': 'test', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return response.json()
  }
  before(async () => {
    app = await appFolder({
      'zin.config.mjs': config,
      '.env': `WORKER_AUTO_START=true\nWORKER_GDPR=true\nAPP_KEY=${'k'.repeat(32)}\n`,
      'processors/job.mjs': 'export default async (job) => job.data.text',
    })
    running = await app.start()
    await call('POST', '/api/workers', { name: 'mailer', queueName: 'mail', processor: 'job.mjs' }, { 'x-audit-reason': 'a new server' })
    for (const id of ['ann', 'bob'])
      await call('POST', '/api/workers/mailer/jobs', { data: { user: { id }, text: `a letter to ${id}` }, options: {} })
    await eventually('both letters are sent', async () => (await call('GET', '/api/queue/mail/stats')).completed === 2)
  })
  after(async () => {
    await app.remove()
  })

  it('list who did what, as text and as JSON', async () => {
    const { out, err } = await app.zin(['audit:list', '--target', 'worker:mailer'])
    assert.match(out, /^id +at +actor +action +target +outcome +reason\n/, err)
    assert.match(out, /^\d+ +\S+Z +local:local +worker\.create +worker:mailer +done +a new server *$/m)
    assert.match(
      (await app.zin(['audit:list', '--action', 'job.end', '--limit', '1'])).out,
      /\npage 1 of 2, 2 entries: use --page and --limit\n$/,
    )
    const json = await app.zin(['audit:list', '--action', 'job.end', '--limit', '1', '--json'])
    const [entry] = JSON.parse(json.out) as { action: string; outcome: string; reason: string }[]
    assert.deepEqual([entry?.action, entry?.outcome], ['job.end', 'completed'])
    assert.doesNotMatch(json.out, /letter to/)
  })

  it('export a subject, and erase it only after confirmation', async () => {
    const { jobs, complete } = JSON.parse((await app.zin(['gdpr:export', 'ann', '--json'])).out)
    assert.deepEqual([complete, jobs[0].data, jobs[0].result], [true, { user: { id: 'ann' }, text: 'a letter to ann' }, 'a letter to ann'])

    const unconfirmed = await app.zin(['gdpr:erase', 'ann'])
    assert.notEqual(unconfirmed.code, 0)
    assert.match(unconfirmed.err, /--yes/)
    const erased = await app.zin(['gdpr:erase', 'ann', '--yes'])
    assert.equal(erased.code, 0, erased.err)
    assert.match(erased.out, /Erased 1 job and 0 other records \(erasure \S+\)\n$/)
    assert.match((await app.zin(['gdpr:export', 'ann'])).out, /^Nothing is stored about this subject/)
    const { jobs: left } = await call('GET', '/api/compliance/subjects/bob/export')
    assert.equal(left.length, 1)
  })

  it('show controls with evidence and gaps', async () => {
    const text = await app.zin(['compliance:report'])
    assert.match(text.out, /^Controls of shop \(\w+\), \S+Z\n\d+ met, \d+ with gaps, \d+ off\n/, text.err)
    assert.match(text.out, /^✓ .*\(encryption\/jobs\)\n {4}algorithm: AES-256-GCM\n/m)
    assert.match(text.out, /^ {4}lastRun: none\n.*\n {2}! It has not run yet/m)
    const { controls, summary } = JSON.parse((await app.zin(['compliance:report', '--json'])).out)
    assert.equal(controls.length, summary.met + summary.gaps + summary.off)
  })

  it('verify with and without the running app, and name the first entry that was changed', async () => {
    const whole = await app.zin(['audit:verify'])
    assert.equal(whole.code, 0, whole.err)
    assert.match(whole.out, /^intact: \d+ entries in 1 chain\nChains whose process is still running or was killed: 1\n$/)
    const missing = await app.zin(['audit:verify', '--anchor', 'nothing-here.jsonl'])
    assert.equal(missing.code, 1)
    assert.match(missing.err, /nothing-here\.jsonl.*\[AUDIT_ANCHOR_UNREADABLE\]/)
    const [seal, hash] = ['a'.repeat(64), 'b'.repeat(64)]
    const line = {
      at: '2026-01-01T00:00:00.000Z',
      chain: 2,
      opening: seal,
      counter: 3,
      entries: 4,
      lastHash: hash,
      closed: true,
      seal,
      sealKeyId: seal,
    }
    await writeFile(join(app.folder, 'anchor.jsonl'), `${JSON.stringify(line)}\n`)
    const cut = await app.zin(['audit:verify', '--anchor', 'anchor.jsonl'])
    assert.equal(cut.code, 1, cut.err)
    assert.match(
      cut.out,
      /^not intact: chain 2 was cut with all its entries: the anchor file \S+ knows of it\nFaults in all: 1\nCompared with the anchor file \S+: 1 seals\n$/,
    )
    const [entry] = (await call('GET', '/api/compliance/audit?action=worker.create')).entries
    await call('POST', `/vandalize/${entry.id}`)
    await running.end()
    const altered = await app.zin(['audit:verify'])
    assert.equal(altered.code, 1, altered.err)
    assert.equal(altered.out, `not intact: entry ${entry.id} was altered or moved\nFaults in all: 1\n`)
    const json = JSON.parse((await app.zin(['audit:verify', '--json'])).out)
    assert.deepEqual([json.faultCount, json.faults], [1, [json.fault]])
  })

  it('refuse to verify without a database or its tables, and create nothing', async () => {
    const missing = join(app.folder, 'nothing-here')
    const elsewhere = await app.zin(['audit:verify'], { ZIN_DATA_DIR: missing })
    assert.equal(elsewhere.code, 1)
    assert.match(elsewhere.err, /nothing-here\/app\.db cannot be found .*Nothing was created.*\[DATABASE_MISSING\]/)
    await assert.rejects(stat(missing), { code: 'ENOENT' })
    const empty = join(app.folder, 'empty')
    await mkdir(empty)
    await writeFile(join(empty, 'app.db'), '')
    const untouched = await app.zin(['audit:verify'], { ZIN_DATA_DIR: empty })
    assert.equal(untouched.code, 1)
    assert.match(untouched.err, /no audit log .*\[AUDIT_MISSING\]/)
  })
})
