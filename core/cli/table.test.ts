import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fittedTable, plainTable } from './table.js'

const lines = (...expected: string[]): string => expected.join('\n')

test('a table that fits has one line for each row and no grid', () => {
  const rows = [
    ['emails', 'running', '10'],
    ['x', '', ''],
  ]
  assert.equal(fittedTable(['name', 'state', 'jobs'], rows, 80), lines('name    state    jobs', 'emails  running  10', 'x'))
})

test('cells wrap between words, side by side', () => {
  const rows = [
    ['kv', 'database, queues', 'Keys and values with a life'],
    ['x', 'kv', 'Short'],
  ]
  assert.equal(
    fittedTable(['name', 'after', 'description'], rows, 41),
    lines(
      'name  after             description',
      'kv    database, queues  Keys and values',
      '                        with a life',
      'x     kv                Short',
    ),
  )
})

test('prose without enough room next to the other columns goes below its row', () => {
  const rows = [
    ['WORKER_PERSISTENCE_DRIVER', 'kvstore', 'Store of worker records that name none'],
    ['PORT', '7777', ''],
  ]
  assert.equal(
    fittedTable(['name', 'value', 'summary'], rows, 40),
    lines(
      'name                       value',
      '    summary',
      'WORKER_PERSISTENCE_DRIVER  kvstore',
      '    Store of worker records that name',
      '    none',
      'PORT                       7777',
    ),
  )
})

test('a word that is wider than its column is not broken, and its row continues below', () => {
  const url = `redis://${'long-'.repeat(10)}host:6379`
  const rows = [['REDIS_URL', url, 'environment'], ...Array.from({ length: 10 }, (_, n) => [`NAME_${n}`, 'short', '.env'])]
  const [head, first, second, third] = fittedTable(['name', 'value', 'source'], rows, 50).split('\n')
  assert.deepEqual(
    [head, first, second, third],
    [
      'name       value                       source',
      `REDIS_URL  ${url}`,
      `${' '.repeat(39)}environment`,
      'NAME_0     short                       .env',
    ],
  )
})

test('nothing is lost at any width, and only a single word is wider than the terminal', () => {
  const rows = [
    ['/api/workers/:name/versions/:version/activate', 'workers, ops', 'Give new jobs to a version, one process after another'],
    ['/x', '', 'é 日本語 👍🏽 text that goes on for some words'],
  ]
  const wordsOf = (text: string): string[] =>
    text
      .split(/\s+/)
      .filter((word) => word !== '')
      .sort()
  for (let width = 10; width < 140; width++) {
    const text = fittedTable(['path', 'plugins', 'summary'], rows, width)
    assert.deepEqual(wordsOf(text), wordsOf(`path plugins summary ${rows.flat().join(' ')}`), `${width}`)
    for (const line of text.split('\n')) assert.ok(line.length <= width || line.trim().split(/ {2,}/).length <= 2, `${width}: ${line}`)
  }
})

test('wide and combining characters are counted as displayed', () => {
  const rows = [
    ['日本語', 'a'],
    ['e\u0301', 'b'],
    ['👍🏽', 'c'],
  ]
  assert.equal(plainTable(['name', 'x'], rows), lines('name    x', '日本語  a', 'e\u0301       b', '👍🏽      c'))
})
