import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fakeClock, memoryLogger } from 'zin/testing'
import type { Chain } from '../chain.js'
import { type Checkpoint, checkpointOf } from '../places/checkpoint.js'
import { Publisher } from '../places/publisher.js'
import { receiver } from '../testing/receiver.js'
import { append, rewrite, ringOf, sealedLog } from '../testing/sealed-log.js'
import { fileAnchor } from './file.js'
import { readAnchor } from './read.js'
import { webhookAnchor, webhookFault } from './webhook.js'

const clock = fakeClock()

describe('an anchor file', () => {
  let folder: string
  let names = 0
  const newPath = (): string => join(folder, `anchor-${++names}.jsonl`)
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'zin-anchor-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  /** A log whose process also writes to an anchor file; `written` resolves when all its seals are there. */
  const anchored = () => {
    const path = newPath()
    const log = sealedLog(ringOf('k'))
    const save = fileAnchor(path, clock)
    let writing = Promise.resolve()
    const process = log.start((_chain: Chain, checkpoint) => {
      writing = writing.then(() => save(checkpoint))
    })
    return { path, log, process, written: () => writing }
  }

  it('shows that the tables and kv were set back together', async () => {
    const { log, path, process, written } = anchored()
    await process.write(3)
    const [tables, seals] = [log.store.copy(), log.kv.copy()]
    await process.write(2)
    await written()
    tables()
    seals()
    assert.equal((await log.verify()).intact, true)
    const { fault } = await log.verify([log.place, await readAnchor(path)])
    assert.match(fault?.problem ?? '', /^chain 1 was set back to its seal 2, over 3 entries: the anchor file \S+ knows its seal 3/)
  })

  it('shows that the last chains were cut from the tables and kv', async () => {
    const { log, path, process, written } = anchored()
    const [tables, seals] = [log.store.copy(), log.kv.copy()]
    await process.write(1)
    await written()
    tables()
    seals()
    assert.equal((await log.verify()).intact, true)
    assert.match((await log.verify([await readAnchor(path)])).fault?.problem ?? '', /is missing, but the anchor file \S+ knows 1 chains/)
  })

  it('shows that the log was rewritten with the current key, also after lines of the rewritten log were added to it', async () => {
    const { log, path, process, written } = anchored()
    await process.write(3)
    await written()
    await rewrite(log)
    log.kv.clear()
    await log.sealAgain()
    assert.equal((await log.verify()).intact, true)
    await fileAnchor(path, clock)(checkpointOf(await log.row(1)))
    assert.match((await log.verify([await readAnchor(path)])).fault?.problem ?? '', /^entry 1000000003 .*the chain was rewritten$/)
  })

  it('does not show what happens to all stores: tables, kv and file set back together, or entries added with the current key', async () => {
    const { log, path, process, written } = anchored()
    await process.write(3)
    await written()
    const [tables, seals, lines] = [log.store.copy(), log.kv.copy(), await readFile(path)]
    await process.write(2)
    await written()
    tables()
    seals()
    await writeFile(path, lines)
    assert.equal((await log.verify([log.place, await readAnchor(path)])).intact, true)
    await append(log, await log.row(1), log.keys.current, 1)
    assert.equal((await log.verify([log.place, await readAnchor(path)])).intact, true)
  })

  it('confirms entries, and contains neither secrets nor what the entries say', async () => {
    const { log, path, process, written } = anchored()
    await process.write(3)
    await written()
    log.kv.clear()
    assert.deepEqual([(await log.verify()).unconfirmed, (await log.verify([await readAnchor(path)])).unconfirmed], [3, 0])
    const text = await readFile(path, 'utf8')
    assert.doesNotMatch(text, /marker-4711|desk/)
    assert.doesNotMatch(
      text,
      new RegExp(`${'k'.repeat(8)}|${log.keys.current.key.toString('hex')}|${log.keys.current.key.toString('base64')}`),
    )
    assert.ok(text.split('\n').every((line) => Buffer.byteLength(line) <= 1_000))
  })

  it('is read past a line that a crash cut off, and past lines of any length', async () => {
    const path = newPath()
    const log = sealedLog(ringOf('k'))
    await log.chain(1)
    const checkpoint = checkpointOf(await log.row(1))
    await writeFile(path, `${'x'.repeat(3_000_000)}\n{"at":"2026-01-01T00:00:00.000Z","cha`)
    await fileAnchor(path, clock)(checkpoint)
    await appendFile(path, '\n\n')
    const { counts, read } = await readAnchor(path)
    assert.deepEqual([counts, await read([1, 2])], [{ lines: 1, unreadable: 2 }, [checkpoint]])
  })

  it('is read in bounded memory: the newest seal of each chain is kept, and all are read 500 at a time', async () => {
    const path = newPath()
    const log = sealedLog(ringOf('k'))
    await log.chain(1)
    const checkpoint = checkpointOf(await log.row(1))
    const lines = Array.from({ length: 1_200 }, (_, index): Checkpoint => ({ ...checkpoint, counter: index + 1 }))
    await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const anchor = await readAnchor(path)
    assert.deepEqual(await anchor.read([1, 2]), [lines.at(-1)])
    const steps: number[] = []
    for await (const step of anchor.lines()) steps.push(step.length)
    assert.deepEqual(steps, [500, 500, 200])
  })

  it('that is missing or has no seal is an error, because whoever deletes or empties it must not pass the verification', async () => {
    await assert.rejects(readAnchor(newPath()), { code: 'AUDIT_ANCHOR_UNREADABLE', status: 503 })
    for (const text of ['', '\n\n', 'no seal\n', '{"chain":-1}\n', Buffer.alloc(100_000)]) {
      const path = newPath()
      await writeFile(path, text)
      await assert.rejects(readAnchor(path), { code: 'AUDIT_ANCHOR_UNREADABLE', status: 503 }, JSON.stringify(text).slice(0, 50))
    }
  })
})

describe('an anchor URL', () => {
  let server: Awaited<ReturnType<typeof receiver>>
  const secret = 'whsec_'.concat(Buffer.alloc(32, 7).toString('base64'))
  before(async () => {
    server = await receiver()
  })
  after(() => server.close())

  it('gets the line of a seal, signed as the Standard Webhooks specification says', async () => {
    const log = sealedLog(ringOf('k'))
    await log.chain(2)
    const checkpoint = checkpointOf(await log.row(1))
    await webhookAnchor({ url: server.url, secret, clock, timeoutMs: 5_000 })(checkpoint)
    const [{ headers, text }] = server.requests as [(typeof server.requests)[0]]
    assert.deepEqual(JSON.parse(text), { at: new Date(clock.now()).toISOString(), ...checkpoint })
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`
    const signature = createHmac('sha256', Buffer.alloc(32, 7)).update(signed).digest('base64')
    assert.equal(headers['webhook-signature'], `v1,${signature}`)
  })

  it('that does not respond with 2xx is reported once, and again when it works; no entry is lost', async () => {
    const log = memoryLogger()
    const states: (number | undefined)[] = []
    const sealed = sealedLog(ringOf('k'))
    const anchor = new Publisher({
      place: 'the anchor URL',
      save: webhookAnchor({ url: server.url, secret, clock, timeoutMs: 5_000 }),
      everyMs: 60_000,
      deadlineMs: 5_000,
      clock,
      log,
      onState: ({ failingSince }) => states.push(failingSince),
    })
    const process = sealed.start((chain) => anchor.put(checkpointOf(chain)))
    for (const status of [500, 500, 204]) {
      server.status = status
      await process.write(2)
      await anchor.flush()
    }
    await process.stop()
    await anchor.close()
    assert.deepEqual(states, [clock.now(), undefined])
    assert.deepEqual(
      log.lines.map(({ msg }) => msg),
      [
        'the seals of the audit log cannot be written to the anchor URL; no entry is lost: the receiver responded with 500',
        'the seals of the audit log can be written to the anchor URL again',
      ],
    )
    const report = await sealed.verify()
    assert.deepEqual([report.intact, report.entries], [true, 6])
    const newest = JSON.parse(server.requests.at(-1)?.text ?? '') as Checkpoint
    assert.deepEqual([newest.entries, newest.closed], [6, true])
  })

  it('needs a URL, and a secret of at least 24 bytes', () => {
    assert.equal(webhookFault({ url: 'https://seals.example/x', secret }), undefined)
    assert.match(
      webhookFault({ url: 'https://seals.example/x', secret: 'short' }) ?? '',
      /WORKER_AUDIT_ANCHOR_SECRET must have at least 24 bytes/,
    )
    for (const url of ['seals', 'ftp://seals.example', 'https://user@seals.example'])
      assert.match(webhookFault({ url, secret }) ?? '', /WORKER_AUDIT_ANCHOR_URL must be/)
  })
})

describe('a place for seals', () => {
  it('that could not be written gets the oldest time of all entries since its last seal', async () => {
    const log = sealedLog(ringOf('k'))
    const saved: Checkpoint[] = []
    let works = true
    const place = new Publisher({
      place: 'the anchor file /full',
      save: async (checkpoint) => {
        if (!works) throw new Error('the disk is full')
        saved.push(checkpoint)
      },
      everyMs: 60_000,
      deadlineMs: 5_000,
      clock,
      log: memoryLogger(),
      onState: () => undefined,
    })
    const process = log.start((_chain, checkpoint) => place.put(checkpoint))
    for (const [can, entries] of [
      [true, 3],
      [false, 4],
      [false, 5],
      [true, 6],
    ] as const) {
      works = can
      await process.write(entries)
      await place.flush()
    }
    await process.stop()
    await place.close()
    assert.deepEqual(
      saved.map(({ entries, fresh, lastAt }) => [entries, fresh, lastAt]),
      [
        [3, { after: 0, since: 1, days: 90 }, 3],
        [18, { after: 3, since: 1, days: 90 }, 6],
        [18, undefined, 6],
      ],
    )
  })

  it('that hangs delays neither entries nor the end of the app, and gets no second write while the first one hangs', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let calls = 0
    const publisher = new Publisher({
      place: 'the anchor file /hung',
      save: () => {
        calls += 1
        return new Promise(() => undefined)
      },
      everyMs: 1_000,
      deadlineMs: 5_000,
      clock,
      log: memoryLogger(),
      onState: () => undefined,
    })
    const checkpoint = {} as Checkpoint
    publisher.put(checkpoint)
    const flushed = publisher.flush()
    t.mock.timers.tick(5_000)
    await flushed
    assert.match(publisher.state.error ?? '', /did not respond within 5000 ms/)
    await publisher.close()
    assert.equal(calls, 1)
    assert.match(publisher.state.error ?? '', /an earlier write has not ended/)
  })

  it('whose write fails while the app stops gets no write after that, although the next one is due', async () => {
    const time = fakeClock()
    const rejects: ((error: Error) => void)[] = []
    const publisher = new Publisher({
      place: 'the anchor URL',
      save: () => new Promise((_resolve, reject) => rejects.push(reject)),
      everyMs: 1_000,
      deadlineMs: 60_000,
      clock: time,
      log: memoryLogger(),
      onState: () => undefined,
    })
    publisher.put({} as Checkpoint)
    const closed = publisher.close()
    time.advance(5_000)
    rejects[0]?.(new Error('no response'))
    await closed
    assert.equal(rejects.length, 1)
  })
})
