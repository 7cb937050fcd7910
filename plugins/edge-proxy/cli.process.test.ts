import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { eventually } from '../../scripts/testing/eventually.js'
import { testSecret } from './testing/edge-client.js'
import { killAfterCommit, type PlainFolder, plainFolder } from './testing/proxy-process.js'
import { isBeingWritten, runaway } from './testing/runaway.js'

const env = { EDGE_REMOTE_SECRET: testSecret, EDGE_REMOTE_MODE: 'sql' }

for (const runtime of ['node', 'workerd'] as const) {
  describe(`zin proxy in ${runtime}`, () => {
    it('runs in a folder without an app, keeps rows and nonces across restarts, and stops on SIGTERM', async (t) => {
      const folder = await plainFolder({ '.env': `EDGE_REMOTE_SECRET=${testSecret}\nEDGE_REMOTE_MODE=sql\nZIN_DATA_DIR=kept\n` })
      cleanUp(t)(() => folder.remove())
      const first = await folder.proxy(['--runtime', runtime])
      assert.match(first.output(), runtime === 'node' ? /\(Node, SQLite; sql mode\)/ : /\(workerd by miniflare, D1; sql mode\)/)
      assert.ok(!first.output().includes(testSecret), first.output())
      assert.equal((await first.client.call('exec', { sql: 'CREATE TABLE t (id INTEGER PRIMARY KEY)' })).status, 200)
      const signed = await first.client.sign('exec', { sql: 'INSERT INTO t DEFAULT VALUES' })
      assert.equal((await signed.send()).status, 200)
      assert.equal(await first.end('SIGTERM'), 0, first.output())
      assert.ok(readdirSync(join(folder.path, 'kept')).length > 0)

      const second = await folder.proxy(['--runtime', runtime])
      const count = async (): Promise<number> => (await second.client.call('queryOne', { sql: 'SELECT count(*) AS n FROM t' })).body.row.n
      assert.equal(await count(), 1)
      assert.equal((await signed.send(second.client.url)).status, 401)
      assert.equal(await count(), 1)
      assert.equal(await second.end('SIGTERM'), 0)
    })

    it('runs a write only once if it is repeated with its key after kill -9', async (t) => {
      const folder = await plainFolder({ 'kill.mjs': killAfterCommit('proxy') })
      cleanUp(t)(() => folder.remove())
      const preload = runtime === 'node' ? { NODE_OPTIONS: `--import=${new URL(`file://${join(folder.path, 'kill.mjs')}`).href}` } : {}
      const first = await folder.proxy(['--runtime', runtime], { ...env, ...preload })
      assert.equal((await first.client.call('exec', { sql: 'CREATE TABLE killer (id INTEGER PRIMARY KEY)' })).status, 200)
      const write = { sql: 'INSERT INTO killer DEFAULT VALUES', options: { idempotencyKey: 'order-1' } }
      if (runtime === 'node') {
        await assert.rejects(first.client.call('exec', write))
        await first.ended()
      } else {
        assert.equal((await first.client.call('exec', write)).status, 200)
        await first.end('SIGKILL')
        await eventually('workerd ends with its parent', () =>
          fetch(first.client.url).then(
            () => false,
            () => true,
          ),
        )
      }
      const second = await folder.proxy(['--runtime', runtime], env)
      const again = await second.client.call('exec', write)
      assert.deepEqual([again.status, again.body.meta?.replayed, again.body.lastInsertId], [200, true, '1'], again.text)
      assert.equal((await second.client.call('queryOne', { sql: 'SELECT count(*) AS n FROM killer' })).body.row.n, 1)
      assert.equal(await second.end('SIGTERM'), 0)
    })
  })
}

describe('zin proxy in Node', () => {
  it('reports an unknown outcome for a write whose database process was lost, and runs it only once', async (t) => {
    const folder = await plainFolder({ 'kill.mjs': killAfterCommit('database') })
    cleanUp(t)(() => folder.remove())
    const preload = { NODE_OPTIONS: `--import=${new URL(`file://${join(folder.path, 'kill.mjs')}`).href}` }
    const { client, end, output } = await folder.proxy(['--runtime', 'node'], { ...env, ...preload })
    assert.equal((await client.call('exec', { sql: 'CREATE TABLE killer (id INTEGER PRIMARY KEY)' })).status, 200)
    const write = { sql: 'INSERT INTO killer DEFAULT VALUES', options: { idempotencyKey: 'order-1' } }
    const { status, body } = await client.call('exec', write)
    assert.deepEqual([status, body.code, body.retryable, body.details], [503, 'DB_UNAVAILABLE', false, { outcome: 'unknown' }])
    assert.match(output(), /the database process exited unexpectedly, restarting it: .*SIGKILL/)
    const again = await client.call('exec', write)
    assert.deepEqual([again.status, again.body.meta?.replayed, again.body.lastInsertId], [200, true, '1'], again.text)
    assert.equal((await client.call('queryOne', { sql: 'SELECT count(*) AS n FROM killer' })).body.row.n, 1)
    assert.equal(await end('SIGTERM'), 0)
  })

  it('leaves no process behind when it is killed during a statement', async (t) => {
    const folder = await plainFolder()
    cleanUp(t)(() => folder.remove())
    const { client, end } = await folder.proxy(['--runtime', 'node'], env)
    assert.equal((await client.call('query', { sql: 'SELECT 1 AS a' })).status, 200)
    const file = join(folder.path, '.zin', 'data', 'edge.db')
    const reply = client.call('query', { sql: runaway, options: { timeoutMs: 30_000 } })
    await eventually('the statement runs', () => isBeingWritten(file))
    await Promise.all([assert.rejects(reply), end('SIGKILL')])
    await eventually('its process ends with its parent', () => !isBeingWritten(file))
  })
})

describe('zin proxy', () => {
  const refusals: readonly (readonly [string, readonly string[], Readonly<Record<string, string>>, RegExp, number])[] = [
    ['without a secret', [], {}, /EDGE_REMOTE_SECRET is not set, and neither is APP_KEY/, 1],
    ['with an unknown mode', [], { ...env, EDGE_REMOTE_MODE: 'all' }, /EDGE_REMOTE_MODE=all: expected one of registry, sql/, 1],
    ['with broken statements', [], { ...env, EDGE_STATEMENTS_JSON: '{"a"' }, /EDGE_STATEMENTS_JSON: it is not valid JSON/, 1],
    ['with a missing statements file', ['--statements', 'none.json'], env, /--statements .*none\.json cannot be read/, 1],
    ['with a rate that is not a number', [], { ...env, EDGE_RATE_PER_MINUTE: 'x' }, /EDGE_RATE_PER_MINUTE=x: expected/, 1],
    ['with a binding that is not an identifier', [], { ...env, EDGE_BINDING: 'a-b' }, /EDGE_BINDING=a-b: expected/, 1],
    ['with an unknown option', ['--prot', '1'], env, /unknown option --prot; did you mean --port\?/, 2],
    ['with a secret on the command line', ['--secret', 'x'], env, /unknown option --secret/, 2],
    ['on an invalid port', ['--port', '70000'], env, /--port must be .*65535/, 2],
    [
      'on an address of another machine',
      ['--host', '203.0.113.1', '--runtime', 'node'],
      env,
      /cannot listen on 203\.0\.113\.1:8790: it is not an address of this machine/,
      1,
    ],
  ]
  it('refuses to start with invalid input, and names the fix', async (t) => {
    const folder = await plainFolder()
    cleanUp(t)(() => folder.remove())
    for (const [what, args, given, message, expected] of refusals) {
      const { code, output } = await folder.zin(['proxy', ...args], given)
      assert.equal(code, expected, `${what}: ${output}`)
      assert.match(output, message, what)
      assert.ok(!output.includes(testSecret), what)
    }
  })

  it('reports that its port is in use', async (t) => {
    const step = cleanUp(t)
    const folder = await plainFolder()
    step(() => folder.remove())
    const server = createServer().listen(0, '127.0.0.1')
    step(() => server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    for (const runtime of ['node', 'workerd']) {
      const { code, output } = await folder.zin(['proxy', '--port', `${port}`, '--runtime', runtime], env)
      assert.equal(code, 1)
      assert.match(output, new RegExp(`cannot listen on 127\\.0\\.0\\.1:${port}: the port is in use`), runtime)
    }
  })
})

describe('commands that need no app', () => {
  it('are listed by zin help in every folder', async (t) => {
    const step = cleanUp(t)
    for (const files of [
      {},
      { 'zin.config.mjs': "import { edgeProxy } from 'zin/plugins/edge-proxy'\nexport default { plugins: [edgeProxy()] }\n" },
    ]) {
      const folder = await plainFolder(files)
      step(() => folder.remove())
      const { code, output } = await folder.zin(['help'], env)
      assert.equal(code, 0, output)
      assert.match(output, /Plugin edge-proxy:\n +proxy +Run the edge SQL proxy[^\n]*\n +deploy /)
      assert.match((await folder.zin(['proxy', '--help'])).output, /--port <int>[^\n]*\(default: 8790\)/)
      assert.match((await folder.zin(['prox'])).output, /unknown command "prox"; did you mean "proxy"\?/)
    }
  })

  it('also run in the folder of an app, with its settings', async (t) => {
    const folder = await plainFolder({
      'zin.config.mjs': "import { edgeProxy } from 'zin/plugins/edge-proxy'\nexport default { plugins: [edgeProxy()] }\n",
      '.env': `APP_KEY=${testSecret}\nEDGE_REMOTE_MODE=sql\n`,
    })
    cleanUp(t)(() => folder.remove())
    const proxy = await folder.proxy(['--runtime', 'node'])
    assert.equal((await proxy.client.call('query', { sql: 'SELECT 1 AS a' })).status, 200)
    assert.equal(await proxy.end('SIGTERM'), 0)
  })
})

describe('zin deploy', () => {
  const settings = {
    EDGE_REMOTE_SECRET: testSecret,
    EDGE_WORKER_NAME: 'shop-edge',
    EDGE_DATABASE_NAME: 'shop',
    EDGE_DATABASE_ID: '2d3c1f6e-0b5a-4f0e-9c3a-5f0f7f1c9a11',
    EDGE_BINDING: 'SHOP_DB',
  }
  const files = { 'statements.json': '{ "one": "SELECT 1 AS one" }' }
  const dryRun = (folder: PlainFolder, more: Readonly<Record<string, string>> = {}, args: readonly string[] = []) =>
    folder.zin(['deploy', '--dry-run', '--statements', 'statements.json', ...args], { ...settings, ...more })

  /** Records its calls. @param fails command that fails and prints its standard input. */
  const wrangler = (fails = ''): Readonly<Record<string, string>> => ({
    'node_modules/wrangler/package.json': '{"name":"wrangler","type":"module","bin":{"wrangler":"cli.js"}}',
    'node_modules/wrangler/cli.js': `
      import { appendFileSync, readFileSync } from 'node:fs'
      const args = process.argv.slice(2)
      const input = readFileSync(0, 'utf8')
      appendFileSync(import.meta.dirname + '/calls', JSON.stringify({ args, input, env: Object.values(process.env) }) + '\\n')
      if (args[0] === '${fails}') { console.error('refused: ' + input); process.exit(1) }
      console.log('Deployed shop-edge triggers\\n  https://shop-edge.example.workers.dev')
    `,
  })

  it('--dry-run needs no account, prints what would be sent, and never writes the secret', async (t) => {
    const step = cleanUp(t)
    const folder = await plainFolder(files)
    step(() => folder.remove())
    const { code, output } = await dryRun(folder)
    assert.equal(code, 0, output)
    assert.match(output, /nothing was sent/)
    assert.match(output, /name +shop-edge\n/)
    assert.match(output, /binding +SHOP_DB: D1 database shop \(2d3c1f6e/)
    assert.match(output, /EDGE_STATEMENTS_JSON=\{"one":"SELECT 1 AS one"\}/)
    assert.match(output, /secrets +EDGE_REMOTE_SECRET\n/)
    assert.match(output, /bundle +\d+ bytes, \d+ with gzip/)
    const edge = join(folder.path, '.zin', 'edge')
    const written = readdirSync(edge, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(js|json|md|map)$/.test(name))
    assert.ok(written.includes('wrangler.json') && written.includes(join('dist', 'worker.js')), written.join())
    for (const text of [output, ...written.map((name) => readFileSync(join(edge, name), 'utf8'))]) assert.ok(!text.includes(testSecret))
    // Zin prints this itself; a bundle by wrangler takes seconds.
    const unbundled = await plainFolder({ ...files, ...wrangler() }, { packages: false })
    step(() => unbundled.remove())
    const { vars } = JSON.parse((await dryRun(unbundled, {}, ['--json'])).output.replace(/^[^{]*/, '')) as { vars: Record<string, string> }
    assert.deepEqual([vars.EDGE_REMOTE_MODE, vars.EDGE_BINDING, 'EDGE_REMOTE_SECRET' in vars], ['registry', 'SHOP_DB', false])
  })

  it('deploys the worker, then passes the secret only through the standard input of wrangler', async (t) => {
    const dotenv = { '.env': 'DB_PASSWORD=password-in-dotenv\nCLOUDFLARE_API_TOKEN=token-in-dotenv\n' }
    const folder = await plainFolder({ ...files, ...wrangler(), ...dotenv }, { packages: false })
    cleanUp(t)(() => folder.remove())
    const { code, output } = await folder.zin(['deploy', '--statements', 'statements.json'], settings)
    assert.equal(code, 0, output)
    assert.match(output, /url +https:\/\/shop-edge\.example\.workers\.dev/)
    const lines = readFileSync(join(folder.path, 'node_modules', 'wrangler', 'calls'), 'utf8')
      .trim()
      .split('\n')
    const calls = lines.map((line) => JSON.parse(line) as { args: string[]; input: string; env: string[] })
    assert.deepEqual(
      calls.map(({ args }) => args.slice(0, args.indexOf('--config'))),
      [['deploy'], ['secret', 'put', 'EDGE_REMOTE_SECRET']],
    )
    assert.deepEqual(
      calls.map(({ input }) => input),
      ['', testSecret],
    )
    for (const { args, env: values } of calls) {
      assert.ok(!args.includes(testSecret) && !values.includes(testSecret))
      assert.ok(!values.includes('password-in-dotenv') && values.includes('token-in-dotenv'))
    }
    assert.ok(!output.includes(testSecret))
  })

  it('reports errors of wrangler without the secret', async (t) => {
    const folder = await plainFolder({ ...files, ...wrangler('secret') }, { packages: false })
    cleanUp(t)(() => folder.remove())
    const { code, output } = await folder.zin(['deploy', '--statements', 'statements.json'], settings)
    assert.equal(code, 1)
    assert.match(output, /wrangler secret put failed:\n +refused: \*{8}/)
    assert.ok(!output.includes(testSecret), output)
  })

  it('refuses invalid input, and names the fix', async (t) => {
    const folder = await plainFolder(files)
    cleanUp(t)(() => folder.remove())
    const wrong: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
      [{ EDGE_REMOTE_SECRET: '' }, /EDGE_REMOTE_SECRET is not set/],
      [{ EDGE_REMOTE_SECRET: 'short' }, /EDGE_REMOTE_SECRET has 5 bytes; a deployed proxy requires 32 or more/],
      [{ EDGE_WORKER_NAME: 'Shop Edge' }, /EDGE_WORKER_NAME must be/],
      [{ EDGE_DATABASE_NAME: '' }, /EDGE_DATABASE_NAME is not set; create a database with "npx wrangler d1 create/],
      [{ EDGE_DATABASE_ID: 'shop' }, /EDGE_DATABASE_ID must be the database_id/],
    ]
    for (const [more, message] of wrong) {
      const { code, output } = await dryRun(folder, more)
      assert.equal(code, 1, output)
      assert.match(output, message)
    }
  })

  it('names the package to install if wrangler is missing', async (t) => {
    const folder = await plainFolder(files, { packages: false })
    cleanUp(t)(() => folder.remove())
    const { code, output } = await dryRun(folder)
    assert.equal(code, 1)
    assert.match(output, /wrangler is not installed in .*; install it with "npm install --save-dev wrangler@4"/)
  })
})
