import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type AppFolder, appFolder } from '../../scripts/testing/app-folder.js'
import { main } from './main.js'

const root = join(import.meta.dirname, '..', '..')
let app: AppFolder
before(async () => {
  app = await appFolder({ 'zin.config.ts': "import { defineConfig } from 'zin'\n\nexport default defineConfig({ plugins: [] })\n" })
})
after(() => app.remove())

/** Runs a command in this process: one for each of sixty would take most of a minute. */
async function zin(args: readonly string[]) {
  const text = { out: '', err: '' }
  const into = (name: 'out' | 'err') => ({
    write: (chunk: string) => {
      text[name] += chunk
      return true
    },
  })
  const code = await main(args, { cwd: app.folder, env: {}, stdout: into('out'), stderr: into('err') })
  return { code, ...text }
}

async function run(args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, args, {
    cwd: app.folder,
    env: { PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.on('data', (chunk) => (out += chunk))
  const [code] = await once(child, 'close')
  assert.equal(code, 0, out)
}

test('what make:<kind> writes type-checks, passes lint and its test, and nothing is overwritten', async () => {
  const kinds = { route: 'routes', processor: 'processors', migration: 'migrations', command: 'commands', test: 'tests' }
  for (const [kind, folder] of Object.entries(kinds)) {
    for (const name of ['late-orders', 'shop/orders', 'new']) {
      const made = await zin([`make:${kind}`, name])
      if (kind === 'command' && name === 'new') {
        assert.match(made.err, /"new" is a command of Zin/)
        assert.equal(made.code, 2)
        continue
      }
      assert.equal(made.code, 0, made.err)
      const again = await zin([`make:${kind}`, name])
      assert.equal(again.code, 1)
      assert.match(again.err, new RegExp(`^zin make:${kind}: .*${folder}.* already exists.*\\[ZIN_FILE_EXISTS\\]\\n$`))
    }
    for (const name of ['../evil', '/evil', 'shop//orders', 'Orders', 'a/b/c/d/e', '']) {
      const { code } = await zin([`make:${kind}`, name])
      assert.equal(code, 2, `${kind} ${name}`)
    }
  }
  assert.match(await readFile(join(app.folder, 'migrations', 'shop', '0002-orders.ts'), 'utf8'), /id: '0002_shop_orders'/)
  assert.match((await app.zin(['make:migration', 'create_products'])).out, /created migrations\/0004-create-products\.ts/)
  const created = await readFile(join(app.folder, 'migrations', '0004-create-products.ts'), 'utf8')
  assert.match(created, /id: '0004_create_products'[\s\S]*createTable\('products'\)/)

  // As the output of the commands says.
  await writeFile(
    join(app.folder, 'zin.config.ts'),
    `import { defineConfig } from 'zin'
import { database } from 'zin/plugins/database'
import { lateOrdersCommand } from './commands/late-orders.js'
import { lateOrdersMigration } from './migrations/0001-late-orders.js'
import { ordersRoute } from './routes/shop/orders.js'

export default defineConfig({
  plugins: [database()],
  routes: [ordersRoute],
  commands: [lateOrdersCommand],
  migrations: [lateOrdersMigration],
})
`,
  )
  // Without the paths of this repository, Zin is the build, as in an app.
  const types = { types: ['node'], typeRoots: [join(root, 'node_modules', '@types')], paths: {} }
  await writeFile(
    join(app.folder, 'tsconfig.json'),
    JSON.stringify({ extends: join(root, 'tsconfig.json'), include: ['**/*.ts'], compilerOptions: types }),
  )
  await run([join(root, 'node_modules', 'ts7', 'bin', 'tsc'), '--noEmit', '-p', app.folder])
  await run([
    join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome'),
    'lint',
    '--error-on-warnings',
    ...Object.values(kinds).map((folder) => join(app.folder, folder)),
  ])
  const tested = await app.zin(['test'])
  assert.equal(tested.code, 0, tested.out)
  assert.match(tested.out, /pass 15/)
  const listed = await app.zin(['late-orders', '--json'])
  assert.deepEqual([listed.code, listed.err], [0, ''])
  assert.ok((JSON.parse(listed.out) as { path: string }[]).some(({ path }) => path === '/shop/orders/:id'))
})

test('the test of an app with a configuration in JavaScript is JavaScript', async () => {
  const other = await appFolder({ 'zin.config.mjs': 'export default {}\n' })
  try {
    const made = await other.zin(['make:test', 'shop/starts'])
    assert.match(made.out, /^created tests\/shop\/starts\.test\.mjs\n/, made.err)
    const tested = await other.zin(['test'])
    assert.equal(tested.code, 0, tested.out)
  } finally {
    await other.remove()
  }
})
