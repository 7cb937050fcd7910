import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type MarkState, markProcess, type ProcessMark, parseProcessMark, processMarkState } from './process-mark.js'

describe('the mark of a process in a folder', () => {
  let root = ''
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'zin-mark-'))
  })
  after(() => rm(root, { recursive: true, force: true }))

  const changes: readonly (readonly [title: string, changed: Partial<ProcessMark>, state: MarkState])[] = [
    ['is that of the running process', {}, 'running'],
    ['is gone after a restart with the same pid', { started: '1' }, 'gone'],
    ['is gone after a restart of the machine', { boot: '6e4b9f2c-0000-4000-8000-000000000000' }, 'gone'],
    ['is gone when no process has its pid', { pid: 2 ** 30 }, 'gone'],
    ['is gone in a copy of the folder', { folder: '1:2' }, 'gone'],
    ['cannot be judged on another machine', { machine: 'elsewhere', pid: 2 ** 30, started: '1' }, 'elsewhere'],
    ['cannot be judged in another PID namespace', { namespace: 'pid:[1]', pid: 2 ** 30, started: '1' }, 'elsewhere'],
    ['cannot be judged in another PID namespace, even with the pid and start time of this process', { namespace: 'pid:[1]' }, 'elsewhere'],
    ['cannot be judged in a container of a machine with the same name', { namespace: 'pid:[1]', boot: 'another' }, 'elsewhere'],
    ['is gone without a namespace and a process, as earlier versions wrote it', { namespace: '', pid: 2 ** 30 }, 'gone'],
    ['counts without a namespace, as earlier versions wrote it', { namespace: '' }, 'running'],
    ['counts without a folder, as earlier versions wrote it', { folder: '' }, 'running'],
  ]
  for (const [title, changed, state] of changes) {
    it(title, async () => {
      const me = await markProcess(root)
      const read = parseProcessMark(JSON.parse(JSON.stringify({ ...me, ...changed })))
      assert.ok(read !== undefined)
      assert.equal(await processMarkState(read, me), state)
    })
  }

  it('is the same along a symbolic link and after a move, and another in a copy', async () => {
    const [folder, moved, copy, link] = ['a', 'b', 'c', 'd'].map((name) => join(root, name)) as [string, string, string, string]
    await mkdir(folder)
    const mark = await markProcess(folder)
    await symlink(folder, link, 'junction')
    await cp(folder, copy, { recursive: true })
    const state = async (of: string) => processMarkState(mark, await markProcess(of))
    assert.deepEqual([await state(link), await state(copy)], ['running', 'gone'])
    await rename(folder, moved)
    assert.equal(await state(moved), 'running')
  })

  it('is that of another process until it has ended', async () => {
    const url = new URL('./process-mark.ts', import.meta.url).href
    const code = `import(${JSON.stringify(url)}).then(async ({ markProcess }) => process.send(await markProcess(${JSON.stringify(root)})))`
    const child = spawn(process.execPath, ['--import', 'tsx', '-e', `${code}; process.on('message', () => process.disconnect())`], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const [sent] = await once(child, 'message')
    const mark = parseProcessMark(sent)
    assert.ok(mark !== undefined)
    const me = await markProcess(root)
    assert.equal(await processMarkState(mark, me), 'running')
    assert.equal(await processMarkState({ ...mark, started: '1' }, me), 'gone')
    child.send('stop')
    await once(child, 'exit')
    assert.equal(await processMarkState(mark, me), 'gone')
  })

  for (const value of [null, 7, {}, { pid: 'x', machine: 'm' }, { pid: 0, machine: 'm' }, { pid: 1 }])
    it(`is not in ${JSON.stringify(value)}`, () => assert.equal(parseProcessMark(value), undefined))
})
