import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { type AppFolder, appFolder } from '../../scripts/testing/app-folder.js'

const config = `
import { defineConfig, defineErrors, defineOptions, definePlugin, defineSettings, Type } from 'zin'
const shop = definePlugin({
  name: 'shop',
  version: '1.0.0',
  options: defineOptions(Type.Object({ size: Type.Integer({ minimum: 1, default: 3, description: 'How many' }) })),
  settings: defineSettings({ SHOP_KEY: { type: 'string', default: '', secret: true, summary: 'The key' } }),
  errors: defineErrors({ SHOP_SHUT: { status: 503, message: () => 'shut', when: 'At night', fix: 'Wait' } }),
  setup() {
    throw new Error('set up')
  },
})
export default defineConfig({ plugins: [shop()] })
`
const options = '| option | type | default | meaning |\n|---|---|---|---|\n| `size` | integer, from 1 | `3` | How many |'
const settings = '| setting | type | default | meaning |\n|---|---|---|---|\n| `SHOP_KEY` | secret | empty | The key |'
const errors = '| code | status | when | what to do |\n|---|---|---|---|\n| `SHOP_SHUT` | 503 | At night | Wait |'

let app: AppFolder
before(async () => {
  app = await appFolder({ 'zin.config.mjs': config })
})
after(() => app.remove())

it('zin docs prints the tables of a plugin of the app, and writes them to its README, without setting anything up', async () => {
  assert.deepEqual(await app.zin(['docs', 'shop']), {
    code: 0,
    out: `## Options\n\n${options}\n\n## Settings\n\n${settings}\n\n## Errors\n\n${errors}\n`,
    err: '',
  })
  const readme = join(app.folder, 'README.md')
  await writeFile(readme, '# shop\n\n## Options\n\nIts size:\n\n| option |\n|---|\n| `colour` |\n\nMore.\n\n## Settings\n')
  const stale = await app.zin(['docs', 'shop', '--write', 'README.md', '--check'])
  assert.deepEqual([stale.code, stale.out], [1, ''])
  assert.match(stale.err, /^zin docs: README\.md does not match the declarations of shop/)
  assert.deepEqual(await app.zin(['docs', 'shop', '--write', 'README.md']), { code: 0, out: 'wrote README.md\n', err: '' })
  const written = `# shop\n\n## Options\n\nIts size:\n\n${options}\n\nMore.\n\n## Settings\n\n${settings}\n\n## Errors\n\n${errors}\n`
  assert.equal(await readFile(readme, 'utf8'), written)
  for (const more of [['--check'], []]) {
    const same = await app.zin(['docs', 'shop', '--write', 'README.md', ...more])
    assert.deepEqual(same, { code: 0, out: 'README.md matches the declarations of shop\n', err: '' })
  }
  assert.equal(await readFile(readme, 'utf8'), written)
})

it('zin docs names what is wrong with its arguments', async () => {
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['docs', 'shp'], 1, /no plugin named "shp" is registered; did you mean "shop"\?/],
    [['docs', 'shop', '--check'], 2, /add --write <README\.md>/],
    [['docs', 'shop', '--write', 'none.md'], 1, /none\.md cannot be read: ENOENT/],
    [['docs'], 2, /missing argument <plugin>/],
  ]
  for (const [args, code, message] of cases) {
    const result = await app.zin(args)
    assert.deepEqual([result.code, result.out], [code, ''], args.join(' '))
    assert.match(result.err, message)
  }
})
