import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Job } from 'bullmq'
import { fileExports } from './exported.js'
import { loadExport, locateProcessor } from './load-path.js'
import type { WorkerProcessor } from './processor.js'
import { registerTypescript } from './typescript.js'

const loadProcessor = async (path: string, folders: readonly string[], app = folders.at(-1) ?? '') =>
  (await loadExport(path, { app, folders }, fileExports)) as WorkerProcessor

describe('processor files', () => {
  let base = ''
  let root = ''
  const job = { data: 2 } as Job

  before(async () => {
    await registerTypescript(import.meta.filename)
    base = await mkdtemp(join(tmpdir(), 'zin-processors-'))
    root = join(base, 'app')
    const files: Readonly<Record<string, string>> = {
      'app/workers/named.mjs': 'export function ZinTrustProcessor(job) { return job.data * 10 }\nexport default () => 0',
      'app/workers/default.mjs': 'export default (job) => job.data * 20',
      'app/workers/processor.ts': 'export const processor = (job: { data: number }): number => job.data * 30',
      'app/workers/common.cjs': 'module.exports = (job) => job.data * 40',
      'app/workers/nothing.mjs': 'export const x = 1',
      'app/workers/broken.mjs': 'throw new Error("broken on purpose")',
      'app/workers/text.txt': 'x',
      'app/workers/.hidden.mjs': 'export default () => 1',
      'app/workers/named.test.mjs': 'export default () => 1',
      'app/workers/named.spec.ts': 'export default () => 1',
      'app/workers/types.d.ts': 'export default () => 1',
      'app/workers/zin.config.ts': 'export default () => 1',
      'app/app.mjs': 'export default () => 1',
      'app/.zin/data/upload.js': 'export default () => 1',
      'app/node_modules/pkg/index.js': 'export default () => 1',
      'application/outside.mjs': 'export default () => "outside"',
    }
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(base, path, '..'), { recursive: true })
      await writeFile(join(base, path), text)
    }
    await mkdir(join(root, 'workers/folder.js'))
    await symlink(join(base, 'application/outside.mjs'), join(root, 'workers/escape.mjs'))
    await symlink(join(base, 'application'), join(root, 'linked'))
    await symlink(join(root, 'workers/text.txt'), join(root, 'workers/text.js'))
    await symlink(join(root, 'workers/default.mjs'), join(root, 'workers/inside.mjs'))
  })
  after(() => rm(base, { recursive: true, force: true }))

  const loaded: readonly (readonly [path: string, result: number])[] = [
    ['workers/named.mjs', 20],
    ['./workers/default.mjs', 40],
    ['workers/processor.ts', 60],
    ['workers/common.cjs', 80],
    ['workers/inside.mjs', 40],
  ]
  for (const [path, result] of loaded) {
    it(`loads ${path}`, async () => assert.equal((await loadProcessor(path, [root]))(job), result))
  }

  it('loads an absolute path under a root, and searches the roots in order', async () => {
    assert.equal((await loadProcessor(join(root, 'workers/default.mjs'), [join(base, 'gone'), root]))(job), 40)
  })

  const refused: readonly (readonly [path: string, code: string])[] = [
    ['workers/missing.mjs', 'INVALID_PROCESSOR_PATH'],
    ['workers/folder.js', 'INVALID_PROCESSOR_PATH'],
    ['workers/escape.mjs', 'INVALID_PROCESSOR_PATH'],
    ['linked/outside.mjs', 'INVALID_PROCESSOR_PATH'],
    ['/etc/passwd.js', 'INVALID_PROCESSOR_PATH'],
    ['../application/outside.mjs', 'INVALID_PROCESSOR_PATH_TRAVERSAL'],
    ['.zin/data/upload.js', 'INVALID_PROCESSOR_PATH'],
    ['node_modules/pkg/index.js', 'INVALID_PROCESSOR_PATH'],
    ['workers/text.js', 'INVALID_PROCESSOR_EXTENSION'],
    ['workers/.hidden.mjs', 'INVALID_PROCESSOR_PATH'],
    ['workers/named.test.mjs', 'INVALID_PROCESSOR_PATH'],
    ['workers/named.spec.ts', 'INVALID_PROCESSOR_PATH'],
    ['workers/types.d.ts', 'INVALID_PROCESSOR_PATH'],
    ['workers/zin.config.ts', 'INVALID_PROCESSOR_PATH'],
    ['workers/nothing.mjs', 'PROCESSOR_LOAD_FAILED'],
    ['workers/broken.mjs', 'PROCESSOR_LOAD_FAILED'],
  ]
  for (const [path, code] of refused) {
    it(`refuses ${path} with ${code}`, () => assert.rejects(loadProcessor(path, [root]), { code }))
  }

  it('accepts a path relative to the app, if the file is under a root', async () => {
    const folders = [join(root, 'workers')]
    for (const path of ['workers/default.mjs', 'default.mjs']) assert.equal((await loadProcessor(path, folders, root))(job), 40)
    await assert.rejects(loadProcessor('app.mjs', folders, root), { code: 'INVALID_PROCESSOR_PATH' })
  })

  it('refuses a file outside the roots even if the name of its folder begins like a root', async () => {
    await assert.rejects(locateProcessor(join(base, 'application/outside.mjs'), { app: root, folders: [root] }), {
      code: 'INVALID_PROCESSOR_PATH',
    })
  })
})
