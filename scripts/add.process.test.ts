import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { linkPackages, runCli, temporaryFolder } from './app-process.js'

describe('zin add', () => {
  const temporary = temporaryFolder()
  const app = join(temporary.path, 'app')
  const text = (name: string): string => readFileSync(join(app, name), 'utf8')

  before(async () => {
    assert.equal((await runCli(['new', 'app', '--example', 'minimal'], temporary.path)).code, 0)
    linkPackages(app)
  })
  after(() => temporary.remove())

  it('lists a plugin with those that it requires, and their packages in the versions of zin', async () => {
    const { code, stdout, stderr } = await runCli(['add', 'queues', '--skip-install'], app)
    assert.equal(code, 0, stderr)
    assert.match(stdout, /Then run: npm install/)
    assert.match(text('zin.config.ts'), /import \{ queues \} from 'zin\/plugins'/)
    assert.match(text('zin.config.ts'), /plugins: \[queues\(\)\]/)
    const { dependencies } = JSON.parse(text('package.json'))
    const { peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
    assert.deepEqual(Object.keys(dependencies), ['@electric-sql/pglite', 'bullmq', 'ioredis', 'zin'])
    assert.equal(dependencies.bullmq, peerDependencies.bullmq)
  })

  it('changes nothing the second time, and finds a plugin by the name of its factory', async () => {
    const before = [text('zin.config.ts'), text('package.json')]
    const { code, stdout } = await runCli(['add', 'queues', '--skip-install'], app)
    assert.equal(code, 0)
    assert.match(stdout, /already lists queues/)
    assert.deepEqual([text('zin.config.ts'), text('package.json')], before)
    assert.equal((await runCli(['add', 'queueMonitor', '--skip-install'], app)).code, 0)
    assert.match(text('zin.config.ts'), /plugins: \[queues\(\), .*ops\(\).*queueMonitor\(\)\]/)
    assert.ok('graphql' in JSON.parse(text('package.json')).dependencies)
  })

  it('says what is to do, and what some settings need', async () => {
    await runCli(['add', 'observability', '--skip-install'], app)
    const { code, stdout } = await runCli(['add', 'observability', '--skip-install'], app)
    assert.equal(code, 0, stdout)
    // kv has no store.
    assert.match(stdout, /^To do: .*database\(\)/m)
    assert.match(
      stdout,
      /^When WORKER_OPENTELEMETRY_ENABLED or APM_ENABLED is true, observability also needs @opentelemetry\/api, .*zin add observability --all$/m,
    )
  })

  it('makes a key for the first plugin that reads one, and keeps it', async () => {
    assert.doesNotMatch(text('.env'), /APP_KEY/)
    const { code, stdout, stderr } = await runCli(['add', 'jwt', '--skip-install'], app)
    assert.equal(code, 0)
    assert.match(stdout, /^zin\.config\.ts: jwt$/m)
    assert.match(stdout, /^\.env: APP_KEY, a new random key; do not commit it$/m)
    assert.match(text('.env'), /^APP_KEY='base64:[\w+/]{43}='$/m)
    assert.doesNotMatch(stdout + stderr, /base64:|APP_KEY is set/, 'neither the key nor a warning that it is missing')
    const before = text('.env')
    assert.doesNotMatch((await runCli(['add', 'sessions', '--skip-install'], app)).stdout, /APP_KEY/)
    assert.equal(text('.env'), before)
  })

  it('adds several plugins at once, or none if one of them is unknown', async () => {
    const before = [text('zin.config.ts'), text('package.json')]
    const refused = await runCli(['add', 'cors', 'uplods', '--skip-install'], app)
    assert.deepEqual([refused.code, /did you mean "uploads"/.test(refused.stderr)], [1, true], refused.stderr)
    assert.deepEqual([text('zin.config.ts'), text('package.json')], before)
    const { code, stdout, stderr } = await runCli(['add', 'cors', 'uploads', 'static-files', 'cors', '--skip-install'], app)
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^zin\.config\.ts: cors, uploads, staticFiles$/m)
    assert.match(text('zin.config.ts'), /cors\(\), uploads\(\), staticFiles\(\)\]/)
    const { dependencies } = JSON.parse(text('package.json'))
    for (const name of ['@koa/cors', '@fastify/busboy', 'file-type', 'sirv']) assert.ok(name in dependencies, name)
  })

  it('refuses an unknown name with the nearest one, and changes nothing', async () => {
    const before = text('zin.config.ts')
    const { code, stderr } = await runCli(['add', 'quues'], app)
    assert.equal(code, 1)
    assert.match(stderr, /did you mean "queues"\?/)
    assert.equal(text('zin.config.ts'), before)
  })
})
