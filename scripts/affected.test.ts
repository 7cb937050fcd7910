import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { affected, needsOf } from './affected.js'

const entries = { zin: './core/index.ts', 'zin/plugins': './plugins/index.ts', 'zin/plugins/*': './plugins/*/index.ts' }

/** Steps from each file that a change of one file reaches. */
function reach(files: Readonly<Record<string, string>>, changed: string): Readonly<Record<string, number>> {
  return Object.fromEntries(affected(needsOf(new Map(Object.entries(files)), entries).needs, [changed]))
}

it('files of which only types are used are known', () => {
  const files = {
    'core/contract.ts': 'export interface A {}',
    'core/index.ts': "export type { A } from './contract.js'",
    'core/both.ts': 'export interface B {}\nexport const b = 1',
    'core/user.ts': "import type { B } from './both.js'\nimport { b } from './both.js'",
    'core/template.ts': '',
  }
  assert.deepEqual([...needsOf(new Map(Object.entries(files)), entries).typesOnly], ['core/contract.ts'])
})

describe('the files that a change can break', () => {
  it('import it, directly or through others, and not those beside it', () => {
    const files = {
      'core/a.ts': 'export const a = 1',
      'core/b.ts': "import { a } from './a.js'\nexport const b = a",
      'core/b.test.ts': "import { b } from './b.js'",
      'core/c.test.ts': "import { c } from './c.js'",
      'core/c.ts': 'export const c = 1',
    }
    assert.deepEqual(reach(files, 'core/a.ts'), { 'core/a.ts': 0, 'core/b.ts': 1, 'core/b.test.ts': 2 })
  })

  it('import a name that an entry point takes from it, whatever the entry point calls it', () => {
    const files = {
      'core/index.ts': "export { a as first } from './a.js'\nexport { b } from './b.js'\nexport * from './more.js'",
      'core/a.ts': 'export const a = 1',
      'core/b.ts': 'export const b = 1',
      'core/more.ts': "export { c } from './c.js'\nexport function more() {}",
      'core/c.ts': 'export const c = 1',
      'x/a.test.ts': "import { first } from 'zin'",
      'x/b.test.ts': "import {\n  b,\n} from 'zin'",
      'x/c.test.ts': "import { c } from 'zin'",
      'x/more.test.ts': "import { more } from 'zin'",
      'x/all.test.ts': "import * as zin from 'zin'",
      'x/later.test.ts': "const zin = await import('zin')",
    }
    const tests = (changed: string) => Object.keys(reach(files, changed)).filter((file) => file.endsWith('.test.ts'))
    assert.deepEqual(tests('core/a.ts').sort(), ['x/a.test.ts', 'x/all.test.ts', 'x/later.test.ts'])
    assert.deepEqual(tests('core/b.ts').sort(), ['x/all.test.ts', 'x/b.test.ts', 'x/later.test.ts'])
    assert.deepEqual(tests('core/c.ts').sort(), ['x/all.test.ts', 'x/c.test.ts', 'x/later.test.ts'])
    assert.deepEqual(tests('core/more.ts').sort(), ['x/all.test.ts', 'x/c.test.ts', 'x/later.test.ts', 'x/more.test.ts'])
    assert.equal(tests('core/index.ts').length, 6)
  })

  it('do not only import its types', () => {
    const files = {
      'core/a.ts': 'export interface A {}\nexport const a = 1',
      'x/1.test.ts': "import type { A } from '../core/a.js'",
      'x/2.test.ts': "import { type A } from '../core/a.js'",
      'x/3.test.ts': "import { type A, a } from '../core/a.js'",
    }
    assert.deepEqual(reach(files, 'core/a.ts'), { 'core/a.ts': 0, 'x/3.test.ts': 1 })
  })

  it('import a plugin by its own name, by a configuration that they write, or not at all in an example of a docstring', () => {
    const files = {
      'plugins/index.ts': "export { breaker } from './breaker/index.js'\nexport { kv } from './kv/index.js'",
      'plugins/breaker/index.ts': 'export const breaker = 1',
      'plugins/kv/index.ts': "/**\n * @example\n * import { breaker } from 'zin/plugins/breaker'\n */\nexport const kv = 1",
      'x/own.test.ts': "import { breaker } from 'zin/plugins/breaker'",
      'x/config.test.ts': "const config = `import { breaker, kv } from 'zin/plugins'\nexport default {}`",
      'x/kv.test.ts': "import { kv } from 'zin/plugins'",
    }
    assert.deepEqual(reach(files, 'plugins/breaker/index.ts'), { 'plugins/breaker/index.ts': 0, 'x/own.test.ts': 1, 'x/config.test.ts': 1 })
  })

  it('read it by its path', () => {
    const files = {
      'plugins/kv/README.md': '# kv',
      'plugins/kv/testing/child.mjs': '',
      'plugins/kv/index.test.ts': "describePlugin({ readme: new URL('./README.md', import.meta.url) })",
      'plugins/kv/process.test.ts': "new URL('./testing/child.mjs', import.meta.url)",
      'scripts/guide.test.ts': "readFileSync('plugins/kv/README.md')",
      'examples/full/zin.config.ts': '',
      'scripts/examples.test.ts': "copyExample('full')",
    }
    assert.deepEqual(reach(files, 'plugins/kv/README.md'), {
      'plugins/kv/README.md': 0,
      'plugins/kv/index.test.ts': 1,
      'scripts/guide.test.ts': 1,
    })
    assert.deepEqual(reach(files, 'plugins/kv/testing/child.mjs'), { 'plugins/kv/testing/child.mjs': 0, 'plugins/kv/process.test.ts': 1 })
    assert.deepEqual(reach(files, 'examples/full/zin.config.ts'), { 'examples/full/zin.config.ts': 0, 'scripts/examples.test.ts': 1 })
  })

  it('read it by its path from the root, in the build or in the sources, in a style sheet, or as each plugin is searched for it', () => {
    const files = {
      'plugins/kv/child.ts': '',
      'plugins/kv/entry.test.ts': "const built = 'plugins/kv/child.js'",
      'plugins/kv/standalone.ts': '',
      'core/cli/standalone.ts': '',
      'core/cli/standalone.test.ts': "import { commands } from './standalone.js'",
      'app/main.css': '@import "./colors.css";',
      'app/colors.css': '',
      'app/main.test.ts': "import './main.css'",
    }
    assert.deepEqual(reach(files, 'plugins/kv/child.ts'), { 'plugins/kv/child.ts': 0, 'plugins/kv/entry.test.ts': 1 })
    assert.equal(reach(files, 'plugins/kv/standalone.ts')['core/cli/standalone.test.ts'], 2)
    assert.equal(reach(files, 'app/colors.css')['app/main.test.ts'], 2)
  })

  it('may be in a cycle of imports', () => {
    const files = {
      'a.ts': "export * from './b.js'\nimport { b } from './b.js'",
      'b.ts': "export * from './a.js'\nexport { a } from './a.js'\nexport const b = 1",
      'c.test.ts': "import { nothing, b } from './a.js'",
    }
    assert.deepEqual(Object.keys(reach(files, 'b.ts')).sort(), ['a.ts', 'b.ts', 'c.test.ts'])
  })
})
