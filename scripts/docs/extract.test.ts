import assert from 'node:assert/strict'
import { test } from 'node:test'
import { examplesOf, fencesOf, freeNames } from './extract.js'

test('every ts or js fence of a document is extracted with its line, except those marked as fragments', () => {
  const markdown = '# Title\n\n```ts\nconst a = 1\n```\n\n```ts fragment\nsetup() {}\n```\n\n```js\nlet b\n```\n\n```\ntext\n```\n'
  assert.deepEqual(fencesOf('README.md', markdown), [
    { path: 'README.md', line: 4, code: 'const a = 1\n' },
    { path: 'README.md', line: 12, code: 'let b\n' },
  ])
})

test('every example of a docstring is extracted, up to the next tag', () => {
  const source =
    '/**\n * Adds.\n *\n * @example\n * add(1)\n *\n *   .more()\n * @example with a title\n * add(2)\n * @returns it\n */\nexport const x = 1\n'
  assert.deepEqual(examplesOf('a.ts', source), [
    { path: 'a.ts', line: 5, code: 'add(1)\n\n  .more()\n' },
    { path: 'a.ts', line: 9, code: 'add(2)\n' },
  ])
})

test('names that a snippet imports or declares at its top level are not free', () => {
  const code = "import d, { type A } from 'b'\nconst { c, e: [f] } = g()\nfunction h(i: A) {}\nj(c, d, f, h)\n"
  const free = freeNames({ path: 'a.md', line: 1, code })
  assert.deepEqual(
    ['A', 'c', 'd', 'f', 'g', 'h', 'j'].filter((name) => free.has(name)),
    ['g', 'j'],
  )
})
