import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { commandLine } from '../../scripts/testing/command-line.js'
import { eventually } from '../../scripts/testing/eventually.js'
import { mysqlEnv } from '../../scripts/testing/mysql-database.js'
import { quickStart } from '../../scripts/testing/runnable.js'
import { commands } from './standalone.js'
import { openAdmin, secret } from './testing/rdb.js'
import { sendWire } from './testing/wire.js'

const cli = join(import.meta.dirname, '..', '..', 'dist', 'cli.js')
const table = `cli_${randomUUID().slice(0, 8)}`

interface Running {
  readonly child: ChildProcess
  readonly url: string
  output(): string
}

describe('zin proxy:mysql', () => {
  let folder: string
  let admin: Awaited<ReturnType<typeof openAdmin>>
  const { DB_HOST, DB_PORT, DB_DATABASE, DB_USERNAME, DB_PASSWORD } = mysqlEnv()
  const flags = ['--db-host', DB_HOST, '--db-port', DB_PORT, '--db-name', DB_DATABASE, '--db-user', DB_USERNAME]
  const children = new Set<ChildProcess>()

  const launch = (
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): { readonly child: ChildProcess; output(): string } => {
    const { PATH = '', HOME = '' } = process.env
    const child = spawn(process.execPath, [...quickStart(), cli, ...args], {
      cwd: folder,
      env: { PATH, HOME, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.add(child)
    child.once('exit', () => children.delete(child))
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += chunk))
    return { child, output: () => text }
  }
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) => commandLine(args, { cwd: folder, env, commands })
  const runProcess = async (
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
  ): Promise<{ readonly code: number | null; readonly text: string }> => {
    const { child, output } = launch(args, env)
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, text: output() }
  }
  const serve = async (args: readonly string[], env: Readonly<Record<string, string>>): Promise<Running> => {
    const { child, output } = launch(['proxy:mysql', '--port', '0', ...args], env)
    await eventually(`it listens: ${output()}`, () => /listens on http/.test(output()) || child.exitCode !== null)
    const url = /listens on (\S+)/.exec(output())?.[1]
    assert.ok(url !== undefined, output())
    return { child, url, output }
  }
  const target = (url: string) => ({ url, base: '/svc/rdb/', keyId: 'cli', secret })
  const stop = async ({ child }: Running, signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    const closed = once(child, 'close')
    child.kill(signal)
    return ((await closed) as [number | null])[0]
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'zin-proxy-'))
    admin = await openAdmin()
    await admin.run(`create table ${table} (id int primary key auto_increment, name varchar(40))`)
  })
  after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await admin.run(`drop table ${table}`)
    await admin.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('serves in a folder without an app, with its flags, and never prints its secrets', async () => {
    const password = { DB_PASSWORD, RDB_PROXY_SECRET: secret }
    const proxy = await serve([...flags, '--host', '127.0.0.1', '--connection-limit', '3', '--max-body-bytes', '2000'], password)
    assert.equal((await sendWire(target(proxy.url), 'queryOne', { sql: 'select database() as d' })).body.row.d, DB_DATABASE)
    assert.equal((await sendWire(target(proxy.url), 'query', { sql: `select '${'x'.repeat(2000)}'` })).body.code, 'PAYLOAD_TOO_LARGE')
    assert.equal((await sendWire(target(proxy.url), 'query', { sql: 'select 1' }, { signed: false })).status, 401)
    assert.equal((await fetch(`${proxy.url}/health/live`)).status, 200)
    assert.equal(await stop(proxy), 0)
    for (const word of [secret, 'DB_PASSWORD']) assert.ok(!proxy.output().includes(word), proxy.output())
  })

  it('accepts the password as a flag, warns that others can see it, and never prints it', async () => {
    const hidden = 'a-password-that-is-wrong'
    const proxy = await serve([...flags, '--db-pass', hidden], { RDB_PROXY_SECRET: secret })
    const { status, body } = await sendWire(target(proxy.url), 'query', { sql: 'select 1 as a' })
    assert.deepEqual([status, body.code], [502, 'DB_AUTH_FAILED'])
    await stop(proxy)
    assert.match(proxy.output(), /others on this machine can see a password/)
    assert.ok(!proxy.output().includes(hidden), proxy.output())
  })

  it('reloads the statements file with --watch', async () => {
    await writeFile(join(folder, 'statements.json'), '{"one": "select 1 as a"}')
    const env = { DB_PASSWORD, RDB_PROXY_SECRET: secret, RDB_PROXY_MODE: 'registry', RDB_PROXY_STATEMENTS_FILE: 'statements.json' }
    const proxy = await serve([...flags, '--watch'], env)
    assert.equal(Number((await sendWire(target(proxy.url), 'statement', { statementId: 'one' })).body.rows[0].a), 1)
    await writeFile(join(folder, 'statements.json'), '{"two": "select 22 as a"}')
    const two = async () => (await sendWire(target(proxy.url), 'statement', { statementId: 'two' })).status
    await eventually('the new statement runs', async () => (await two()) === 200)
    assert.equal(await stop(proxy, 'SIGINT'), 0)
  })

  it('reloads the statements file on SIGHUP, and keeps running if it is invalid', async () => {
    const file = join(folder, 'hangup.json')
    await writeFile(file, '{"one": "select 1 as a"}')
    const env = { DB_PASSWORD, RDB_PROXY_SECRET: secret, RDB_PROXY_MODE: 'registry', RDB_PROXY_STATEMENTS_FILE: 'hangup.json' }
    const proxy = await serve(flags, env)
    const statusOf = async (statementId: string) => (await sendWire(target(proxy.url), 'statement', { statementId })).status
    await writeFile(file, '{"two": "select 22; select 3"}')
    proxy.child.kill('SIGHUP')
    await eventually('the fault is logged', () => /the current statements stay in effect/.test(proxy.output()))
    assert.equal(await statusOf('one'), 200)
    await writeFile(file, '{"two": "select 22 as a"}')
    proxy.child.kill('SIGHUP')
    await eventually('the new statement runs', async () => (await statusOf('two')) === 200)
    assert.equal(await statusOf('one'), 404)
    assert.equal(await stop(proxy), 0)
  })

  it('reports errors in its command line and settings', async () => {
    const help = await runProcess(['proxy:mysql', '--help'])
    assert.equal(help.code, 0)
    for (const flag of [
      '--host',
      '--port',
      '--db-host',
      '--db-port',
      '--db-name',
      '--db-user',
      '--db-pass',
      '--connection-limit',
      '--max-body-bytes',
      '--watch',
    ])
      assert.ok(help.text.includes(flag), flag)
    const wrong = await Promise.all([
      run(['proxy:mysql', '--prot', '1']),
      run(['proxy:mysql', '--db-port', '99999999']),
      run(['proxy:mysql', '--connection-limit', '0']),
      run(['proxy:mysql', '--host', '0.0.0.0', '--port', '0']),
      run(['proxy:mysql'], { RDB_PROXY_PORT: 'seven' }),
      run(['proxy:mysql'], { RDB_PROXY_MODE: 'all' }),
    ])
    assert.deepEqual(
      wrong.map(({ code }) => code),
      [2, 2, 2, 1, 1, 1],
    )
    const expected = [
      /did you mean --port/,
      /--db-port/,
      /--connection-limit/,
      /loopback addresses only/,
      /RDB_PROXY_PORT/,
      /RDB_PROXY_MODE/,
    ]
    expected.forEach((pattern, at) => assert.match(wrong[at]?.text ?? '', pattern))
  })

  it('runs a write only once when it is repeated after a kill between the write and its response', async () => {
    const env = { DB_PASSWORD, RDB_PROXY_SECRET: secret }
    // Holds back responses of the database once the commit is sent, so that the proxy dies before it can respond.
    let committing: (() => void) | undefined
    const sockets = new Set<Socket>()
    const relay = createServer((client) => {
      const server = connect(Number(DB_PORT), DB_HOST)
      for (const socket of [client, server]) sockets.add(socket.on('error', () => undefined))
      let silent = false
      client.on('data', (chunk: Buffer) => {
        if (committing !== undefined && chunk.includes('COMMIT')) {
          silent = true
          committing()
        }
        server.write(chunk)
      })
      server.on('data', (chunk) => void (silent || client.write(chunk)))
      client.on('close', () => server.destroy())
    })
    relay.listen(0, '127.0.0.1')
    await once(relay, 'listening')
    const { port } = relay.address() as { readonly port: number }
    const request = { sql: `insert into ${table} (name) values (?)`, params: ['once'], options: { idempotencyKey: randomUUID() } }
    const written = async (): Promise<number> => (await admin.run(`select id from ${table} where name = 'once'`)).length

    const first = await serve(
      ['--db-host', '127.0.0.1', '--db-port', String(port), '--db-name', DB_DATABASE, '--db-user', DB_USERNAME],
      env,
    )
    await sendWire(target(first.url), 'query', { sql: 'select 1 as a' })
    const atCommit = new Promise<void>((resolve) => {
      committing = resolve
    })
    const lost = sendWire(target(first.url), 'exec', request).then(
      () => 'answered',
      () => 'lost',
    )
    await atCommit
    await eventually('the write is committed', async () => (await written()) === 1)
    await stop(first, 'SIGKILL')
    assert.equal(await lost, 'lost')

    const second = await serve(flags, env)
    const { status, body, text } = await sendWire(target(second.url), 'exec', request)
    assert.deepEqual([status, body.meta?.replayed, body.rowCount], [200, true, 1], text)
    assert.equal(await written(), 1)
    await stop(second)
    for (const socket of sockets) socket.destroy()
    relay.close()
  })

  it('checks the statements on the database and writes their types', async () => {
    const env = { ...mysqlEnv(), RDB_PROXY_STATEMENTS_FILE: 'checked.json' }
    const good = { 'item.byId': { sql: `select id, name from ${table} where id = ?`, one: true, params: [{ name: 'id', type: 'int32' }] } }
    await writeFile(join(folder, 'checked.json'), JSON.stringify({ version: 1, statements: good }))
    const checked = await run(['proxy:statements', 'check', '--json'], env)
    assert.equal(checked.code, 0, checked.text)
    const types = await runProcess(['proxy:statements', 'types', '--out', 'statements.d.ts'], env)
    assert.equal(types.code, 0, types.text)
    const text = await readFile(join(folder, 'statements.d.ts'), 'utf8')
    assert.match(text, /"item\.byId": \{/)
    assert.match(text, /readonly params: readonly \[id: number\]/)
    assert.match(text, /readonly "id": number; readonly "name": string \| null/)

    await writeFile(join(folder, 'checked.json'), JSON.stringify({ bad: 'select nope from nowhere', fine: 'select 1' }))
    const faulty = await runProcess(['proxy:statements', 'check'], env)
    assert.equal(faulty.code, 1)
    assert.match(faulty.text, /nowhere/)
    assert.equal((await run(['proxy:statements', 'check', '--offline'], env)).code, 0)
    await writeFile(join(folder, 'checked.json'), '{"bad": "select 1; select 2"}')
    const malformed = await run(['proxy:statements', 'check', '--offline'], env)
    assert.deepEqual([malformed.code, /2 statements/.test(malformed.text)], [1, true])
    assert.equal((await run(['proxy:statements', 'check', '--file', 'none.json'], env)).code, 1)
  })

  it('checks all statements and shows a page of them, with the faulty ones first', async () => {
    const statements = { a: 'select 1', b: 'select 2', c: 'select nope', d: 'select 4', e: 'select nope from nowhere' }
    await writeFile(join(folder, 'paged.json'), JSON.stringify(statements))
    const check = (...flags: readonly string[]) => run(['proxy:statements', 'check', '--file', 'paged.json', ...flags], mysqlEnv())
    const idsIn = (text: string): readonly string[] => [...text.matchAll(/^(\w) {2}/gm)].map(([, id = '']) => id)
    const pages = await Promise.all([check(), check('--limit', '2'), check('--limit', '2', '--page', '3'), check('--limit', '5')])
    assert.deepEqual(
      pages.map(({ code, text }) => [code, idsIn(text).join('')]),
      [
        [1, 'ceabd'],
        [1, 'ce'],
        [1, 'd'],
        [1, 'ceabd'],
      ],
    )
    for (const { text } of pages) assert.match(text, /2 of 5 statements cannot be prepared/)
    assert.deepEqual(
      pages.map(({ text }) => /page \d of \d, 5 statements: use --page and --limit/.exec(text)?.[0].slice(0, 11)),
      [undefined, 'page 1 of 3', undefined, undefined],
    )
    const wrong = await Promise.all([check('--limit', '0'), check('--limit', '1001'), check('--page', '0'), check('--page', 'two')])
    assert.deepEqual(
      wrong.map(({ code }) => code),
      [2, 2, 2, 2],
    )
  })

  it('checks statements against the limits of a proxy with other limits than the default ones', async () => {
    const long = { long: `select '${'x'.repeat(40_000)}' as a, ${Array.from({ length: 300 }, (_, n) => `? as p${n}`).join(', ')}` }
    await writeFile(join(folder, 'long.json'), JSON.stringify(long))
    const offline = ['--file', 'long.json', '--offline']
    const raised = ['--max-sql-bytes', '65536', '--max-params', '300']
    const [refused, accepted, typed, wrong] = await Promise.all([
      run(['proxy:statements', 'check', ...offline]),
      run(['proxy:statements', 'check', ...offline, ...raised]),
      run(['proxy:statements', 'types', ...offline, ...raised]),
      run(['proxy:statements', 'check', ...offline, '--max-sql-bytes', '63']),
    ])
    assert.deepEqual([refused.code, accepted.code, typed.code, wrong.code], [1, 0, 0, 2], accepted.text + typed.text)
    assert.match(refused.text, /more than 32768 bytes.*300 placeholders; the maximum is 256/s)
    assert.match(typed.text, /"long": \{/)
  })
})
