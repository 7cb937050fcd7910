import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { constants, openSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { eventually } from '../../scripts/testing/eventually.js'
import { PipeSink } from './pipe-sink.js'

interface Reader {
  text(): string
  /** Resolves when its text matches. */
  said(pattern: RegExp): Promise<void>
  close(): void
}

/** A log that writes to a pipe, and readers of it. */
async function pipe(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'zin-pipe-'))
  const later = cleanUp(t)
  later(() => rm(folder, { recursive: true }))
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  /** A new reader, which has read nothing yet. */
  const open = (): (() => Reader) => {
    const reader = new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), writable: false, readable: true })
    later(() => reader.destroy())
    return () => {
      let text = ''
      reader.setEncoding('utf8').on('data', (chunk) => (text += chunk))
      return {
        text: () => text,
        said: (pattern) => eventually(String(pattern), () => pattern.test(text)),
        close: () => void reader.destroy(),
      }
    }
  }
  const read = open()
  const fd = openSync(path, constants.O_WRONLY)
  const stream = new Socket({ fd, readable: false, writable: true })
  later(() => stream.destroy())
  const notice = (lines: number, ms: number): string => `dropped ${lines} ${ms >= 0}\n`
  const sink = new PipeSink({ stream, fd, closeMs: 20, notice, colors: false })
  later(() => sink.close())
  return { sink, stream, read, open }
}

const filler = 'é'.repeat(500)
const lineOf = (index: number): string => `line ${index} ${filler}\n`

/** Asserts that each line is whole, and returns the numbers of those that lineOf made. */
function numbersIn(text: string): readonly number[] {
  const lines = text.split('\n').filter((line) => line.startsWith('line '))
  return lines.map((line) => {
    const index = Number(line.split(' ')[1])
    assert.equal(`${line}\n`, lineOf(index))
    return index
  })
}

describe('a log whose reader has stopped', { skip: process.platform === 'win32' }, () => {
  it('keeps fatal lines and the last lines of 1 MiB, and tells how many are missing where they are missing', async (t) => {
    const { sink, read } = await pipe(t)
    const count = 3_000
    for (let i = 0; i < count; i++) {
      sink.write(lineOf(i), false)
      if (i === count / 10) sink.write('fatal\n', true)
    }
    const reader = read()
    await reader.said(new RegExp(`line ${count - 1} .*\n`))
    const numbers = numbersIn(reader.text())
    const [dropped, ...more] = [...reader.text().matchAll(/^dropped (\d+) true$/gm)]
    assert.deepEqual(more, [])
    assert.equal(Number(dropped?.[1]), count - numbers.length)
    assert.match(reader.text(), /^fatal$/m)
    const after = numbersIn(reader.text().slice(dropped?.index))
    assert.deepEqual([after[0], after.at(-1)], [count - after.length, count - 1])
    assert.ok(after.length * Buffer.byteLength(lineOf(count)) < 2 ** 20)
    assert.ok(Number(dropped?.index) < reader.text().indexOf('\nfatal\n'))
  })

  it('writes whole lines in their order, also between the lines of other writers', async (t) => {
    const { sink, stream, read } = await pipe(t)
    for (let i = 0; i < 300; i++) {
      sink.write(lineOf(i), false)
      stream.write(`other ${filler}\n`)
    }
    const reader = read()
    await reader.said(/line 299 .*\n/)
    await eventually('others', () => reader.text().split(`other ${filler}\n`).length === 301)
    assert.deepEqual(
      numbersIn(reader.text()),
      Array.from({ length: 300 }, (_, i) => i),
    )
  })

  it('closes within its deadline', async (t) => {
    const { sink } = await pipe(t)
    const listeners = process.listenerCount('exit')
    for (let i = 0; i < 1_000; i++) sink.write(lineOf(i), false)
    await sink.close()
    assert.equal(process.listenerCount('exit'), listeners)
  })
})

it('a log whose reader has closed the pipe loses its lines, and the next reader gets the later ones', {
  skip: process.platform === 'win32',
}, async (t) => {
  const { sink, read, open } = await pipe(t)
  for (let i = 0; i < 200; i++) sink.write(lineOf(i), false)
  const first = read()
  await first.said(/line 0 /)
  first.close()
  // The stream learns it at a write.
  let written = 200
  const again = open()
  const second = again()
  await eventually('the second reader gets lines', () => {
    sink.write(lineOf(written++), false)
    return second.text().includes(`line ${written - 2} `)
  })
  assert.ok(!second.text().includes('line 0 '))
})
