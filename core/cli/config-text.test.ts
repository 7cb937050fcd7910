import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withPlugins } from './config-text.js'

const cases: readonly (readonly [what: string, before: string, after: string])[] = [
  [
    'a list in one line',
    `import { defineConfig } from 'zin'\nimport { kv } from 'zin/plugins'\n\nexport default defineConfig({ plugins: [kv()] })\n`,
    `import { defineConfig } from 'zin'\nimport { kv, jwt } from 'zin/plugins'\n\nexport default defineConfig({ plugins: [kv(), jwt()] })\n`,
  ],
  [
    'a list in several lines, with a comment',
    `import {\n  a,\n  b,\n} from 'zin/plugins'\nexport default defineConfig({\n  plugins: [\n    a(),\n    b({ list: [1] }), // kv()\n  ],\n})\n`,
    `import {\n  a,\n  b,\n  jwt,\n} from 'zin/plugins'\nexport default defineConfig({\n  plugins: [\n    a(),\n    b({ list: [1] }), // kv()\n    jwt(),\n  ],\n})\n`,
  ],
  [
    'a list without a comma at its end',
    `import { a } from "zin/plugins"\nexport default defineConfig({\n  plugins: [\n    a()\n  ],\n})\n`,
    `import { a, jwt } from "zin/plugins"\nexport default defineConfig({\n  plugins: [\n    a(),\n    jwt(),\n  ],\n})\n`,
  ],
  [
    'no list',
    `import { defineConfig } from 'zin'\n\nexport default defineConfig({ routes: [hello] })\n`,
    `import { defineConfig } from 'zin'\nimport { jwt } from 'zin/plugins'\n\nexport default defineConfig({ plugins: [jwt()], routes: [hello] })\n`,
  ],
  [
    'an empty configuration',
    `import { defineConfig } from 'zin'\nexport default defineConfig({})\n`,
    `import { defineConfig } from 'zin'\nimport { jwt } from 'zin/plugins'\nexport default defineConfig({ plugins: [jwt()] })\n`,
  ],
  [
    'an empty list',
    `import { defineConfig } from 'zin'\nexport default defineConfig({ plugins: [] })\n`,
    `import { defineConfig } from 'zin'\nimport { jwt } from 'zin/plugins'\nexport default defineConfig({ plugins: [jwt()] })\n`,
  ],
]

for (const [what, before, after] of cases) {
  test(`a plugin is added to ${what}, once`, () => {
    assert.equal(withPlugins(before, ['jwt']), after)
    assert.equal(withPlugins(after, ['jwt']), after)
  })
}

test('a plugin that is named in a comment or a string only is added', () => {
  const text = `import { kv } from 'zin/plugins'\nexport default defineConfig({ plugins: [kv({ prefix: 'jwt()' }) /* jwt() */] })\n`
  assert.match(withPlugins(text, ['jwt']) ?? '', /plugins: \[kv\(\{ prefix: 'jwt\(\)' \}\), jwt\(\) \/\* jwt\(\) \*\/\]/)
})

test('a configuration without a list or defineConfig is left alone', () => {
  assert.equal(withPlugins('export default { }\n', ['jwt']), undefined)
})
