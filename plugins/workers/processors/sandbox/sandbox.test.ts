import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import * as bullmq from 'bullmq'
import type { LoadedProcessor } from '../processor.js'
import { type Bench, jobOf, openBench, specOf } from '../test-support.js'

// One processor that does what its job requests, so that most tests can share it.
const acts = `
import { setTimeout as wait } from 'node:timers/promises'
import { parentPort, threadId } from 'node:worker_threads'
const here = process.pid + ':' + threadId
const later = (act) => void wait(200, undefined, { ref: false }).then(act)
class UnrecoverableError extends Error { constructor(message) { super(message); this.name = this.constructor.name } }
class RateLimitError extends Error { name = 'RateLimitError' }
class DelayedError extends Error { name = 'DelayedError' }
class NoSuchUser extends UnrecoverableError {}
const cycle = {}
cycle.cycle = cycle
const results = {
  nothing: undefined, fn: () => 1, date: new Date(0), map: new Map([[1, 2]]),
  big: 10n, cycle, huge: 'x'.repeat(17 * 1024 * 1024),
}
const send = parentPort === null ? (message) => process.send(message) : (message) => parentPort.postMessage(message)
const errors = {
  plain: Object.assign(new TypeError('broken on purpose'), { code: 'E_BROKEN' }),
  text: 'only text',
  alike: { message: 'only alike', code: 7 },
  hostile: { toString() { throw new Error('no text') } },
  subclass: new NoSuchUser('no user 5'),
  limit: new RateLimitError('bullmq:rateLimitExceeded'),
  delayed: new DelayedError('later'),
}
const all = {
  fine: () => 'fine',
  see: (job, token, signal) => {
    const { id, name, queueName, opts, attemptsMade, attemptsStarted, timestamp } = job
    return { id, name, queueName, opts, attemptsMade, attemptsStarted, timestamp, token, aborted: signal.aborted }
  },
  meet: async (job) => { await job.log(here); return here },
  report: async (job, token) => {
    await job.updateProgress(50)
    await job.updateData({ half: true })
    const rows = await job.log('half way')
    const extended = await job.extendLock(token, 1000)
    job.log('not waited for')
    const refused = await job.moveToWait(token).catch((error) => error.name + ': ' + error.message)
    return { rows, extended, refused, progress: job.progress, data: job.data }
  },
  callOften: (job) => { for (let i = 0; i < 500; i++) job.log(String(i)); return 'done' },
  result: ({ data }) => results[data.kind],
  throw: ({ data }) => { throw errors[data.kind] },
  block: async (job) => { await job.log('begun'); for (;;); },
  ignore: async (job) => { await job.log('begun'); await new Promise(() => setInterval(() => undefined, 1000)) },
  listen: (job, token, signal) => new Promise((resolve, reject) => {
    job.log('listening')
    signal.addEventListener('abort', () => reject(new Error('stopped: ' + (signal.reason.message ?? signal.reason))))
  }),
  // A linked list: when an array could not grow, Node would end the whole process, including all threads.
  leak: () => { for (let last = {};;) last = { last, text: 'x' + Math.random() } },
  buffers: async () => {
    for (const kept = [];;) {
      kept.push(Buffer.alloc(8 * 1024 * 1024, 1))
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  },
  exit: () => process.exit(3),
  uncaught: () => new Promise(() => setTimeout(() => { throw new Error('nobody caught this') })),
  reject: () => { Promise.reject(new Error('nobody awaited this')); return new Promise(() => setInterval(() => undefined, 99)) },
  timer: () => { setTimeout(() => undefined, 60_000); return here },
  server: async () => { (await import('node:net')).createServer().listen(0); return here },
  listener: () => { process.on('uncaughtException', () => undefined); return here },
  spin: () => { setImmediate(() => { for (;;); }); return here },
  where: () => here,
  brief: async () => { setTimeout(() => undefined, 1); setImmediate(() => undefined); return here },
  unrefTimer: () => { setInterval(() => undefined, 60_000).unref(); return here },
  unrefServer: async () => { (await import('node:net')).createServer().listen(0).unref(); return here },
  unrefEnded: async () => {
    clearInterval(setInterval(() => undefined, 60_000).unref())
    const { createServer, connect } = await import('node:net')
    const server = createServer((socket) => socket.end())
    await new Promise((resolve) => server.listen(0, resolve))
    const socket = connect(server.address().port)
    socket.unref()
    server.unref()
    await new Promise((resolve) => socket.resume().once('close', resolve))
    await new Promise((resolve) => server.close(resolve))
    return here
  },
  // Not seen as left behind: Node itself does not let them keep the event loop alive.
  lateThrow: () => { later(() => process.nextTick(() => { throw new Error('thrown late') })); return here },
  lateReject: () => { later(() => { Promise.reject(new Error('rejected late')) }); return here },
  lateExit: () => { later(() => process.exit(3)); return here },
  environment: () => ({ ...process.env }),
  print: () => { console.log('to stdout'); console.error('to stderr') },
  flood: async () => {
    for (let i = 0; i < 6000; i++) {
      process.stdout.write('flood ' + i + ' ' + 'x'.repeat(200) + '\\n')
      if (i % 500 === 0) await new Promise((done) => setImmediate(done))
    }
    for (let i = 0; i < 50; i++) process.stdout.write('y'.repeat(10_000))
    return 'done'
  },
  garbage: async (job) => { (await import('node:fs')).writeSync(3, Buffer.from(job.data.hex, 'hex')); await new Promise(() => setInterval(() => undefined, 99)) },
  floodCalls: () => {
    // It does not know its number.
    for (let run = 0; run < 100; run++)
      for (let call = 0; call < 80; call++) send({ zinProcessor: { type: 'call', run, call: 1000 + call, method: 'log', args: ['x'] } })
    return new Promise(() => setInterval(() => undefined, 99))
  },
  floodMessages: () => {
    for (let n = 0; n < 2000; n++) send({ n })
    return new Promise(() => setInterval(() => undefined, 99))
  },
  forge: async (job) => {
    send(null)
    send(5)
    send({})
    for (const type of ['ready', 'unloadable', 'done', 'failed', 'fatal']) {
      send(type)
      send({ type, run: job.data.run, json: '1', error: null, why: 'forged' })
      send({ zinProcessor: { type } })
      send({ zinProcessor: { type, run: -1, json: '1', error: null } })
      send({ zinProcessor: { type, run: 'x', json: {}, error: 5, why: 7 } })
    }
    for (const zinProcessor of [null, 5, 'ready', [], { type: {} }]) send({ zinProcessor })
    for (const cmd of ['NODE_HANDLE_ACK', 'NODE_HANDLE_NACK', 'NODE_HANDLE', 'NODE_OTHER']) send({ cmd, type: 'net.Nothing' })
    send({ zinProcessor: { type: 'call', run: job.data.run, call: 901, method: 'remove', args: [] } })
    send({ zinProcessor: { type: 'call', run: job.data.run, call: 902, method: 'constructor', args: 'x' } })
    await job.log('after')
    return 'honest'
  },
  signal: () => { process.kill(process.pid, 'SIGTERM'); process.kill(process.pid, 'SIGINT'); return 'alive' },
}
export default (job, token, signal) => all[job.data.act](job, token, signal)
`

const files = {
  'acts.mjs': acts,
  'typed.ts': 'enum Factor { Two = 2 }\nexport const ZinTrustProcessor = (job: { data: number }): number => job.data * Factor.Two',
  'commonjs.cjs': 'module.exports = (job) => job.data * 4',
  'broken.mjs': 'throw new Error("broken on purpose")',
  'nothing.mjs': 'export const x = 1',
}

const doing = (act: string, more: object = {}, methods = {}) => jobOf({ act, ...more }, methods)

for (const isolation of ['thread', 'process'] as const) {
  describe(`a processor in a child ${isolation}`, { concurrency: 2 }, () => {
    let bench: Bench
    let shared: LoadedProcessor
    const load = (file: string, concurrency = 1) => bench.processors.load(specOf(file, { isolation, concurrency }))
    const run = (...args: Parameters<LoadedProcessor['run']>): Promise<unknown> => Promise.resolve(shared.run(...args))

    before(async () => {
      bench = await openBench({ files, options: { sandbox: { memoryMb: 64 } } })
      shared = await load('acts.mjs', 3)
    })
    after(() => bench.close())

    it('receives its job, token and signal', async () => {
      const expected = {
        id: '7',
        name: 'mail',
        queueName: 'emails',
        opts: { attempts: 3 },
        attemptsMade: 0,
        attemptsStarted: 1,
        timestamp: 5,
      }
      assert.deepEqual(await run(doing('see'), 'token-1', new AbortController().signal), { ...expected, token: 'token-1', aborted: false })
    })

    it('may be TypeScript or CommonJS', async () => {
      for (const [file, result] of [
        ['typed.ts', 8],
        ['commonjs.cjs', 16],
      ] as const) {
        const processor = await load(file)
        assert.equal(await processor.run(jobOf(4)), result)
        await processor.close()
      }
    })

    it('reports through its job, and calls that it did not await are stored before the result', async () => {
      const refuse = (): never => {
        throw new RangeError('not now')
      }
      const job = doing('report', {}, { log: () => 3, extendLock: async () => 1, moveToWait: refuse })
      const expected = { rows: 3, extended: 1, refused: 'RangeError: not now', progress: 50, data: { half: true } }
      assert.deepEqual(await run(job, 't'), expected)
      const calls = [
        ['updateProgress', 50],
        ['updateData', { half: true }],
        ['log', 'half way'],
        ['extendLock', 't', 1000],
        ['log', 'not waited for'],
        ['moveToWait', 't'],
      ]
      assert.deepEqual(job.calls, calls)
    })

    it('can have only a few pending calls on its job', async () => {
      let open = 0
      let most = 0
      const log = async (): Promise<void> => {
        most = Math.max(most, ++open)
        await new Promise((done) => setImmediate(done))
        open--
      }
      const job = doing('callOften', {}, { log })
      assert.equal(await run(job), 'done')
      assert.deepEqual([job.calls.length, most <= 64], [500, true])
    })

    it('returns its result as JSON, and fails if it is not JSON', async () => {
      const results = await Promise.all(['nothing', 'fn', 'date', 'map'].map((kind) => run(doing('result', { kind }))))
      assert.deepEqual(results, [undefined, undefined, '1970-01-01T00:00:00.000Z', {}])
      for (const kind of ['big', 'cycle', 'huge']) {
        await assert.rejects(run(doing('result', { kind })), { name: 'UnrecoverableError', code: 'PROCESSOR_RESULT_INVALID' }, kind)
      }
    })

    it('passes on errors with name, message, stack and code', async () => {
      const plain = { name: 'TypeError', message: 'broken on purpose', code: 'E_BROKEN', stack: /acts\.mjs/ }
      await assert.rejects(run(doing('throw', { kind: 'plain' })), plain)
      await assert.rejects(run(doing('throw', { kind: 'text' })), { name: 'Error', message: 'only text' })
      await assert.rejects(run(doing('throw', { kind: 'alike' })), { name: 'Error', message: 'only alike', code: 7 })
      await assert.rejects(run(doing('throw', { kind: 'hostile' })), { name: 'Error' })
    })

    it('passes on BullMQ errors with their class', async () => {
      const thrown = (kind: string): Promise<unknown> => run(doing('throw', { kind })).catch((error: unknown) => error)
      const subclass = await thrown('subclass')
      assert.ok(subclass instanceof bullmq.UnrecoverableError)
      assert.equal(subclass.message, 'no user 5')
      assert.ok((await thrown('delayed')) instanceof bullmq.DelayedError)
      const limit = await thrown('limit')
      assert.ok(limit instanceof bullmq.RateLimitError)
      assert.equal(limit.message, 'bullmq:rateLimitExceeded')
    })

    /** Runs an act, and aborts it when it logs that it has begun. */
    const aborted = (act: string, reason?: unknown): Promise<unknown> => {
      const abort = new AbortController()
      return run(doing(act, {}, { log: () => abort.abort(reason) }), 't', abort.signal)
    }

    it('is killed after its abort if it blocks, while the app keeps running', async () => {
      const order: string[] = []
      const killed = assert.rejects(aborted('block', 'cancelled by a test'), { code: 'PROCESSOR_KILLED' }).then(() => order.push('killed'))
      await delay(1)
      order.push('the app ran')
      await killed
      assert.deepEqual(order, ['the app ran', 'killed'])
    })

    it('is killed if it ignores its signal, and otherwise determines its own error', async () => {
      await assert.rejects(aborted('ignore'), { code: 'PROCESSOR_KILLED' })
      await assert.rejects(aborted('listen', 'by text'), { message: 'stopped: by text' })
      await assert.rejects(aborted('listen', new Error('by error')), { message: 'stopped: by error' })
    })

    it('rejects a job that is aborted while it waits for a free child', async () => {
      const own = await load('acts.mjs')
      const abort = new AbortController()
      const first = doing('listen', {}, { log: () => abort.abort('not needed') })
      const stop = new AbortController()
      const running = assert.rejects(Promise.resolve(own.run(first, 't', stop.signal)), { message: 'stopped: enough' })
      await assert.rejects(Promise.resolve(own.run(doing('fine'), 't', abort.signal)), { message: 'not needed' })
      stop.abort('enough')
      await running
      assert.equal(await own.run(doing('fine')), 'fine')
      await own.close()
    })

    it('does not run a job whose signal is already aborted', async () => {
      const reason = new Error('too late')
      await assert.rejects(run(doing('block'), 't', AbortSignal.abort(reason)), reason)
      await assert.rejects(run(doing('block'), 't', AbortSignal.abort('as text')), { message: 'as text' })
    })

    it('ends at its memory limit', async () => {
      const message = isolation === 'thread' ? /more than 64 MiB of memory/ : /signal SIGABRT|exit code 134/
      await assert.rejects(run(doing('leak')), { code: 'PROCESSOR_DIED', message })
    })

    if (isolation === 'process')
      it('ends alone if it takes too much memory outside its heap, and the next job runs', async () => {
        const others = Promise.all([run(doing('fine')), run(doing('fine'))])
        await assert.rejects(run(doing('buffers')), { code: 'PROCESSOR_DIED', message: /took \d+ MiB of memory, more than 64 MiB/ })
        assert.deepEqual(await others, ['fine', 'fine'])
        assert.equal(await run(doing('fine')), 'fine')
      })

    if (isolation === 'process')
      it('ends alone if it writes to the channel of its messages, and the next job runs', async () => {
        for (const hex of ['00000004ffffffff', '00000004deadbeef'])
          await assert.rejects(run(doing('garbage', { hex })), { code: 'PROCESSOR_DIED', message: /wrote to the channel of its messages/ })
        assert.equal(await run(doing('fine')), 'fine')
      })

    it('ends alone if it floods the app with calls or messages, and the next job runs', async () => {
      const hangs = { log: () => new Promise(() => undefined) }
      await assert.rejects(run(doing('floodCalls', {}, hangs)), {
        code: 'PROCESSOR_DIED',
        message: /more than 64 pending calls on its job/,
      })
      await assert.rejects(run(doing('floodMessages')), { code: 'PROCESSOR_DIED', message: /sent more than 1000 messages of its own/ })
      assert.equal(await run(doing('fine')), 'fine')
    })

    const deaths = { exit: /exit code 3/, uncaught: /nobody caught this/, reject: /nobody awaited this/ }
    for (const [act, message] of Object.entries(deaths)) {
      it(`ends alone after "${act}", with the reason, and the next job runs`, async () => {
        const others = Promise.all([run(doing('fine')), run(doing('fine'))])
        await assert.rejects(run(doing(act)), { code: 'PROCESSOR_DIED', message })
        assert.deepEqual(await others, ['fine', 'fine'])
        assert.equal(await run(doing('fine')), 'fine')
      })
    }

    for (const act of ['timer', 'server', 'listener', 'spin', 'unrefTimer', 'unrefServer']) {
      it(`is not used again after a job that left something running: ${act}`, async () => {
        const own = await load('acts.mjs')
        const first = await own.run(doing(act))
        const [second, third] = [await own.run(doing('where')), await own.run(doing('where'))]
        assert.notEqual(second, first)
        assert.equal(third, second)
        await own.close()
      })
    }

    for (const act of ['brief', 'unrefEnded']) {
      it(`is used again after a job whose last steps end a moment later: ${act}`, async () => {
        const own = await load('acts.mjs')
        assert.equal(await own.run(doing(act)), await own.run(doing('where')))
        await own.close()
      })
    }

    for (const [act, message] of [
      ['lateThrow', 'thrown late'],
      ['lateReject', 'rejected late'],
      ['lateExit', 'process.exit'],
    ] as const) {
      it(`interrupts a job, which can run again, when code of an earlier job fails: ${act}`, async () => {
        const own = await load('acts.mjs')
        await own.run(Object.assign(doing(act), { id: '3' }))
        const interrupted = { code: 'PROCESSOR_INTERRUPTED', message: /job "7".*code of job "3"/ }
        await assert.rejects(Promise.resolve(own.run(doing('listen'))), interrupted)
        assert.ok(bench.lines.some((line) => line.startsWith('warn') && line.includes('"job":"3"') && line.includes(message)))
        assert.equal(await own.run(doing('fine')), 'fine')
        await own.close()
      })
    }

    it('runs jobs concurrently up to its concurrency, each in a separate child', async () => {
      const own = await load('acts.mjs', 2)
      // No job continues before `count` have begun.
      const meeting = async (count: number): Promise<number> => {
        const come: unknown[] = []
        let all = (): void => undefined
        const met = new Promise<void>((resolve) => (all = resolve))
        const log = (place: unknown): Promise<void> => (come.push(place) === count && all(), met)
        await Promise.all(Array.from({ length: count }, () => own.run(doing('meet', {}, { log }))))
        return new Set(come).size
      }
      assert.equal(await meeting(2), 2)
      own.resize(3)
      assert.equal(await meeting(3), 3)
      own.resize(1)
      const places = await Promise.all([1, 2, 3].map(() => own.run(doing('meet'))))
      assert.equal(new Set(places).size, 1)
      await own.close()
    })

    it('has an environment without secrets', async () => {
      process.env.ZIN_TEST_SECRET = 'top-secret'
      const own = await load('acts.mjs')
      try {
        const env = (await own.run(doing('environment'))) as Record<string, string>
        assert.deepEqual([env.NODE_ENV, env.PATH, env.ZIN_TEST_SECRET], ['test', process.env.PATH, undefined])
        const known = ['NODE_ENV', 'PATH', 'HOME', 'TZ', 'LANG', 'LC_ALL', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'NODE_EXTRA_CA_CERTS']
        assert.deepEqual(
          Object.keys(env).filter((name) => !known.includes(name)),
          [],
        )
      } finally {
        delete process.env.ZIN_TEST_SECRET
        await own.close()
      }
    })

    it('prints to the log, within limits', async () => {
      const own = await load('acts.mjs')
      await own.run(doing('print'))
      // The output may arrive after the end of the job.
      const has = (level: string, text: string): boolean => bench.lines.some((line) => line.startsWith(level) && line.includes(text))
      while (!has('debug', 'to stdout') || !has('info', 'to stderr')) await new Promise((resolve) => setImmediate(resolve))
      assert.equal(await own.run(doing('flood')), 'done')
      await own.close()
      assert.ok(bench.lines.filter((line) => line.includes('flood')).length <= 3000)
      assert.ok(bench.lines.some((line) => line.includes('left out')))
      assert.ok(bench.lines.every((line) => line.length < 3000))
    })

    it('cannot end other jobs or call other methods by forging messages', async () => {
      const own = await load('acts.mjs')
      const job = doing('forge', { run: 1 }, { remove: () => assert.fail('removed') })
      assert.equal(await own.run(job), 'honest')
      assert.deepEqual(job.calls, [['log', 'after']])
      await own.close()
    })

    it('fails to load if its module does', async () => {
      await assert.rejects(load('broken.mjs'), { code: 'PROCESSOR_LOAD_FAILED', message: /broken on purpose/ })
      await assert.rejects(load('nothing.mjs'), { code: 'PROCESSOR_LOAD_FAILED', message: /exports no function/ })
      await assert.rejects(load('../outside.mjs'), { code: 'INVALID_PROCESSOR_PATH_TRAVERSAL' })
    })

    it('is killed with its jobs when it is closed, and accepts no more', async () => {
      const own = await load('acts.mjs')
      let began = (): void => undefined
      const begun = new Promise<void>((resolve) => (began = resolve))
      const running = assert.rejects(Promise.resolve(own.run(doing('listen', {}, { log: () => began() }))), { code: 'PROCESSOR_DIED' })
      const waiting = assert.rejects(Promise.resolve(own.run(doing('fine'))), { code: 'PROCESSOR_CLOSED' })
      await begun
      await own.close()
      await Promise.all([running, waiting, own.close()])
      await assert.rejects(Promise.resolve(own.run(doing('fine'))), { code: 'PROCESSOR_CLOSED' })
    })

    if (isolation === 'process') {
      it('ignores signals of a terminal, because the app decides when its jobs end', async () => {
        assert.equal(await run(doing('signal')), 'alive')
        assert.equal(await run(doing('fine')), 'fine')
      })
    }
  })
}
