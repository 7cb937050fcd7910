import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPrinter } from './print.js'

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

test('control and format characters of data never reach the terminal, and JSON stays the same data', () => {
  const hostile = 'a\u001b[2J\u009b31m\u202eb\u2066c\u007f\u2028d\r\u0000é🙈'
  const raw = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u2028]/
  for (const json of [true, false]) {
    const { out, err, print } = printer({ json })
    print.table([{ [hostile]: hostile }])
    print.record({ deep: { [hostile]: [hostile] } })
    if (json) assert.deepEqual(JSON.parse(out.text.slice(out.text.indexOf('\n{'))), { deep: { [hostile]: [hostile] } })
    print.line(`${hostile}\n\tsecond \u001b[8mconcealed\u001b[1;31mred\u001b[m`)
    assert.doesNotMatch((out.text + err.text).replaceAll('\t', ''), raw)
    assert.match(json ? err.text : out.text, /é🙈\n\tsecond \\u001b\[8mconcealed\\u001b\[1;31mred\\u001b\[m\n$/)
  }
})

test('a record shows objects field by field, and empty values as nothing', () => {
  const { out, print } = printer()
  print.record({
    name: 'emails',
    metrics: { completed: 1, rates: { success: 0.5 } },
    jobOptions: {},
    tags: [],
    nodes: [{ id: 1 }],
    limit: null,
  })
  assert.equal(
    out.text,
    [
      'name                   emails',
      'metrics.completed      1',
      'metrics.rates.success  0.5',
      'jobOptions',
      'tags',
      'nodes                  [{"id":1}]',
      'limit',
      '',
    ].join('\n'),
  )
})

test('an empty table prints "none", and [] as JSON', () => {
  const text = printer()
  text.print.table([], ['a'])
  assert.equal(text.out.text, 'none\n')
  const json = printer({ json: true })
  json.print.table([])
  assert.deepEqual(JSON.parse(json.out.text), [])
})

test('rows may have an interface type, and columns are names of its fields', () => {
  interface Worker {
    readonly name: string
    readonly busy: number
  }
  const workers: readonly Worker[] = [{ name: 'emails', busy: 2 }]
  const { out, print } = printer()
  print.table(workers, ['busy', 'name'])
  assert.equal(out.text, 'busy  name\n2     emails\n')
  // @ts-expect-error: there is no such field
  print.table(workers, ['nmae'])
})

test('a record on a terminal wraps between words and breaks no word', () => {
  const { out, print } = printer({ columns: 30 })
  const url = `https://example.com/${'x'.repeat(40)}`
  print.record({ name: 'emails', why: 'a sentence that is longer than the line', url, none: undefined })
  assert.deepEqual(out.text.split('\n'), [
    'name  emails',
    'why   a sentence that is',
    '      longer than the line',
    `url   ${url}`,
    'none',
    '',
  ])
})

test('a line on a terminal continues between words, aligned below its text, and data that people copy does not', () => {
  for (const [line, ...expected] of [
    ['short enough', 'short enough'],
    ['  The worker "far" runs on no node', '  The worker "far" runs on no', '  node'],
    ['not checked: history: the store is gone', 'not checked: history: the', '  store is gone'],
    ['FAILING  worker:far  no-live-node, for 3 h', 'FAILING  worker:far', '         no-live-node, for 3 h'],
    ['  data     /var/lib/zin and more of it', '  data     /var/lib/zin and', '           more of it'],
    [`  Open: ${'x'.repeat(40)} (id)`, '  Open:', `  ${'x'.repeat(40)}`, '  (id)'],
    ['  順番待ちの ジョブが 十件あります', '  順番待ちの ジョブが', '  十件あります'],
    ['one\n  two of a text that has two lines', 'one', '  two of a text that has two', '  lines'],
    ['a\ttab of a line that is longer than that', 'a\ttab of a line that is longer than that'],
  ] as const) {
    const terminal = printer({ columns: 30 })
    terminal.print.line(line)
    assert.deepEqual(terminal.out.text.split('\n'), [...expected, ''])
    terminal.print.line(line, { verbatim: true })
    assert.equal(terminal.out.text, [...expected, line, ''].join('\n'))
    const pipe = printer()
    pipe.print.line(line)
    assert.equal(pipe.out.text, `${line}\n`)
  }
  const stderr = new Sink(30)
  createPrinter({ stdout: new Sink(), stderr, json: false, command: 'x' }).error('a sentence of more than 30 columns')
  assert.equal(stderr.text, 'zin x: a sentence of more than\n  30 columns\n')
})

test('on a terminal a command prints what it is waiting for after a second, but not with JSON or without a terminal', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  for (const { columns, json, said } of [
    { columns: 80, json: false, said: 'zin x: waiting for the app …\n' },
    { columns: 80, json: true, said: '' },
    { columns: undefined, json: false, said: '' },
  ]) {
    const stderr = new Sink(columns)
    const { waiting } = createPrinter({ stdout: new Sink(), stderr, json, command: 'x' })
    assert.equal(await waiting('the app', Promise.resolve(1)), 1)
    t.mock.timers.tick(1_000)
    assert.equal(stderr.text, '')
    let end = (): void => undefined
    const pending = waiting(
      'the app',
      new Promise<void>((resolve) => {
        end = resolve
      }),
    )
    t.mock.timers.tick(1_000)
    end()
    await pending
    assert.equal(stderr.text, said)
  }
})

test('progress is a bar on stderr on a terminal, and nothing with JSON or without a terminal', () => {
  for (const [columns, json] of [
    [80, true],
    [undefined, false],
  ] as const) {
    const stderr = new Sink(columns)
    const bar = createPrinter({ stdout: new Sink(), stderr, json, command: 'x' }).progress('jobs')
    bar.update(1, 2)
    bar.end()
    assert.equal(stderr.text, '')
  }
  const stderr = new Sink(80)
  const bar = createPrinter({ stdout: new Sink(), stderr, json: false, command: 'x' }).progress('jobs')
  for (const done of [0, 5, 5, 10]) bar.update(done, 10)
  bar.end()
  bar.end()
  assert.deepEqual(stderr.text.split('\r'), [
    '',
    `${'░'.repeat(24)} 0 %  jobs: 0 of 10\u001b[K`,
    `${'█'.repeat(12)}${'░'.repeat(12)} 50 %  jobs: 5 of 10\u001b[K`,
    `${'█'.repeat(24)} 100 %  jobs: 10 of 10\u001b[K`,
    '\u001b[K',
  ])
})

test('heads are bold only if styles are enabled', () => {
  for (const colors of [true, false]) {
    const out = new Sink(80)
    createPrinter({ stdout: out, stderr: new Sink(), json: false, colors, command: 'x' }).table([{ a: 1 }])
    assert.equal(out.text, colors ? '\u001b[1ma\u001b[22m\n1\n' : 'a\n1\n')
  }
})

test('control characters in printed data cannot control the terminal', () => {
  const { out, print } = printer()
  print.table([{ name: 'a\u001b[2J\r\nforged' }])
  print.record({ name: 'b\u001b]0;x\u0007\nforged' })
  assert.doesNotMatch(out.text, /[\u001b\u0007\r]|^forged/m)
})
