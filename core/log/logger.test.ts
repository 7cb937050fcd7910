import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { ZinError } from '../errors.js'
import { createLogger } from './logger.js'
import { memoryLogger } from './memory-logger.js'

function collect(): { stream: Writable; text: () => string } {
  let text = ''
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk)
      done()
    },
  })
  return { stream, text: () => text }
}

function textLogger() {
  const out = collect()
  return { ...out, log: createLogger({ level: 'trace', channel: 'console', format: 'text', name: 'app', destination: out.stream }) }
}

test('secrets are masked in facts at any depth, whatever the spelling of the field', () => {
  const log = memoryLogger()
  log.info({
    headers: {
      Authorization: 'canary-1',
      cookie: 'canary-2',
      'Set-Cookie': ['canary-3'],
      'x-sig-signature': 'canary-4',
      'X-Sig-Nonce': 'canary-5',
      'x-sig-body-sha256': 'canary-6',
    },
    body: { password: 'canary-7', user: { deviceSecret: 'canary-8', list: [{ apiKey: 'canary-9' }, { a: { b: { jwt: 'canary-10' } } }] } },
    env: { BULLETPROOF_SIGNING_SECRET: 'canary-11', APP_KEY: 'canary-12', DB_PASSWORD: 'canary-13' },
    rawHeaders: ['Host', 'example.org', 'Authorization', 'canary-14'],
    entries: new Map([['token', 'canary-15']]),
  })
  assert.doesNotMatch(log.text(), /canary/)
  assert.match(log.text(), /example\.org/)
})

test('secrets are masked in bindings of child loggers, in errors and inside text', () => {
  const log = memoryLogger()
  log.child({ plugin: 'p', token: 'canary-1' }).warn('one')
  log.error({ err: Object.assign(new Error('x', { cause: { secret: 'canary-2' } }), { password: 'canary-3' }) }, 'two')
  log.info('got Bearer canary4canary4canary4 from redis://user:canary-5@host:6379/0 and /x?access_token=canary-6&a=1')
  log.error(new Error('bad token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.canary7'))
  assert.doesNotMatch(log.text(), /canary/)
  assert.match(log.text(), /redis:\/\/user:\*{8}@host:6379\/0 and \/x\?access_token=\*{8}&a=1/)
})

test('plugin names and the form of a URL are not masked, and secrets next to them are', () => {
  const log = memoryLogger()
  const plugins = ['kv', 'jwt', 'bulletproof', 'login']
  log.info({ plugins }, 'listening')
  log.warn('Known forms: redis://[user:password@]host[:port][/db], mongodb://[user:password@]host')
  assert.deepEqual(log.lines[0]?.plugins, plugins)
  assert.match(log.text(), /redis:\/\/\[user:password@\]host\[:port\]\[\/db\], mongodb:\/\/\[user:password@\]host/)

  log.info({ headers: ['jwt', 'canary-1'], argv: ['zin', '--token', 'canary-2'], plugins: [{ token: 'canary-3' }, ['jwt', 'canary-4']] })
  log.warn('redis://[user:canary-5@]host, redis://user:canary-6@host')
  log.warn('redis://user:password@host')
  assert.doesNotMatch(log.text(), /canary|user:password@host/)
})

test('facts without secrets are unchanged', () => {
  const log = memoryLogger()
  log
    .child({ plugin: 'workers' })
    .info({ worker: 'emails', jobs: 3, hasPassword: true, at: new Date(0), nothing: null, big: 2n }, 'started')
  const [line] = log.lines
  assert.deepEqual(
    { ...line, time: 0, pid: 0 },
    {
      level: 'info',
      time: 0,
      pid: 0,
      app: 'test',
      plugin: 'workers',
      worker: 'emails',
      jobs: 3,
      hasPassword: true,
      at: '1970-01-01T00:00:00.000Z',
      nothing: null,
      big: '2',
      msg: 'started',
    },
  )
})

test('a fact cannot replace the level, the time or the message of its line', () => {
  const log = memoryLogger()
  log.info({ level: 'fatal', time: 'never', msg: 'forged' }, 'real')
  const line = log.lines[0]
  assert.equal(line?.level, 'info')
  assert.equal(line?.msg, 'real')
  assert.equal(line?.level_, 'fatal')
})

test('cyclic and huge facts are truncated', () => {
  const log = memoryLogger()
  const cycle: Record<string, unknown> = { name: 'a' }
  cycle.self = cycle
  cycle.many = Array.from({ length: 50_000 }, (_, index) => ({ index, cycle }))
  log.info({ cycle }, 'cut')
  assert.equal(log.lines[0]?.msg, 'cut')
  assert.ok(log.text().length < 200_000)
})

test('a fact that throws when it is read does not prevent the line', () => {
  const log = memoryLogger()
  const broken = {
    get value() {
      throw new Error('no value')
    },
  }
  const unserializable = {
    toJSON() {
      throw new Error('no JSON')
    },
  }
  log.info({ broken, unserializable, worker: 'emails' }, 'done')
  const [line] = log.lines
  assert.deepEqual(
    [line?.msg, line?.broken, line?.unserializable, line?.worker],
    ['done', { value: '[unreadable]' }, '[unreadable]', 'emails'],
  )
})

test('a disabled level writes nothing, and a child has the same level', () => {
  const log = memoryLogger('warn')
  log.info('no')
  log.child({ plugin: 'x' }).debug('no')
  log.warn('yes')
  assert.deepEqual(
    log.lines.map((line) => line.msg),
    ['yes'],
  )
})

test('the text format is one readable line without colours on a pipe', () => {
  const { log, text } = textLogger()
  log.child({ plugin: 'workers' }).info({ worker: 'emails', note: 'two words' }, 'started')
  assert.match(text(), /^\[\d\d:\d\d:\d\d\.\d\d\d\] INFO: workers: started worker=emails note="two words"\n$/)
})

test('line breaks and escape sequences in messages, facts, names and errors cannot forge a line', () => {
  const { log, text } = textLogger()
  const evil = 'x\r\n[00:00:00.000] INFO: admin logged in\u001b[2J\u2028\u0085y'
  log.info({ [evil]: evil, nested: { [evil]: evil } }, evil)
  log.child({ plugin: evil }).warn({ type: 'Error', stack: `Error: x\n${evil}` }, 'w')
  log.error({ err: Object.assign(new Error(evil, { cause: new Error(evil) }), { code: evil }) }, 'failed')
  const lines = text()
    .split('\n')
    .filter((line) => !line.startsWith('    '))
  assert.equal(lines.length, 4)
  assert.doesNotMatch(text(), /[\r\u001b\u2028\u0085]/)
})

test('the text format shows an error with its code, its stack indented, and its cause', () => {
  const { log, text } = textLogger()
  log.error(Object.assign(new Error('no route', { cause: new Error('socket closed') }), { code: 'E_ROUTE' }))
  assert.match(text(), /ERROR: no route code=E_ROUTE\n {4}at .+\n/)
  assert.match(text(), /\n {4}caused by Error: socket closed\n {4}at /)
})

test('an error with status 503 is logged without its stack and that of its cause', () => {
  const { log, text } = textLogger()
  const cause = new Error('connect ECONNREFUSED')
  const away = new ZinError('STORE_UNAVAILABLE', 'The store is away', { status: 503, cause })
  for (const err of [away, Object.assign(away, { cause })]) {
    log.warn({ err }, 'not counted')
    assert.match(text(), /WARN: not counted err="The store is away" .*\n {4}caused by Error: connect ECONNREFUSED\n$/)
  }
  log.warn({ err: new ZinError('STORE_BROKEN', 'The store is broken', { cause }) }, 'not counted')
  assert.match(text(), /err="The store is broken" .*\n {4}at .+\n(?: {4}at .+\n)*? {4}caused by Error: connect ECONNREFUSED\n {4}at /)
})

test('the text format writes each line of a message on a separate line, indented and once', () => {
  const { log, text } = textLogger()
  log.warn({ worker: 'emails' }, 'two problems:\n- one\n- two')
  assert.match(text(), /WARN: two problems: worker=emails\n {4}- one\n {4}- two\n$/)
  log.error({ err: new Error('first\nsecond') }, 'failed')
  assert.match(text(), /ERROR: failed err="first"\n {4}second\n {4}at /)
  log.error(new Error('third\nfourth'))
  assert.match(text(), /ERROR: third\n {4}fourth\n {4}at /)
  assert.equal(text().split('fourth').length, 2)
  log.error({ err: new Error('no disk') }, 'the task failed: no disk')
  assert.equal(text().split('no disk').length, 2)
  assert.ok(!text().includes('\\n'), text())
})

test('the channel "file" creates the folder, appends, and keeps the file private', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'zin-log-'))
  try {
    const destination = join(folder, 'logs', 'zin.log')
    for (const [word, where] of [
      ['first', { dataDir: folder }],
      ['second', { destination }],
    ] as const) {
      const log = createLogger({ level: 'info', channel: 'file', format: 'json', name: 'app', ...where })
      log.info(word)
      await log.close()
      log.info('after close')
      await log.close()
    }
    const words = (await readFile(destination, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { msg: string }).msg)
    assert.deepEqual(words, ['first', 'second'])
    assert.equal((await stat(destination)).mode & 0o777, 0o600)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('an unknown channel, a missing path and a file that cannot be opened are refused by name', () => {
  const options = { level: 'info', format: 'json', name: 'app' } as const
  assert.throws(() => createLogger({ ...options, channel: 'syslog' }), {
    code: 'ZIN_LOG_CHANNEL',
    message: /"syslog".*console, stderr, file or silent/,
  })
  assert.throws(() => createLogger({ ...options, channel: 'file' }), { code: 'ZIN_LOG_CHANNEL' })
  assert.throws(() => createLogger({ ...options, channel: 'file', destination: '/dev/null/x.log' }), {
    code: 'ZIN_LOG_FILE',
    message: /\/dev\/null\/x\.log/,
  })
})

test('the channel "silent" writes nothing', async () => {
  const log = createLogger({ level: 'trace', channel: 'silent', format: 'text', name: 'app' })
  log.fatal('nothing')
  assert.equal(log.level, 'silent')
  await log.close()
})

test('added fields are on every line, including those of children, until they are removed; fields of the line take precedence, and secrets are masked', () => {
  const log = memoryLogger()
  const child = log.child({ plugin: 'x' })
  let id: string | undefined = 'a'
  const remove = log.addFields?.(() => (id === undefined ? undefined : { trace_id: id, token: 'canary-1' }))
  child.info({ a: 1 }, 'one')
  log.info({ trace_id: 'mine' }, 'two')
  id = undefined
  log.info('three')
  id = 'b'
  remove?.()
  log.info('four')
  assert.deepEqual(
    log.lines.map((line) => line.trace_id),
    ['a', 'mine', undefined, undefined],
  )
  assert.equal(JSON.stringify(log.lines).includes('canary-1'), false)
})

test('a full disk under the log fails nobody who logs, and closing it ends', { skip: process.platform !== 'linux' }, async () => {
  const log = createLogger({ level: 'info', channel: 'file', format: 'json', name: 'app', destination: '/dev/full' })
  for (let i = 0; i < 3; i++) log.error({ text: 'x'.repeat(20_000) }, 'request failed')
  await log.close()
})
