import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPrinter, fitWidths } from './print.js'

class Sink {
  text = ''
  readonly isTTY: boolean
  readonly columns: number

  constructor(columns?: number) {
    this.isTTY = columns !== undefined
    this.columns = columns ?? 0
  }

  write(text: string): void {
    this.text += text
  }
}

function printer({ json = false, columns }: { json?: boolean; columns?: number } = {}) {
  const out = new Sink(columns)
  const err = new Sink()
  return { out, err, print: createPrinter({ stdout: out, stderr: err, json, command: 'x:y' }) }
}

test('a table is aligned text on a pipe, with lists joined and missing cells empty', () => {
  const { out, print } = printer()
  print.table(
    [
      { name: 'emails', use: ['auth', 'ops'], hidden: 1 },
      { name: 'x', count: 3 },
    ],
    ['name', 'use', 'count'],
  )
  assert.equal(out.text, 'name    use        count\nemails  auth, ops\nx                  3\n')
})

test('with --json a table is one JSON array and a record one object, and lines go to stderr', () => {
  const { out, err, print } = printer({ json: true })
  print.line('a word')
  print.table([{ a: 1, b: { c: [2] } }], ['a'])
  assert.deepEqual(JSON.parse(out.text), [{ a: 1, b: { c: [2] } }])
  assert.equal(err.text, 'a word\n')
  const second = printer({ json: true })
  second.print.record({ a: '007' })
  assert.deepEqual(JSON.parse(second.out.text), { a: '007' })
})

test('an empty table says so, and is [] as JSON', () => {
  const text = printer()
  text.print.table([], ['a'])
  assert.equal(text.out.text, 'none\n')
  const json = printer({ json: true })
  json.print.table([])
  assert.deepEqual(JSON.parse(json.out.text), [])
})

test('a table on a terminal never is wider than the terminal, and loses no text', () => {
  const { out, print } = printer({ columns: 60 })
  const wide = 'abcdefghij'.repeat(12)
  print.table([{ name: 'n', text: wide, other: 'some words that are long enough to wrap' }])
  const lines = out.text
    .replace(/\u001b\[[\d;]*m/g, '')
    .trimEnd()
    .split('\n')
  for (const line of lines) assert.ok(line.length <= 60, `${line.length}: ${line}`)
  const column = lines.map((line) => line.split('│')[2]?.trim() ?? '').join('')
  assert.ok(column.includes(wide))
})

test('columns are narrowed from the widest, and not below what can be read', () => {
  assert.deepEqual(fitWidths([4, 50, 10], 40), [4, 26, 10])
  assert.deepEqual(fitWidths([4, 5], 40), [4, 5])
  assert.deepEqual(fitWidths([50, 50], 4), [6, 6])
})

test('control characters of printed data cannot drive the terminal', () => {
  const { out, print } = printer()
  print.table([{ name: 'a\u001b[2J\r\nforged' }])
  print.record({ name: 'b\u001b]0;x\u0007\nforged' })
  assert.doesNotMatch(out.text, /[\u001b\u0007\r]|^forged/m)
})
