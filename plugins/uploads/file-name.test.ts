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
    [`${'ü'.repeat(300)}.tar.gz`, `${'ü'.repeat(98)}.gz`],
    [`x${'🎈'.repeat(300)}`, `x${'🎈'.repeat(49)}`],
    // A form may have a hundred names of 16 KiB; a way to shorten or trim them that looks at each character again takes minutes here.
    [`${'x'.repeat(200_000)}.tar`, `${'x'.repeat(196)}.tar`],
    [`a${' '.repeat(200_000)}b`, `a${' '.repeat(199)}`],
    [`${'. '.repeat(100_000)}a${' .'.repeat(100_000)}`, 'a'],
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
