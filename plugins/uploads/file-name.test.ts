import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../scripts/testing/properties.js'
import { safeFileName } from './file-name.js'

test('a file name keeps what a person reads, and loses what a file system would take for something else', () => {
  const cases: [given: string, expected: string][] = [
    ['holiday photo.jpg', 'holiday photo.jpg'],
    ['Übersicht (1).pdf', 'Übersicht (1).pdf'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\x\\report.doc', 'report.doc'],
    ['.bashrc', 'bashrc'],
    ['a\u0000.php\u202egnp.jpg', 'a.phpgnp.jpg'],
    ['con', '_con'],
    ['LPT1.txt', '_LPT1.txt'],
    ['a. . .', 'a'],
    ['', 'file'],
    ['../', 'file'],
    ['\ud800', '\ufffd'],
    [`${'x'.repeat(300)}.tar`, `${'x'.repeat(196)}.tar`],
  ]
  for (const [given, expected] of cases) assert.equal(safeFileName(given), expected, JSON.stringify(given))
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (given) => {
      const name = safeFileName(given)
      assert.ok(name.length > 0 && Buffer.byteLength(name) <= 201)
      assert.doesNotMatch(name, /[/\\\u0000-\u001f]|^\.|\.$/)
      assert.equal(Buffer.from(name).toString(), name)
    }),
  )
})
