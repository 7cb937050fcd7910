import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { isAbsolute, join, relative } from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { definePlugin, Type, type Upload } from 'zin'
import { createTestHost, type TestHost } from 'zin/testing'
import { uploads } from './index.js'
import { formOf } from './testing/app.js'

const shop = definePlugin({
  name: 'shop',
  version: '1.0.0',
  setup: ({ route }) =>
    route({
      method: 'POST',
      path: '/files',
      summary: 'Keeps a file',
      bodyType: 'form',
      body: Type.Object({ to: Type.String() }),
      handler: async ({ input, request }) => {
        await (request.files.file as Upload).moveTo(input.body.to)
        return { moved: true }
      },
    }),
})

/** Every file below a folder, with its content. */
async function filesIn(folder: string): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ name, parentPath }) => join(parentPath, name))
  const texts = await Promise.all(files.map(async (file) => [relative(folder, file), await readFile(file, 'utf8')] as const))
  return Object.fromEntries(texts)
}

for (const [reader, plugins] of [
  ['the plugin uploads', () => [uploads()]],
  ['the app itself', () => []],
] as const)
  describe(`moveTo of a file that ${reader} received`, () => {
    let parent: string
    let host: TestHost
    const inApp = (name: string): string => join(parent, 'app', name)
    const send = async (to: string, text = 'new') => {
      const response = await fetch(`${host.url}/files`, {
        method: 'POST',
        body: formOf([
          ['to', to],
          ['file', new File([text], 'a.txt', { type: 'text/plain' })],
        ]),
      })
      return { status: response.status, body: (await response.json()) as { readonly code?: string } }
    }
    before(async () => {
      parent = await mkdtemp(join(tmpdir(), 'zin-move-to-'))
      await mkdir(inApp('images'), { recursive: true })
      host = await createTestHost({ plugins: [...plugins(), shop()], rootDir: join(parent, 'app'), listen: true })
    })
    after(async () => {
      await host.stop()
      await rm(parent, { recursive: true, force: true })
    })
    beforeEach(async () => {
      await rm(parent, { recursive: true, force: true })
      await mkdir(inApp('images'), { recursive: true })
      await writeFile(inApp('images/kept.txt'), 'kept')
    })

    it('starts at the folder of the app, whatever the working directory', async () => {
      assert.notEqual(process.cwd(), join(parent, 'app'))
      assert.equal((await send('images/one.txt')).status, 200)
      assert.equal((await send('./images//two..txt')).status, 200)
      assert.equal((await send(inApp('images/three.txt'))).status, 200)
      const moved = { 'images/one.txt': 'new', 'images/two..txt': 'new', 'images/three.txt': 'new' }
      assert.deepEqual(await filesIn(join(parent, 'app')), { 'images/kept.txt': 'kept', ...moved })
    })

    const traversals = ['../x', 'images/../x', 'images/../../x', 'images/..', 'images\\..\\x', '..\\x', '/tmp/../x', 'images/x\0.txt', '..']
    for (const to of traversals)
      it(`refuses ${JSON.stringify(to)}, and leaves nothing`, async () => {
        const { status, body } = await send(to)
        assert.deepEqual([status, body.code], [400, 'UPLOAD_PATH_REFUSED'])
        assert.deepEqual(await filesIn(parent), { 'app/images/kept.txt': 'kept' })
      })

    it('never replaces what exists, also when several files go to one place', async () => {
      assert.equal((await send('images/kept.txt')).status, 500)
      assert.equal((await send('images')).status, 500)
      const statuses = await Promise.all(Array.from({ length: 8 }, async (_, i) => (await send('images/race.txt', `${i}`)).status))
      assert.deepEqual([...statuses].sort(), [200, ...Array.from({ length: 7 }, () => 500)])
      const files = await filesIn(join(parent, 'app'))
      assert.deepEqual([Object.keys(files).sort(), files['images/kept.txt']], [['images/kept.txt', 'images/race.txt'], 'kept'])
      assert.equal(files['images/race.txt'], `${statuses.indexOf(200)}`)
    })

    it('copies to another disk, readable by this user only, and replaces nothing there either', async (t) => {
      const disks = await Promise.all(
        ['/dev/shm', process.cwd()].map((path) =>
          stat(path).then(
            ({ dev }) => ({ path, dev }),
            () => undefined,
          ),
        ),
      )
      const here = (await stat(tmpdir())).dev
      const other = disks.find((disk) => disk !== undefined && disk.dev !== here)
      if (other === undefined) return t.skip('there is only one disk')
      const folder = await mkdtemp(join(other.path, '.zin-move-to-'))
      try {
        const to = join(folder, 'a.txt')
        assert.ok(isAbsolute(to))
        assert.deepEqual([(await send(to)).status, (await send(to, 'again')).status], [200, 500])
        assert.deepEqual(await filesIn(folder), { 'a.txt': 'new' })
        assert.equal((await stat(to)).mode & 0o777, 0o600)
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    })
  })
