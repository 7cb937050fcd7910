import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { quickStart } from '../../scripts/testing/runnable.js'

const root = join(import.meta.dirname, '..', '..')
const cli = join(root, 'dist', 'cli.js')

let folder = ''
/** The same app with a configuration in TypeScript, which takes each process twice as long. */
let typed = ''
const started: ChildProcess[] = []
const config = `
import { defineConfig, definePlugin, env } from 'zin'

const orders = definePlugin({
  name: 'orders',
  version: '1.0.0',
  settings: { ORDERS_SECRET: { type: 'string', default: '', secret: true, summary: 'A secret' }, ORDERS_SYNC: { type: 'string', default: 'on', summary: 'Sync' } },
  developmentDefaults: { ORDERS_SYNC: 'off' },
  setup({ route, command, hooks, describe, settings }) {
    describe(() => 'sync ' + settings.ORDERS_SYNC)
    hooks.on('authorizeCommand', ({ url }) => ({ headers: { 'x-order-key': settings.ORDERS_SECRET + new URL(url).pathname }, onRefusal: 'no' }))
    route({ method: 'GET', path: '/orders', summary: 'Lists orders', handler: (ctx) => ({ key: ctx.get('x-order-key') }) })
    command({
      name: 'order prune', summary: 'Prunes orders', needs: 'services', json: true,
      options: { id: { type: 'string', summary: 'which' } }, run: ({ options, print }) => print.record({ id: options.id }),
    })
    command({ name: 'order:list', aliases: ['ol'], summary: 'Lists orders', needs: 'running app', json: true, run: async ({ app, print }) => print.record(await app.request({ method: 'GET', path: '/orders' })) })
    command({ name: 'order:refuse', summary: 'Refuses', needs: 'config', json: true, run: ({ print }) => { print.error('say which order'); return 2 } })
    command({ name: 'order:fail', summary: 'Fails', needs: 'config', run: () => { throw new Error('no luck with Bearer canarycanarycanary') } })
  },
})

const reports = definePlugin({ name: 'reports', version: '2.0.0', dependencies: ['orders'], setup() {} })

export default defineConfig({ app: { name: env.string('SHOP_NAME', 'shop'), port: 0 }, plugins: [reports(), orders()] })
`

before(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'zin cli ')))
  typed = join(folder, 'typed')
  await mkdir(typed)
  await writeFile(join(folder, 'package.json'), '{"name":"shop","type":"module"}')
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  await writeFile(join(folder, 'zin.config.mjs'), config)
  await writeFile(join(typed, 'zin.config.ts'), config)
  await writeFile(join(folder, '.env'), 'SHOP_NAME=corner-shop\nORDERS_SECRET=canary-secret\nAPP_KEY=canary-key\n')
})
after(async () => {
  // Only processes left by a failed test; the child of zin dev stops with it.
  for (const child of started) child.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true, maxRetries: 3 })
})

function start(
  args: readonly string[],
  cwd = folder,
  env: Readonly<Record<string, string>> = {},
): { child: ChildProcess; out: () => string; err: () => string } {
  const { PATH = '', HOME = '', TMPDIR = '' } = process.env
  const child = spawn(process.execPath, [...quickStart(), cli, ...args], {
    cwd,
    env: { PATH, HOME, ...(TMPDIR === '' ? {} : { TMPDIR }), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(child)
  const text = { out: '', err: '' }
  child.stdout?.on('data', (chunk) => (text.out += chunk))
  child.stderr?.on('data', (chunk) => (text.err += chunk))
  return { child, out: () => text.out, err: () => text.err }
}

async function zin(args: readonly string[], cwd = folder, env: Readonly<Record<string, string>> = {}) {
  const { child, out, err } = start(args, cwd, env)
  const [code] = await once(child, 'close')
  return { code: code as number, out: out(), err: err() }
}

/** Starts the app and resolves with its address once it prints it. */
async function startApp(args: readonly string[] = []) {
  const app = start(['start', ...args])
  const url = await new Promise<string>((resolve, reject) => {
    app.child.stdout?.on('data', () => {
      const [, found] = /listens on (http:\S+)/.exec(app.out()) ?? []
      if (found !== undefined) resolve(found)
    })
    app.child.on('exit', () => reject(new Error(app.err())))
  })
  const end = async (signal: NodeJS.Signals) => {
    const exited = once(app.child, 'exit')
    app.child.kill(signal)
    const [code] = await exited
    return code as number | null
  }
  return { ...app, url, end }
}

test('zin --version and zin --help work outside of an app', async () => {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  const shown = await zin(['--version'], tmpdir())
  assert.deepEqual([shown.code, shown.out.startsWith(`zin/${version} `), shown.err], [0, true, ''])
  for (const args of [['--help'], ['help'], []]) {
    const help = await zin(args, tmpdir())
    assert.equal(help.code, 0)
    for (const name of ['new', 'dev', 'start', 'plugins', 'hooks', 'routes', 'config:check', 'make:plugin'])
      assert.match(help.out, new RegExp(`^  ${name}\\b`, 'm'))
  }
})

test('an unknown command or option is one line on stderr with a suggestion, and exit code 2', async () => {
  assert.deepEqual(await zin(['plugns'], tmpdir()), { code: 2, out: '', err: 'zin: unknown command "plugns"; did you mean "plugins"?\n' })
  const outside = await zin(['worker:list'], tmpdir())
  assert.match(outside.err, /^zin: unknown command "worker:list"; plugin commands need an app, .* no zin\.config\.ts /)
  // Of plugins that the app does not have.
  for (const args of [
    ['queue:list', 'emails', '--json=false'],
    ['help', 'queue:list'],
    ['queue:list', '--help'],
  ])
    assert.match((await zin(args)).err, /^zin: unknown command "queue:list"; .*"queue-monitor", .* run "zin add queue-monitor"\n$/)
  assert.match((await zin(['queue', 'prune', '--hours', '1'])).err, /unknown command "queue prune"; .* run "zin add queue-monitor"\n$/)
  assert.match((await zin(['rm'])).err, /unknown command "rm"; .* run "zin add resources"\n$/)
  assert.deepEqual(await zin(['order', 'prun']), { code: 2, out: '', err: 'zin: unknown command "order"; did you mean "order prune"?\n' })
  assert.deepEqual(await zin(['order', 'prune', '--idd=1']), {
    code: 2,
    out: '',
    err: 'zin order prune: unknown option --idd; did you mean --id?\n',
  })
  assert.deepEqual(await zin(['make:plugin']), {
    code: 2,
    out: '',
    err: 'zin make:plugin: missing argument <name>: kebab-case: slow-jobs, or in a folder: shop/slow-jobs\n',
  })
})

test('help lists plugin commands, from a cache if the configuration has not changed', async () => {
  const file = join(folder, 'zin.config.mjs')
  await utimes(file, 1_000_000_000, 1_000_000_000)
  const first = await zin(['help'])
  assert.match(first.out, /Plugin orders:\n {2}order prune +Prunes orders\n/)
  await writeFile(file, 'x'.repeat(config.length))
  await utimes(file, 1_000_000_000, 1_000_000_000)
  // The file no longer loads, and its size and time are the old ones, so these lines came from the cache.
  const cached = await zin(['order', 'prune', '--help'])
  await writeFile(file, config)
  assert.match(cached.out, /Prunes orders\nProvided by the plugin orders[\s\S]*--id <text>/)
  assert.equal(cached.code, 0)
})

test('help shows no warnings of plugins', async () => {
  const quiet = join(folder, 'quiet')
  await mkdir(quiet)
  const warns = `definePlugin({ name: 'warns', version: '1.0.0', setup: ({ log }) => log.warn('no key is set') })`
  await writeFile(
    join(quiet, 'zin.config.mjs'),
    `import { defineConfig, definePlugin } from 'zin'\nexport default defineConfig({ plugins: [${warns}()] })\n`,
  )
  // Before any other command, which would cache the list.
  const { code, err } = await zin(['help'], quiet)
  assert.deepEqual({ code, err }, { code: 0, err: '' })
  assert.match((await zin(['routes'], quiet)).err, /no key is set/)
})

test('help works for core commands even if the configuration does not load', async () => {
  const broken = await realpath(await mkdtemp(join(tmpdir(), 'zin-broken-')))
  try {
    await writeFile(join(broken, 'package.json'), '{"type":"module"}')
    await writeFile(join(broken, 'zin.config.ts'), 'export default {\n  a a\n}\n')
    const help = await zin(['help'], broken)
    assert.equal(help.code, 0)
    assert.match(help.out, /Plugin commands are not listed: .*zin\.config\.ts:2:5: /)
    const routes = await zin(['routes'], broken)
    assert.deepEqual([routes.code, routes.out], [1, ''])
    assert.match(routes.err, /^zin routes: .*zin\.config\.ts:2:5: .* \[ZIN_CONFIG_SYNTAX\]\n$/)
  } finally {
    await rm(broken, { recursive: true })
  }
})

test('a two-word command of a plugin keeps 007 as text', async () => {
  const { code, out } = await zin(['order', 'prune', '--id', '007', '--json'])
  assert.deepEqual([code, JSON.parse(out)], [0, { id: '007' }])
})

test('plugins shows the order, --why the reason, and --plan --json the whole boot', async () => {
  assert.match((await zin(['plugins'])).out, /\norders[\s\S]*\nreports/)
  assert.match((await zin(['plugins', '--why', 'orders'])).out, /required by reports/)
  assert.match(
    (await zin(['plugins', '--why', 'ordrs'])).err,
    /^zin plugins: no plugin named "ordrs" is registered; did you mean "orders"\? \[ZIN_PLUGIN_UNKNOWN\]\n$/,
  )
  const plan = JSON.parse((await zin(['plugins', '--plan', '--json'])).out) as {
    app: string
    order: string[]
    routes: { path: string }[]
    commands: { name: string }[]
  }
  assert.equal(plan.app, 'corner-shop')
  assert.ok(plan.order.indexOf('orders') < plan.order.indexOf('reports'))
  assert.ok(plan.routes.some((route) => route.path === '/orders'))
  assert.ok(plan.commands.some((command) => command.name === 'order prune'))
})

test('routes and hooks list what is registered, config:check masks secrets and shows the sources of values', async () => {
  const routes = JSON.parse((await zin(['routes', '--json'])).out) as { path: string; plugin: string }[]
  assert.ok(routes.some((route) => route.path === '/orders' && route.plugin === 'orders'))
  const hooks = JSON.parse((await zin(['hooks', '--json'])).out) as { name: string; kind: string }[]
  assert.ok(hooks.some((hook) => hook.name === 'onReady' && hook.kind === 'settle'))
  const check = await zin(['config:check', '--json'])
  const secret = (JSON.parse(check.out) as { name: string }[]).find((row) => row.name === 'ORDERS_SECRET')
  assert.deepEqual(secret, {
    name: 'ORDERS_SECRET',
    value: '********',
    source: '.env',
    readers: ['orders'],
    type: 'string',
    summary: 'A secret',
  })
  assert.doesNotMatch(check.out, /canary/)
})

test('an invalid setting stops config:check and start with its name, its value and what was expected', async () => {
  for (const command of ['config:check', 'start']) {
    const { code, err } = await zin([command], folder, { LOG_LEVEL: 'loud' })
    assert.equal(code, 1)
    assert.match(err, new RegExp(`^zin ${command}: .*LOG_LEVEL=loud: expected one of trace.*\\n$`))
  }
})

test('a failing command prints one line without secrets, and a stack only with DEBUG=zin', async () => {
  assert.deepEqual(await zin(['order:fail']), { code: 1, out: '', err: 'zin order:fail: no luck with Bearer ********\n' })
  assert.match((await zin(['order:fail'], typed, { DEBUG: 'zin' })).err, /\n {4}at .*zin\.config\.ts:\d+:\d+/)
})

test('with --json every failure is one line of JSON on stderr, stdout is empty, and the exit code is the same', async () => {
  const failures = [
    {
      args: ['plugns', '--json'],
      code: 2,
      error: 'Usage',
      report: 'ZIN_USAGE',
      message: /^unknown command "plugns"; did you mean "plugins"\?$/,
    },
    { args: ['routes', '--json', '--idd'], code: 2, error: 'Usage', report: 'ZIN_USAGE', message: /^unknown option --idd/ },
    { args: ['order:list', '--json', '--port', '9'], code: 1, error: 'App unreachable', report: 'ZIN_APP_UNREACHABLE', message: /^no app/ },
  ]
  for (const { args, code, error, report, message } of failures) {
    const failed = await zin(args)
    assert.deepEqual([failed.code, failed.out], [code, ''], args.join(' '))
    const body = JSON.parse(failed.err)
    assert.deepEqual([body.error, body.code], [error, report])
    assert.match(body.message, message)
  }
  const refused = await zin(['order:refuse', '--json'])
  assert.deepEqual([refused.code, refused.out], [2, ''])
  assert.deepEqual(JSON.parse(refused.err), { error: 'Command failed', message: 'say which order', code: 'ZIN_COMMAND_FAILED' })
})

test('the error of a plugin command names the command', async () => {
  assert.deepEqual(await zin(['order:refuse']), { code: 2, out: '', err: 'zin order:refuse: say which order\n' })
})

test('invalid configuration values and a plugin factory that was not called end the command with the path', async () => {
  const broken = await realpath(await mkdtemp(join(tmpdir(), 'zin-broken-')))
  try {
    await writeFile(join(broken, 'package.json'), '{"type":"module"}')
    await symlink(join(root, 'node_modules'), join(broken, 'node_modules'), 'junction')
    const file = join(broken, 'zin.config.ts')
    await writeFile(file, "export default { app: { trustedProxies: 'one' }, shutdown: { deadline: 5 } }\n")
    assert.deepEqual(await zin(['start'], broken), {
      code: 1,
      out: '',
      err:
        `zin start: ${file} has an invalid value: app.trustedProxies must be integer; ` +
        'has an unknown key "shutdown.deadline"; did you mean "shutdown.deadlineMs"? [ZIN_CONFIG_INVALID]\n',
    })
    await writeFile(
      file,
      "import { definePlugin } from 'zin'\nexport default { plugins: [definePlugin({ name: 'slow-jobs', version: '1.0.0', setup() {} })] }\n",
    )
    assert.match(
      (await zin(['plugins'], broken)).err,
      /zin\.config\.ts: plugins\[0\] is a plugin factory that was not called: write slowJobs\(\) \[ZIN_CONFIG_INVALID\]\n$/,
    )
  } finally {
    await rm(broken, { recursive: true })
  }
})

test('the error for a setting that is out of range contains the range', async () => {
  assert.match((await zin(['start'], folder, { PORT: '70000' })).err, /PORT=70000: expected an integer from 0 to 65535 /)
})

test('start serves until SIGTERM and describes its plugins, a command reaches it with the credential of a plugin, and a second start on its port is refused', async () => {
  const none = await zin(['order:list', '--port', '9'])
  assert.deepEqual(
    [none.code, none.err],
    [
      1,
      'zin order:list: no app responds on http://127.0.0.1:9; start it with "zin start", or pass its address with --url, or with --host and --port [ZIN_APP_UNREACHABLE]\n',
    ],
  )
  const app = await startApp(['--port', '0'])
  const listed = await zin(['ol', '--json'])
  assert.deepEqual([listed.code, JSON.parse(listed.out)], [0, { key: 'canary-secret/orders' }])
  const other = await zin(['order:list', '--url', app.url], folder, { SHOP_NAME: 'kiosk' })
  assert.equal(other.code, 1)
  assert.match(other.err, /^zin order:list: the app on http:\S+ is not "kiosk", the app of this folder; .* \[OTHER_APP\]\n$/)
  const second = await zin(['start', '--port', new URL(app.url).port])
  assert.equal(second.code, 1)
  assert.match(second.err, /^zin start: .*port is in use.*\n$/)
  assert.equal(await app.end('SIGTERM'), 0)
  assert.match(
    app.out(),
    /^corner-shop listens on http:\/\/127\.0\.0\.1:\d+ \(development, http and worker, \d+ ms\)\n {2}plugins {2}.*orders \(sync on\).*, reports\n {2}data .*\n {2}docs {5}http:\/\/127\.0\.0\.1:\d+\/docs\n/,
  )
})

test('start without HTTP runs until SIGINT and logs JSON when asked', async () => {
  const app = start(['start', '--roles', 'worker'], folder, { LOG_FORMAT: 'json' })
  await once(app.child.stdout as NodeJS.ReadableStream, 'data')
  const exited = once(app.child, 'exit')
  app.child.kill('SIGINT')
  assert.deepEqual(await exited, [0, null])
  const [line] = app
    .out()
    .split('\n')
    .map((text) => JSON.parse(text || 'null'))
  assert.deepEqual([line.msg, line.roles], ['corner-shop runs without HTTP', ['worker']])
})

test('make:plugin writes a plugin that compiles, passes lint and its own test, and overwrites nothing', async () => {
  const made = await zin(['make:plugin', 'late-orders'])
  assert.equal(made.code, 0, made.err)
  assert.match(made.out, /import { lateOrders } from '\.\/plugins\/late-orders\/index\.js'/)
  const nested = await zin(['make:plugin', 'shop/orders'])
  assert.match(nested.out, /import { orders } from '\.\/plugins\/shop\/orders\/index\.js'/, nested.err)
  const again = await zin(['make:plugin', 'late-orders'])
  assert.match(again.err, /already exists.*\[ZIN_PLUGIN_EXISTS\]\n$/)
  for (const name of ['class', 'new', 'define-plugin', 'host']) {
    const { code, err } = await zin(['make:plugin', name])
    assert.equal(code, 2)
    assert.match(err, new RegExp(`^zin make:plugin: a plugin cannot be named "${name}": .*\\n$`))
  }
  for (const name of ['../evil', '/evil', 'shop//orders', 'shop/', 'a/b/c/d/e'])
    assert.match((await zin(['make:plugin', name])).err, /\[ZIN_PLUGIN_NAME\]\n$/, name)
  const file = join(folder, 'plugins', 'late-orders', 'late-orders.test.ts')
  // Without the paths of this repository, Zin is the build, as in an app.
  const types = { types: ['node'], typeRoots: [join(root, 'node_modules', '@types')], paths: {} }
  const project = { extends: join(root, 'tsconfig.json'), include: ['plugins'], compilerOptions: types }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(project))
  const checks = [
    ['--import', import.meta.resolve('tsx'), '--test-reporter', 'tap', file],
    [join(root, 'node_modules', 'ts7', 'bin', 'tsc'), '--noEmit', '-p', folder],
    [join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome'), 'lint', '--error-on-warnings', join(folder, 'plugins')],
  ]
  const [tested] = await Promise.all(
    checks.map(async (args) => {
      const run = spawn(process.execPath, args, {
        cwd: folder,
        env: { PATH: process.env.PATH ?? '' },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let report = ''
      run.stdout.on('data', (chunk) => (report += chunk))
      const [code] = await once(run, 'close')
      assert.equal(code, 0, report)
      return report
    }),
  )
  assert.match(tested ?? '', /# pass [1-9]/)
  await rm(join(folder, 'tsconfig.json'))
})

test('new creates an app, and asks for a folder only on a terminal', async () => {
  const target = join(folder, 'made')
  const made = await zin(['new', 'made', '--example', 'minimal'])
  assert.equal(made.code, 0, made.err)
  assert.equal((JSON.parse(await readFile(join(target, 'package.json'), 'utf8')) as { name: string }).name, 'made')
  assert.match(made.out, /\n {2}cd made\n/)
  assert.doesNotMatch(made.out, /keys/)
  assert.match(await readFile(join(target, '.env'), 'utf8'), /^APP_NAME=made$/m)
  const spaced = await zin(['new', "my ü's shop", '--example', 'full'])
  assert.match(spaced.out, /\n {2}cd 'my ü'\\''s shop'\n[\s\S]*Its keys are in \.env; do not commit it/)
  assert.match(await readFile(join(folder, "my ü's shop", '.env'), 'utf8'), /^APP_NAME=my-s-shop$/m)
  assert.equal((await zin(['new', 'made'])).code, 1)
  assert.deepEqual(await zin(['new']), { code: 2, out: '', err: 'zin new: missing argument <dir>: the folder of the app\n' })
  assert.match(
    (await zin(['new', 'x', '--example', 'huge'])).err,
    /^zin new: option --example must be one of minimal, web-api, full, custom-plugin, edge, microservice, not "huge"\n$/,
  )
})

test('dev restarts the app on a change, survives a broken change, and stops with the app on SIGINT', async () => {
  const dev = start(['dev', '--port', '0'])
  const said = (pattern: RegExp, times = 1) =>
    new Promise<void>((resolve) => {
      const check = () => {
        if ((`${dev.out()}${dev.err()}`.match(new RegExp(pattern, 'g')) ?? []).length >= times) resolve()
      }
      dev.child.stdout?.on('data', check)
      dev.child.stderr?.on('data', check)
      check()
    })
  await said(/listens on/)
  await writeFile(join(folder, 'zin.config.mjs'), `${config}\nbroken broken\n`)
  await said(/waiting for a change/)
  await writeFile(join(folder, 'zin.config.mjs'), config)
  await said(/orders \(sync off\)/, 2)
  // A write to .env by the app itself is not a change; one from outside is.
  const own = config
    .replace(
      'setup({',
      "async ready() { if (process.env.ZIN_DEV) { await updateEnvFile('.env', () => ({ ORDERS_NOTE: String(process.pid) })); console.log('noted') } },\n  setup({",
    )
    .replace('definePlugin, env }', 'definePlugin, env, updateEnvFile }')
  await writeFile(join(folder, 'zin.config.mjs'), own)
  await said(/noted/)
  await said(/listens on/, 3)
  await writeFile(join(folder, 'zin.config.mjs'), config)
  await said(/listens on/, 4)
  assert.doesNotMatch(dev.out(), /\.env changed/)
  const { pid } = JSON.parse(await readFile(join(folder, '.zin', 'data', 'run.json'), 'utf8')) as { pid: number }
  const exited = once(dev.child, 'exit')
  dev.child.kill('SIGINT')
  assert.deepEqual(await exited, [0, null])
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
  assert.match(dev.err(), /ZIN_CONFIG_SYNTAX/)
})
