// Compares SQLite bindings: what they do with generated values and stored texts. Plain JavaScript without packages, for any version of Node.
//   node scripts/sqlite-bindings.mjs node:sqlite @photostructure/sqlite    names or folders of packages, or a module with `openSqlite`
// The values run in child processes. One that a binding ends is counted, and the next one continues after the value. Prints rows of a table.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setImmediate } from 'node:timers/promises'

const count = 10_000
const collectEvery = 100
const require = createRequire(join(process.cwd(), 'package.json'))

/** Random numbers from 0 to below 1, the same in every process. */
function randomFrom(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** One case: a value to bind, or SQL whose result is read. `kept`: what comes back. */
function caseOf(index) {
  const random = randomFrom(index)
  const upTo = (limit) => Math.floor(random() * limit)
  const one = (list) => list[upTo(list.length)]
  const bytes = () => Uint8Array.from({ length: upTo(24) }, () => upTo(256))
  const hex = () => Buffer.from(bytes()).toString('hex')
  const text = (unit) => Array.from({ length: 1 + upTo(12) }, unit).join('')
  const bits = () => new DataView(Uint8Array.from({ length: 8 }, () => upTo(256)).buffer)
  const surrogate = () => String.fromCharCode(0xd800 + upTo(0x800))
  const escaped = () => JSON.stringify(text(() => one([surrogate(), 'a', 'é', '🦊', "''"])))
  const kinds = {
    boolean: () => ({ value: random() < 0.5 }),
    undefined: () => ({ value: undefined }),
    null: () => ({ value: null }),
    NaN: () => ({ value: Number.NaN }),
    infinity: () => ({ value: one([Infinity, -Infinity]) }),
    integer: () => ({ value: upTo(2 ** 32) - 2 ** 31 }),
    'huge number': () => ({ value: (random() - 0.5) * 10 ** upTo(308) }),
    'number of any bits': () => ({ value: bits().getFloat64(0) }),
    'tiny number': () => ({ value: random() * 10 ** -upTo(308) }),
    bigint: () => ({ value: bits().getBigInt64(0) >> BigInt(upTo(64)) }),
    'bigint over 64 bits': () => ({ value: (one([1n, -1n]) << BigInt(64 + upTo(80))) + BigInt(upTo(9)) }),
    Date: () => ({ value: new Date(upTo(2 ** 41)) }),
    object: () => ({ value: one([{}, { a: 1 }, [], [1], new Map(), /x/, new Error('x'), Object.create(null), new Proxy({}, {})]) }),
    symbol: () => ({ value: Symbol('s') }),
    function: () => ({ value: one([() => 1, class {}, Math.max]) }),
    'boxed value': () => ({ value: one([new Boolean(true), new Number(1), new String('x'), Object(1n)]) }),
    bytes: () => ({ value: one([bytes, () => Buffer.from(bytes()), () => new Uint16Array(3), () => bytes().buffer, bits])() }),
    text: () => ({ value: text(() => String.fromCodePoint(one([0x20 + upTo(95), 0xa0 + upTo(0x700), 0x10000 + upTo(0x1000), 0x1f98a]))) }),
    'text with NUL': () => ({ value: `a\0${text(() => one(['\0', 'b', 'é']))}` }),
    'lone surrogate': () => ({ value: text(() => one([surrogate(), 'a', '🦊'])) }),
    'invalid UTF-8 in a result': () => ({ sql: `select cast(x'${hex()}' as text) v` }),
    'surrogate from json_extract': () => ({ sql: `select json_extract('${escaped()}', '$') v` }),
    'text cut in a character': () => ({ sql: `select cast(substr(cast('é🦊é🦊' as blob), ${upTo(6)}, ${1 + upTo(6)}) as text) v` }),
    'name that is not UTF-8': () => ({ sql: `select 1 as "${text(() => one([surrogate(), 'a']))}"` }),
    'integer in a result': () => ({ sql: `select ${bits().getBigInt64(0)} v` }),
    'NUL in a result': () => ({ sql: `select 'a' || char(0) || '${hex()}' v`, kept: undefined }),
    'SQL without a statement': () => ({ sql: text(() => one([' ', ';', '\n', '-- a\n', '/* b */'])) }),
    'broken SQL': () => ({ sql: text(() => one(['select ', '?', "'", '"', '\0', surrogate(), '(', ';', ' 1', 'é'])) }),
  }
  const names = Object.keys(kinds)
  const kind = names[index % names.length]
  return { kind, ...kinds[kind]() }
}

/** @returns {Promise<(sql: string, values: unknown[]) => unknown>} runs a statement and returns the first column of its first row */
async function runner(name) {
  const loaded = name.endsWith('.js') ? await import(resolve(name)) : require(name)
  if (loaded.openSqlite) {
    const file = loaded.openSqlite(':memory:')
    return (sql, values) => Object.values(file.prepare(sql).all(values)[0] ?? {})[0]
  }
  const Database = loaded.DatabaseSync ?? loaded.default ?? loaded
  const db = new Database(':memory:')
  return (sql, values) => {
    const statement = db.prepare(sql)
    const rows = loaded.DatabaseSync ? statement.all(...values) : statement.all(values)
    return rows[0] === undefined ? undefined : Object.values(rows[0])[0]
  }
}

const asText = (value) =>
  value instanceof ArrayBuffer || ArrayBuffer.isView(value)
    ? `bytes ${Buffer.from(value.buffer ?? value, value.byteOffset, value.byteLength).toString('hex')}`
    : typeof value === 'bigint' || typeof value === 'boolean'
      ? String(Number(value))
      : String(value)

function outcomeOf(run, { value, sql }) {
  try {
    if (sql !== undefined) return [run(sql, []), 'ok'][1]
    const read = run('select ? v', [value])
    return asText(read) === asText(value) ? 'ok' : 'changed'
  } catch (error) {
    return typeof error?.code === 'string' && error.code !== '' ? 'error' : 'no code'
  }
}

/** In the child: writes the outcome of each case. */
async function work(name, from) {
  const run = await runner(name)
  for (let index = from; index < count; index++) {
    process.stdout.write(`${index} ${outcomeOf(run, caseOf(index))}\n`)
    if (index % collectEvery > 0) continue
    // Statements that are collected can end the process, too.
    globalThis.gc()
    await setImmediate()
  }
}

/** Runs all cases; returns counts by outcome and kind. */
async function judge(name) {
  const counts = {}
  const add = (outcome, index, kind = caseOf(index).kind) => {
    counts[outcome] ??= new Map()
    counts[outcome].set(kind, (counts[outcome].get(kind) ?? 0) + 1)
  }
  for (let next = 0; next < count; ) {
    const child = spawn(process.execPath, ['--no-warnings', '--expose-gc', import.meta.filename, '--child', name, String(next)], {
      env: { ...process.env, RUST_BACKTRACE: '0' },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve(signal ?? code)))
    const began = next
    for await (const line of createInterface({ input: child.stdout })) {
      const [index, ...outcome] = line.split(' ')
      next = Number(index) + 1
      add(outcome.join(' '), Number(index))
    }
    const how = await ended
    if (next === count && how === 0) break
    if (next === count || (next > began && (next - 1) % collectEvery === 0)) {
      add('abort', next - 1, 'collected statement')
      if (next === count) break
      continue
    }
    if (next === began && how === 1) throw new Error(`${name} cannot be loaded in Node ${process.version}`)
    add('abort', next++)
  }
  return counts
}

const cell = (kinds) => {
  const all = [...(kinds ?? [])]
  const total = all.reduce((sum, [, times]) => sum + times, 0)
  return total === 0 ? '0' : `${total} (${all.map(([kind]) => kind).join(', ')})`
}

const [first, ...rest] = process.argv.slice(2)
if (first === '--child') await work(rest[0], Number(rest[1]))
else
  for (const name of [first, ...rest]) {
    const counts = await judge(name)
    const { version } = name.startsWith('node:') ? { version: '' } : require(`${name}/package.json`)
    const label = name.replace(/^.*node_modules\//, '')
    console.log(
      `| \`${label}\` ${version} | ${process.version} | ${['abort', 'no code', 'changed', 'error', 'ok'].map((outcome) => cell(counts[outcome])).join(' | ')} |`,
    )
  }
