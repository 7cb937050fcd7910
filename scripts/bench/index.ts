// npm run bench [-- <part of a suite's name> …]: runs the benchmarks, prints a table and writes bench-results.json.
import { execSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { benchAuth } from './auth.js'
import { benchBoot } from './boot.js'
import { benchCompliance } from './compliance.js'
import { benchConsole } from './console.js'
import { benchControlPlane } from './control-plane.js'
import { benchEdge } from './edge.js'
import { benchEmbedded } from './embedded.js'
import { benchFirstDay } from './first-day.js'
import { benchHooks } from './hooks.js'
import { benchHttp } from './http.js'
import { benchMicroservices } from './microservices.js'
import { benchMonitor } from './monitor.js'
import { benchObservability } from './observability.js'
import { type BenchRow, formatRows } from './row.js'
import { benchSqlProxy } from './sql-proxy.js'
import { benchWorkers } from './workers.js'

const suites: Readonly<Record<string, () => Promise<readonly BenchRow[]>>> = {
  hooks: benchHooks,
  http: benchHttp,
  auth: benchAuth,
  'sql-proxy': benchSqlProxy,
  boot: benchBoot,
  'first-day': benchFirstDay,
  workers: benchWorkers,
  'control-plane': benchControlPlane,
  edge: benchEdge,
  embedded: benchEmbedded,
  microservices: benchMicroservices,
  observability: benchObservability,
  compliance: benchCompliance,
  monitor: benchMonitor,
  console: benchConsole,
}

const wanted = process.argv.slice(2)
const chosen = Object.entries(suites).filter(([name]) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
execSync('npm run --silent build', { stdio: 'inherit' })
const rows: BenchRow[] = []
for (const [, suite] of chosen) rows.push(...(await suite()))
console.log(formatRows(rows))
const machine = {
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  node: process.version,
  platform: `${process.platform} ${process.arch}`,
}
writeFileSync('bench-results.json', `${JSON.stringify({ date: new Date().toISOString().slice(0, 10), machine, rows }, null, 2)}\n`)
process.exitCode = rows.every((row) => row.pass !== false) ? 0 : 1
