import assert from 'node:assert/strict'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parse } from 'yaml'
import { gitIgnore } from './new-files.js'
import { generateKeys, manifestFor, packageName, scaffold } from './scaffold.js'

interface Workflow {
  readonly jobs: { readonly check: { readonly steps: readonly { readonly run?: string }[] } }
}

/** Creates a package root with one example that contains everything that must not be copied. */
async function zinIn(t: TestContext) {
  const root = await mkdtemp(join(tmpdir(), 'zin-scaffold-'))
  t.after(() => rm(root, { recursive: true }))
  const files = {
    'package.json':
      '{"name":"zin-example-minimal","type":"module","scripts":{"test":"node --test"},"dependencies":{"zin":"^0.0.1","x":"1"}}',
    'zin.config.ts': 'export default {}\n',
    '.env.example': '# keys\nAPP_KEY=generate\nJWT_SECRET=generate\nPORT=7777\n#X=generate\nY=generated\n',
    '.env': 'APP_KEY=canary',
    'node_modules/x/index.js': '',
    '.zin/data/db': '',
    'src/dist/x.js': '',
    'src/a.ts': '',
  }
  for (const [name, text] of Object.entries(files)) {
    const file = join(root, 'examples', 'minimal', name)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  return { root, version: '1.2.3', installed: false }
}

test('an app gets the files of the example, its own name, zin, and new private keys', async (t) => {
  const zin = await zinIn(t)
  const target = join(zin.root, 'My App')
  assert.deepEqual(await scaffold({ target, example: 'minimal', zin }), { hasKeys: true, scripts: ['test'] })
  assert.deepEqual((await readdir(target)).sort(), [
    '.editorconfig',
    '.env',
    '.env.example',
    '.github',
    '.gitignore',
    'package.json',
    'src',
    'zin.config.ts',
  ])
  assert.deepEqual(await readdir(join(target, 'src')), ['a.ts'])
  assert.deepEqual(JSON.parse(await readFile(join(target, 'package.json'), 'utf8')), {
    name: 'my-app',
    type: 'module',
    scripts: { test: 'node --test' },
    dependencies: { zin: `file:${zin.root}`, x: '1' },
  })
  const env = await readFile(join(target, '.env'), 'utf8')
  assert.match(
    env,
    /^APP_NAME=my-app\n# keys\nAPP_KEY=base64:[\w+/]{43}=\nJWT_SECRET=base64:[\w+/]{43}=\nPORT=7777\n#X=generate\nY=generated\n$/,
  )
  assert.match(await readFile(join(target, '.env.example'), 'utf8'), /^APP_NAME=my-app\n# keys\nAPP_KEY=generate\n/)
  assert.equal((await stat(join(target, '.env'))).mode & 0o777, 0o600)
  const { jobs } = parse(await readFile(join(target, '.github/workflows/ci.yml'), 'utf8')) as Workflow
  // It has no other scripts.
  assert.deepEqual(
    jobs.check.steps.flatMap(({ run }) => run ?? []),
    ['npm ci', 'npm test'],
  )
  assert.match(await readFile(join(target, '.editorconfig'), 'utf8'), /^root = true\n/)
  assert.match(await readFile(join(target, '.gitignore'), 'utf8'), /^\.env\n\.env\.new\*$/m)
})

test('two apps have two names, which replace that of the example, also without a template', async (t) => {
  const zin = await zinIn(t)
  const template = join(zin.root, 'examples', 'minimal', '.env.example')
  await writeFile(template, '# name\nAPP_NAME=zin-app\nPORT=1\n')
  assert.deepEqual(await scaffold({ target: join(zin.root, 'One_two 2.0'), example: 'minimal', zin }), {
    hasKeys: false,
    scripts: ['test'],
  })
  for (const name of ['.env', '.env.example'])
    assert.equal(await readFile(join(zin.root, 'One_two 2.0', name), 'utf8'), '# name\nAPP_NAME=one-two-2-0\nPORT=1\n')
  await rm(template)
  await scaffold({ target: join(zin.root, 'other'), example: 'minimal', zin })
  assert.equal(await readFile(join(zin.root, 'other', '.env'), 'utf8'), 'APP_NAME=other\n')
})

test('an empty folder and a new repository are accepted, a folder with files and a file are refused and left unchanged', async (t) => {
  const zin = await zinIn(t)
  const empty = join(zin.root, 'empty')
  await mkdir(empty)
  await scaffold({ target: empty, example: 'minimal', zin })
  await assert.rejects(scaffold({ target: empty, example: 'minimal', zin }), { code: 'ZIN_TARGET_USED', message: /is not empty/ })
  const repository = join(zin.root, 'repository')
  await mkdir(join(repository, '.git'), { recursive: true })
  await writeFile(join(repository, '.git', 'HEAD'), 'ref: refs/heads/main')
  await scaffold({ target: repository, example: 'minimal', zin })
  assert.equal(await readFile(join(repository, '.git', 'HEAD'), 'utf8'), 'ref: refs/heads/main')
  assert.match(await readFile(join(repository, '.gitignore'), 'utf8'), /^\.env$/m)
  const file = join(zin.root, 'file')
  await writeFile(file, 'kept')
  await assert.rejects(scaffold({ target: file, example: 'minimal', zin }), { code: 'ZIN_TARGET_USED', message: /is a file/ })
  assert.equal(await readFile(file, 'utf8'), 'kept')
})

test('every generated key is different', () => {
  const keys = generateKeys('A=generate\nB=generate')
    .split('\n')
    .map((line) => line.slice(2))
  assert.equal(new Set(keys).size, 2)
  assert.equal(Buffer.from(keys[0]?.replace('base64:', '') ?? '', 'base64').length, 32)
})

test('the app gets the tarball from which its zin was installed, so that it can be installed without a registry', async (t) => {
  const checkout = await zinIn(t)
  const project = join(checkout.root, 'project')
  const root = join(project, 'node_modules', 'zin')
  await cp(join(checkout.root, 'examples'), join(root, 'examples'), { recursive: true })
  await writeFile(join(project, 'zin-1.2.3.tgz'), 'packed')
  const made = async (folder: string, resolved: string): Promise<unknown> => {
    const lock = { packages: { 'node_modules/zin': { resolved } } }
    await writeFile(join(project, 'node_modules', '.package-lock.json'), JSON.stringify(lock))
    await scaffold({ target: join(checkout.root, folder), example: 'minimal', zin: { root, version: '1.2.3', installed: true } })
    return JSON.parse(await readFile(join(checkout.root, folder, 'package.json'), 'utf8')).dependencies.zin
  }
  assert.equal(await made('one', 'file:zin-1.2.3.tgz'), 'file:./zin-1.2.3.tgz')
  assert.equal(await readFile(join(checkout.root, 'one', 'zin-1.2.3.tgz'), 'utf8'), 'packed')
  assert.equal(await made('two', 'https://packages.example/zin/-/zin-1.2.3.tgz'), '^1.2.3')
  assert.equal(await made('three', 'file:../gone/zin-1.2.3.tgz'), '^1.2.3')
  assert.deepEqual(
    (await readdir(join(checkout.root, 'two'))).filter((name) => name.endsWith('.tgz')),
    [],
  )
})

test('the app depends on the version of an installed zin', () => {
  const manifest = JSON.parse(manifestFor('{"name":"x"}', 'app', { root: '/a/node_modules/zin', version: '1.2.3', installed: true }))
  assert.deepEqual(manifest, { name: 'app', dependencies: { zin: '^1.2.3' } })
})

test('a folder name becomes a valid package name', () => {
  assert.deepEqual(['My App', '.hidden', 'Über-Große', '@@@', 'a_b.c'].map(packageName), [
    'my-app',
    'hidden',
    'ber-gro-e',
    'zin-app',
    'a_b.c',
  ])
})

test('every example ignores what an app made from it does, as packages have no .gitignore, and an image has none of it', async () => {
  const examples = join(import.meta.dirname, '../../examples')
  const folders = (await readdir(examples, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map(({ name }) => name)
  assert.ok(folders.length > 1)
  for (const name of folders) {
    assert.equal(await readFile(join(examples, name, '.gitignore'), 'utf8'), gitIgnore, name)
    const inImage = (await readFile(join(examples, name, '.dockerignore'), 'utf8')).split('\n')
    for (const entry of gitIgnore.trim().split('\n'))
      assert.ok(inImage.includes(entry.startsWith('.env.') ? '.env.*' : entry.replace(/\/$/, '')), `${name}: ${entry}`)
  }
})
