import assert from 'node:assert/strict'
import { it } from 'node:test'
import { appFolder } from '../../scripts/testing/app-folder.js'

const passing = (name: string): string => `import { test } from 'node:test'\ntest('${name} passes', () => {})\n`

it('zin test runs the tests of the app and of its plugins, in TypeScript and JavaScript, and of no package', async () => {
  const app = await appFolder({
    'zin.config.mjs': 'export default {}\n',
    'app.test.mjs': passing('the app'),
    'plugins/orders/orders.test.ts': `const typed: string = 'x'\nvoid typed\n${passing('orders')}`,
    'plugins/shop/stock/stock.test.ts': passing('stock'),
    'dist/old.test.mjs': passing('an old build'),
    '.zin/data/data.test.mjs': passing('data'),
    'plugins/orders/testing.ts': 'throw new Error("no test")\n',
  })
  try {
    const names = (out: string): readonly string[] => [...out.matchAll(/(\S+|the app|an old build) passes/g)].map(([name]) => name).sort()
    const all = await app.zin(['test'])
    assert.deepEqual([all.code, [...new Set(names(all.out))]], [0, ['orders passes', 'stock passes', 'the app passes']], all.out + all.err)
    const some = await app.zin(['test', 'plugins/shop'])
    assert.deepEqual([some.code, [...new Set(names(some.out))]], [0, ['stock passes']], some.out + some.err)
    const none = await app.zin(['test', 'plugins/none'])
    assert.equal(none.code, 1)
    assert.match(none.err, /^zin test: there is no test in .* whose path contains "plugins\/none": no file is named \*\.test\.ts/)
  } finally {
    await app.remove()
  }
})

it('zin test fails with a test', async () => {
  const app = await appFolder({
    'zin.config.mjs': 'export default {}\n',
    'app.test.mjs': "import { test } from 'node:test'\ntest('fails', () => { throw new Error('no') })\n",
  })
  try {
    const { code, out } = await app.zin(['test'])
    assert.equal(code, 1)
    assert.match(out, /fails/)
  } finally {
    await app.remove()
  }
})

it('zin test names a file that still runs after its tests, and what is open', async () => {
  const app = await appFolder({
    'zin.config.mjs': 'export default {}\n',
    'left.test.mjs': `import { createServer } from 'node:net'
${passing('the app')}
createServer().listen(0)
// Otherwise it would never end.
const write = process.stderr.write.bind(process.stderr)
process.stderr.write = (text) => write(text, () => process.exit(0))
`,
    'ended.test.mjs': passing('another'),
  })
  try {
    const { out, err } = await app.zin(['test'])
    const told = [...(out + err).matchAll(/zin test: all tests of .*/g)].map(([line]) => line)
    assert.deepEqual(told, [
      'zin test: all tests of left.test.mjs have ended, and it still runs, because something is open (1 TCPServerWrap): stop each app in after(() => app.stop())',
    ])
  } finally {
    await app.remove()
  }
})
