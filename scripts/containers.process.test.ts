import assert from 'node:assert/strict'
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parseEnv } from 'node:util'
import { startProxy } from '../plugins/edge-proxy/testing/proxy-process.js'
import { copyExample, type Env, linkPackages, runCli, runNode, startApp } from './app-process.js'
import { copiesOf, envOf, execForm, lastOf, parseDockerfile, type Stage } from './testing/dockerfile.js'
import { freePort } from './testing/free-port.js'
import { installForProduction, unpackZin } from './testing/production-install.js'

const examples = readdirSync('examples').filter((name) => existsSync(`examples/${name}/zin.config.ts`))
const isRoot = process.getuid?.() === 0
/** `nobody`. Otherwise the tests run as a user without privileges already. */
const nobody = isRoot ? 65_534 : undefined

const read = (example: string, name: string): string => readFileSync(join('examples', example, name), 'utf8')

function stagesOf(example: string): { readonly build: Stage; readonly final: Stage } {
  const [build, final, ...others] = parseDockerfile(read(example, 'Dockerfile'))
  assert.ok(build && final && others.length === 0, 'a Dockerfile has two stages')
  return { build, final }
}

/** Takes from the files that everybody may read the permission to write. */
function makeReadOnly(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) makeReadOnly(path)
    else if (!entry.isSymbolicLink()) chmodSync(path, 0o444)
  }
  chmodSync(folder, 0o555)
}

function makeRemovable(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { withFileTypes: true })) if (entry.isDirectory()) makeRemovable(join(folder, entry.name))
}

for (const example of examples) {
  describe(`the Dockerfile of the example ${example}`, () => {
    it('builds in one stage, and runs as a user without privileges, which gets SIGTERM, in another', () => {
      const { build, final } = stagesOf(example)
      assert.deepEqual([build.name, final.name, build.image], ['build', undefined, final.image])
      const runs = build.instructions.filter(({ name }) => name === 'RUN').map(({ args }) => args)
      assert.match(runs.join('\n'), /npm ci\b[\s\S]*npm run build && npm prune --omit=dev$/)
      assert.match(lastOf(final, 'USER'), /^[1-9]\d*:[1-9]\d*$/)
      assert.equal(lastOf(final, 'STOPSIGNAL'), 'SIGTERM')
      assert.equal(lastOf(final, 'VOLUME'), envOf(final).ZIN_DATA_DIR)
      // As `zin doctor` wants it.
      assert.ok(
        final.instructions.some(({ name, args }) => name === 'RUN' && args.startsWith(`mkdir -m 700 ${envOf(final).ZIN_DATA_DIR} `)),
      )
      assert.equal(envOf(final).NODE_ENV, 'production')
      assert.deepEqual(execForm(lastOf(final, 'CMD')).slice(0, 3), ['node', 'node_modules/zin/dist/cli.js', 'start'])
    })

    it('is that of the other examples', () => {
      assert.equal(read(example, 'Dockerfile'), read('minimal', 'Dockerfile'))
      assert.equal(read(example, '.dockerignore'), read('minimal', '.dockerignore'))
    })
  })
}

describe('the layout of an image', { skip: process.platform === 'win32' && 'Windows has other permissions' }, () => {
  // Not the temporary folder of the test run, which others cannot enter.
  const temporary = mkdtempSync(join(isRoot ? '/tmp' : tmpdir(), 'zin image '))
  const unpacked = join(temporary, 'zin')
  before(async () => {
    chmodSync(temporary, 0o755)
    await unpackZin(unpacked)
  })
  after(() => {
    makeRemovable(temporary)
    rmSync(temporary, { recursive: true })
  })

  /** Follows the instructions: what is not ignored is built, and what the last stage copies is all that there is. */
  async function layOut(example: string, source: string): Promise<{ readonly image: string; readonly final: Stage }> {
    const { build, final } = stagesOf(example)
    const ignored = read(example, '.dockerignore').trim().split('\n')
    const isIgnored = (path: string): boolean =>
      ignored.some((pattern) => new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}(/|$)`).test(path))
    const built = `${source} build`
    cpSync(source, built, { recursive: true, filter: (path) => path === source || !isIgnored(relative(source, path)) })
    assert.deepEqual(
      readdirSync(built).filter((name) => name.startsWith('.env')),
      [],
    )
    assert.ok(copiesOf(build).some(({ from, to }) => from[0] === '.' && to === '.'))
    linkPackages(built)
    const { code, stdout, stderr } = await runCli(['build'], built)
    assert.equal(code, 0, stdout + stderr)
    rmSync(join(built, 'node_modules'))
    const { dependencies, optionalDependencies } = JSON.parse(read(example, 'package.json')) as Record<string, Env | undefined>
    await installForProduction(built, { dependencies: { ...dependencies, ...optionalDependencies }, unpacked })
    const image = `${source} image`
    mkdirSync(image)
    for (const { stage, from, to } of copiesOf(final)) {
      assert.equal(stage, build.name)
      assert.equal(from.length, 1)
      const [path = ''] = from.map((one) => relative('/app', one))
      assert.ok(['./', `./${basename(path)}`].includes(to), `${path} is copied to ${to}`)
      cpSync(join(built, path), join(image, path), { recursive: true, verbatimSymlinks: true })
    }
    makeReadOnly(image)
    return { image, final }
  }

  for (const example of examples) {
    it(`of ${example} serves, migrates and ends on SIGTERM without privileges and without writing to it`, async (t) => {
      const source = copyExample(example, temporary)
      const services = join(source, 'src/services')
      // The ports of the example may be in use here.
      for (const name of existsSync(services) ? readdirSync(services, { recursive: true, encoding: 'utf8' }) : []) {
        if (basename(name) !== 'service.config.json') continue
        const file = join(services, name)
        writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), port: await freePort() }))
      }
      const { image, final } = await layOut(example, source)
      const data = join(temporary, `${example} data`)
      mkdirSync(data, { mode: 0o700 })
      if (nobody !== undefined) chownSync(data, nobody, nobody)
      const settings = parseEnv(readFileSync(join(source, '.env'), 'utf8')) as Env
      const proxied = settings.EDGE_REMOTE_URL === undefined ? undefined : await startProxy(source, ['--statements', 'statements.json'])
      t.after(() => proxied?.end('SIGTERM'))
      const edge: Env = proxied === undefined ? {} : { EDGE_REMOTE_URL: proxied.client.url }
      const env = {
        ...envOf(final),
        ...settings,
        ...edge,
        ZIN_DATA_DIR: data,
        HOME: '/nonexistent',
        NODE_OPTIONS: '',
        PORT: `${await freePort()}`,
      }
      const { PORT: _port, ...started } = env
      const asUser = (args: readonly string[], more: Env = {}) => runNode(args, image, { ...env, ...more }, nobody)

      const reach = await asUser(['-e', "require('node:fs').readdirSync('node_modules')"])
      assert.equal(reach.code, 0, `others must be able to read the image: ${reach.stderr}`)
      const written = await asUser(['-e', "require('node:fs').writeFileSync('x', '')"])
      assert.match(written.stderr, /EACCES/)
      const [, cli = '', ...args] = execForm(lastOf(final, 'CMD'))
      const hasTables = read(example, 'zin.config.ts').includes('database()')
      if (hasTables) {
        const migrated = await asUser([cli, 'migrate'])
        assert.equal(migrated.code, 0, migrated.stdout + migrated.stderr)
      }
      const health = execForm(lastOf(final, 'HEALTHCHECK'))
      assert.equal(health[0], 'node')
      assert.equal((await asUser(health.slice(1))).code, 1, 'it does not run yet')
      const app = await startApp(image, {
        cli: join(image, cli),
        args,
        env: started,
        // Those without the plugin `health`.
        probe: { minimal: '/hello/health', concepts: '/greetings' }[example] ?? '/health/live',
        ...(nobody === undefined ? {} : { uid: nobody }),
      })
      const checked = await asUser(health.slice(1), { PORT: new URL(app.url).port })
      const code = await app.end('SIGTERM')
      assert.deepEqual([checked.code, code], [0, 0], checked.stderr + app.output())
      if (hasTables) assert.doesNotMatch(app.output(), /database: migrated/)
      assert.doesNotMatch(app.output(), /EACCES|EROFS|cannot write/)
    })
  }
})
