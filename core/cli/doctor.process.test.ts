import assert from 'node:assert/strict'
import { access, chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type AppFolder, appFolder } from '../../scripts/testing/app-folder.js'

interface Row {
  readonly state: 'ok' | 'problem'
  readonly check: string
  readonly message: string
  readonly fix?: string
}

const config = `import { defineConfig, definePlugin, checkClock } from 'zin'
import { database, kv, queues } from 'zin/plugins'

const vault = definePlugin({
  name: 'vault',
  version: '1.0.0',
  setup({ hooks }) {
    hooks.on('collectStores', () => [
      { where: 'vault at 10.0.0.1', check: async () => [await checkClock('vault at 10.0.0.1', async () => Date.now() + Number(process.env.AHEAD_MS ?? 0))] },
      // Another plugin that uses the same store: what it finds is shown once.
      { where: 'vault at 10.0.0.1', check: async () => [await checkClock('vault at 10.0.0.1', async () => Date.now())] },
      ...(process.env.BROKEN ? [{ where: 'broken vault', check: async () => { throw new Error('no route to 10.0.0.2. Start it') } }] : []),
    ])
  },
})

export default defineConfig({ plugins: [database(), kv(), queues(), vault()] })
`

let app: AppFolder
before(async () => {
  app = await appFolder({ 'zin.config.mjs': config, '.env': 'APP_NAME=shop\n' })
  await chmod(join(app.folder, '.env'), 0o600)
})
after(() => app.remove())

async function doctor(env: Readonly<Record<string, string>> = {}) {
  const { code, out, err } = await app.zin(['doctor', '--json'], env)
  const rows = JSON.parse(out) as readonly Row[]
  assert.ok(rows.every(({ fix, state }) => (fix === undefined) === (state === 'ok')))
  return { code, out, err, rows, problems: rows.filter(({ state }) => state === 'problem') }
}

test('zin doctor finds no problem in a new app, exits with 0, and creates no data', async () => {
  const { code, problems, rows } = await doctor()
  assert.deepEqual([code, problems], [0, []])
  const checks = rows.map(({ check }) => check)
  for (const start of [
    'Node',
    'Zin',
    'package bullmq',
    'configuration',
    join(app.folder, '.env'),
    'data directory',
    'disk of',
    'SQLite in',
    'clock of',
  ])
    assert.ok(
      checks.some((check) => check.startsWith(start)),
      start,
    )
  await assert.rejects(access(join(app.folder, '.zin', 'data')), { code: 'ENOENT' })
  const { code: plain, out } = await app.zin(['doctor'])
  assert.equal(plain, 0)
  assert.ok(
    out.split('\n').every((line) => line === '' || /^(ok {7}|problem ) *\S/.test(line)),
    out,
  )
})

const unreachable: readonly (readonly [what: string, env: Readonly<Record<string, string>>, check: RegExp, fix: RegExp])[] = [
  ['a setting that is invalid', { LOG_LEVEL: 'loud' }, /^configuration$/, /LOG_LEVEL=loud/],
  ['an address that is none', { DB_CONNECTION: 'nonsense' }, /^configuration$/, /DB_CONNECTION is "nonsense"/],
  [
    'a Redis that does not respond',
    { REDIS_URL: 'redis://:canary@127.0.0.1:9', REDIS_CONNECT_TIMEOUT_MS: '300' },
    /^Redis at 127.0.0.1:9$/,
    /REDIS_URL/,
  ],
  [
    'a database that does not respond',
    { DB_CONNECTION: 'rdb', DB_HOST: '127.0.0.1', DB_PORT: '9', DB_PASSWORD: 'canary', DB_CONNECT_TIMEOUT_MS: '300' },
    /^database zin on 127.0.0.1:9$/,
    /DB_HOST and DB_PORT/,
  ],
  ['a clock that is ahead', { AHEAD_MS: '-60000' }, /^clock of vault/, /ahead of it.*Synchronise/],
  ['a clock that is behind', { AHEAD_MS: '60000' }, /^clock of vault/, /behind it.*Synchronise/],
  ['a store of a plugin that fails', { BROKEN: '1' }, /^broken vault$/, /no route to 10\.0\.0\.2\. Start it/],
]

for (const [what, env, check, fix] of unreachable) {
  test(`zin doctor exits with 1 for ${what}, in one line that says what to do`, async () => {
    const { code, err, out, problems } = await doctor(env)
    assert.equal(code, 1)
    assert.equal(problems.length, 1, out)
    const [problem] = problems as [Row]
    assert.match(problem.check, check)
    assert.match(`${problem.message} ${problem.fix}`, fix)
    assert.doesNotMatch(out + err, /canary/)
  })
}

test('zin doctor names files that others can read, and a database file that is none', async () => {
  const data = join(app.folder, '.zin', 'data')
  await mkdir(data, { recursive: true, mode: 0o755 })
  await chmod(data, 0o755)
  await chmod(join(app.folder, '.env'), 0o644)
  await writeFile(join(data, 'app.db'), 'not a database, but longer than a header of one would be'.repeat(50))
  const { code, problems } = await doctor()
  assert.equal(code, 1)
  assert.deepEqual(
    problems.map(({ check, fix }) => [check.split(' ')[0], /^Run: (chmod \d+)/.exec(fix ?? '')?.[1]]),
    [
      [join(app.folder, '.env'), 'chmod 600'],
      ['data', 'chmod 700'],
      ['SQLite', undefined],
    ],
  )
})

test('zin info shows versions, the app, its plugins and where its data is, without secrets', async () => {
  const other = await appFolder({
    'zin.config.mjs': config,
    '.env': 'APP_NAME=shop\nREDIS_URL=redis://:canary@10.0.0.9:6380/2\nAPP_KEY=canary\nDB_CONNECTION=rdb\nDB_PASSWORD=canary\n',
  })
  try {
    const { code, err, out } = await other.zin(['info', '--json'])
    assert.equal(code, 0, err)
    const info = JSON.parse(out)
    assert.equal(info.versions.node, process.versions.node)
    assert.deepEqual([info.app.name, info.app.folder, info.app.running], ['shop', other.folder, 'no'])
    assert.match(info.plugins.kv, /^\d/)
    assert.match(info.packages.bullmq, /^\d/)
    assert.deepEqual(info.data, {
      directory: join(other.folder, '.zin', 'data'),
      stores: ['database zin on localhost:3306', 'Redis at 10.0.0.9:6380, database 2', 'vault at 10.0.0.1'],
    })
    assert.doesNotMatch(out + (await other.zin(['info'])).out, /canary/)
  } finally {
    await other.remove()
  }
})
